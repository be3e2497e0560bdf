#pragma once

// Residual replacement: rules for iterations in float whose recursive residual is replaced by the true one, b - A x in double,
// from time to time. They say when a replacement is due, how the direction d goes on after it, and when the true residual no
// longer follows the recursive one:
//
//     due        ||r|| < delta max ||r|| since the last replacement, by recursion (the first one: `first_delta`)
//     then       r <- s (b - A x)                                   in double, then narrowed to float
//                d <- d - (r, d) / (r, r) r,   beta                 the part of d along r is removed
//     gains      ||b - A x|| < gain times the least true residual so far; after `patience` replacements without a gain the
//                iteration is given up
//
// Vectors have one shape, which callers check. replace_residual waits for the stream, reads and writes r and d once or twice
// (3 to 8 words per unknown) and allocates nothing; the rest is arithmetic on the host.
// Used by solvers/mixed/mixed_cg.hpp, which keeps its direction as it is, by solvers/mixed/reliable_cg.hpp, and by CG for
// several shifts. Source: Sleijpen, van der Vorst, Reliable updated residuals in hybrid Bi-CG methods, 1996.

#include <optional>
#include <string>

#include <stratum/core/field/field.hpp>

namespace stratum {

/// The factor of the direction at an update: by the true residual after it, by the recursive one before it, or by the true one
/// unless that is far above the recursive one (which would blow up the direction).
enum class UpdateBeta : std::uint8_t { guarded, by_true, by_recursive };

/// From squares of norms: of the residual before the latest step, and after it by recursion and in truth.
[[nodiscard]] double update_beta(UpdateBeta kind, double before, double recursive, double truth);

class ResidualReplacement {
 public:
  struct Params {
    double delta = 0.1;
    double gain = 0.9;
    int patience = 20;
    std::optional<double> first_delta{};
  };
  /// Throws UsageError unless 0 < delta < 1. `norm`: of the residual to begin with.
  ResidualReplacement(const Params& params, double norm);

  [[nodiscard]] bool due(double norm);
  [[nodiscard]] bool gains(double truth) const { return truth < params_.gain * best_; }
  /// There has been one, and this is the true residual.
  void replaced(double truth) { replaced(truth, gains(truth)); }
  void replaced(double truth, bool gains);
  /// One was due, and the recursive residual goes on.
  void kept(double norm) { largest_ = norm; }

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] bool follows() const { return without_gain_ < params_.patience; }
  /// Where it does not.
  [[nodiscard]] std::string reason() const;

 private:
  Params params_;
  double delta_, largest_, best_;
  int count_ = 0, without_gain_ = 0;
};

struct ReplacedResidual {
  double square;  // (r, r)
  double beta;
};
/// r = scale times the residual; where that is asked for d loses what it has of r, by `kind` from the square before the latest
/// step and the recursive one.
[[nodiscard]] ReplacedResidual replace_residual(Context& ctx, double scale, FieldView<const double> residual,
                                                FieldView<float> r, FieldView<float> d, std::optional<UpdateBeta> kind,
                                                double before, double recursive);

}  // namespace stratum
