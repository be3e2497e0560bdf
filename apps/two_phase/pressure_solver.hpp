#pragma once

// Two fluids in a box: the pressure equation -div(1/density grad p) = f in cells (apps/two_phase/five_point.hpp), and its
// solution by conjugate gradients with a preconditioner and deflation vectors by name. Shared by bubbly2d and paper_tables.
//
//   preconditioner   none; jacobi, ic, block-ic, incomplete-poisson of the matrix (solvers/preconditioner.hpp); multigrid: a
//                    cycle of Galerkin products, interpolated by split sums of the links unless said otherwise; auto:
//                    multigrid, the fastest of these by Table 3 of paper_tables --study bubbly
//   deflation        none; stripes:D consecutive cells, blocks:Q of Q x Q rectangles, split-blocks:Q the same split where two
//                    fluids meet in one; inclusions of low density, extended by the cycle's prolongation; ritz:K vectors of a
//                    solve of its own; auto
//
// mixed: the preconditioner in float, all else in double. x is kept in two parts where densities are 1e4 apart or more and the
// vectors allow it (solvers/deflation/deflated_cg.hpp); what a tolerance asks for is then asked of both parts.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/multigrid/inclusions.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/deflation/deflated_cg.hpp>
#include <stratum/solvers/preconditioner.hpp>

#include "two_phase/pressure_system.hpp"

namespace stratum::apps {

enum class DeflatePressure : std::uint8_t { none, stripes, blocks, split_blocks, inclusions, ritz, automatic };

struct PressureParams {
  std::string preconditioner = "auto";
  int blocks = 0;  // of block-ic; 0: two rows of the grid each
  IncompletePoissonForm form = IncompletePoissonForm::scaled;
  std::string smoother = MultigridParams{}.smoother;
  int sweeps = 2;
  InterpolationKind interpolation = InterpolationKind::split;
  DeflatePressure deflate = DeflatePressure::automatic;
  int count = 0;  // of stripes, of blocks across, of Ritz vectors
  bool mixed = false;
  int keep = 0;  // vectors for the Ritz vectors of the next solve
};

inline constexpr const char* pressure_deflation_kinds =
    "none, stripes:D, blocks:Q, split-blocks:Q, inclusions, ritz:K or auto";

/// A kind of --deflate with its number; throws UsageError for others.
[[nodiscard]] std::pair<DeflatePressure, int> parse_pressure_deflation(const std::string& text);

/// Names of --preconditioner: none and auto among them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> pressure_preconditioners();

class PressureSolver {
 public:
  /// `more`: vectors to deflate with beside those of the params, Ritz vectors of a solve before. Throws UsageError for counts
  /// that the grid does not allow.
  PressureSolver(Context& ctx, const PressureSystem& system, const PressureParams& params,
                 const DeflationVectors& more = {});

  /// On a GPU two iterations, so that device code is loaded and cycles are recorded before the first solve. x is zero then.
  void warm_up(Context& ctx, FieldView<const double> b, FieldView<double> x);
  /// From x. Where vectors cut bubbles the residual of both parts may rest above what the level of rounding says: 300
  /// iterations without a better one end it, unless other patience is given.
  SolveReport solve(Context& ctx, FieldView<const double> b, FieldView<double> x, StoppingParams stop,
                    const Monitor& monitor = {});

  [[nodiscard]] const GridOperator<double>& a() const { return a_; }
  /// Nothing of it is left to be chosen.
  [[nodiscard]] const PressureParams& params() const { return params_; }
  [[nodiscard]] bool two_parts() const { return two_parts_; }
  /// Of the last solve.
  [[nodiscard]] double residual_of_parts() const { return cg_->residual_of_parts(); }
  [[nodiscard]] DeflationVectors ritz(Context& ctx, int count) const { return cg_->ritz(ctx, count); }
  [[nodiscard]] int vectors() const { return vectors_; }
  /// What deflation takes, its factor included.
  [[nodiscard]] std::int64_t deflation_bytes() const { return deflation_bytes_; }
  /// Of every cell the number of its vector, -1 where there is none; empty unless there is one at most.
  [[nodiscard]] const std::vector<int>& domains() const { return domains_; }

  [[nodiscard]] std::string describe_preconditioner() const;
  [[nodiscard]] const std::string& describe_deflation() const { return deflation_; }

 private:
  /// As around a cycle in poisson2d; what is no cycle takes blocks.
  void choose_deflation(const PressureSystem& system);
  void make_hierarchy(Context& ctx, const PressureSystem& system);
  void make_cycle(Context& ctx);
  template <class T>
  [[nodiscard]] std::shared_ptr<Preconditioner<T>> of_matrix(Context& ctx, const SparseRows& rows) const;
  void make_solver(Context& ctx, const PressureSystem& system, const SparseRows& rows, const DeflationVectors& more);
  [[nodiscard]] std::string describe(int more) const;

  PressureParams params_;
  bool singular_ = false, two_parts_ = false;
  double contrast_ = 1;
  GridOperator<double> a_;
  std::optional<Hierarchy<double>> hierarchy_;
  std::shared_ptr<Preconditioner<double>> m_;
  std::unique_ptr<DeflatedCg> cg_;
  Inclusions found_;  // until their vectors are made
  std::vector<int> domains_;
  int vectors_ = 0;
  std::int64_t deflation_bytes_ = 0;
  std::string deflation_;
};

}  // namespace stratum::apps
