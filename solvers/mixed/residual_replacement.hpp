#pragma once

// Residual replacement, of iterations in float that a residual in double sets right now and then: when it is due, by what
// factor the direction is carried on, and when the true residual no longer follows.
//
//     due        ||r|| < delta max ||r|| since the one before, by recursion (the first: `first_delta`)
//     then       r <- s (b - A x)                                   in double, narrowed
//                d <- d - (r, d) / (r, r) r,   beta                 the direction without r, as it goes on
//     gains      ||b - A x|| < gain times the least of those before; `patience` without: it is given up
//
// Users: solvers/mixed/mixed_cg.hpp, which keeps its direction, solvers/mixed/reliable_cg.hpp and CG for several shifts.
// Source: Sleijpen, van der Vorst, Reliable updated residuals in hybrid Bi-CG methods, 1996.

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
