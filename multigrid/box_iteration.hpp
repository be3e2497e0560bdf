#pragma once

// BoxIteration: conjugate gradients for a matrix on a box, from zero, around multigrid with gated coarsening or another
// preconditioner. Where cycles are in float so are the vectors (solvers/mixed/mixed_cg.hpp), and what that cannot solve goes on
// in double: from where it stands with four more vectors, and then from zero around a cycle in double, which takes the place of
// the other.
//
// b and x are vectors of unknowns (`rows_of`). Waits for the stream. Errors: those of BoxMultigrid.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <stratum/core/shared.hpp>
#include <stratum/multigrid/box_multigrid.hpp>
#include <stratum/solvers/held_constant.hpp>
#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/mixed/mixed_cg.hpp>

namespace stratum {

/// For the reasons of a plan.
inline constexpr const char* broken_in_float =
    "; cycles in double, since the matrix of the coarsest level is not positive definite in single precision";

class BoxIteration {
 public:
  BoxMatrix<double> a;
  Field<double> b, x;

  /// Around multigrid. `in_float`: where a cycle in float can be made.
  BoxIteration(Context& ctx, const BoxMatrix<double>& a, const std::array<GatedAxis, 3>& gate,
               const BoxMultigridParams& params, bool in_float);
  /// `in_double`, where m is a cycle in float: makes the same one in double.
  using MakeCycle = std::function<Shared<Preconditioner<double>>(Context&)>;
  BoxIteration(Context& ctx, const BoxMatrix<double>& a, Shared<Preconditioner<double>> m, MakeCycle in_double = {});

  /// The same K by cells with another reaction c, around the preconditioner that was made for the first one.
  void set_reaction(Context& ctx, double c);

  /// Another method in place of conjugate gradients, with vectors in double, around the same cycle.
  void set_solver(std::unique_ptr<Solver<double>> solver) { solver_ = std::move(solver); }

  SolveReport solve(Context& ctx, const StoppingParams& stop, const Monitor& monitor);
  /// Of a symmetric A that is summed by differences: what a constant in the x of the latest solve has left
  /// (solvers/held_constant.hpp).
  void settle_constant(Context& ctx, const StoppingParams& stop, SolveReport& report) {
    constant_.settle(ctx, op_, false, b.cview(), x.view(), stop, report);
  }
  /// x = M^-1 b, a cycle from zero.
  void precondition(Context& ctx);
  /// Of multigrid; else empty.
  [[nodiscard]] std::vector<GatedLevel> levels() const;
  [[nodiscard]] bool is_in_float() const { return in_float_.has_value(); }
  /// Of multigrid, how many of them ranks share.
  [[nodiscard]] int distributed_levels() const { return distributed_; }

 private:
  struct InDouble {
    Shared<Preconditioner<double>> m;
    ConjugateGradients<double> cg;
    InDouble(Context& ctx, Shared<Preconditioner<double>> preconditioner, const GridLayout<2>& shape)
        : m(std::move(preconditioner)), cg(ctx, shape) {}
  };
  struct InFloat {
    std::shared_ptr<BoxMultigrid<float>> m;
    BoxLinearOperator<float> op;
    MixedCg cg;
    InFloat(Context& ctx, std::shared_ptr<BoxMultigrid<float>> cycle, const GridLayout<2>& shape)
        : m(std::move(cycle)), op(ctx, m->matrix()), cg(ctx, shape) {}
  };
  InDouble& in_double(Context& ctx);
  /// With vectors in double, from x, which is that of `before` or zero. `in_float`: what was so then.
  SolveReport go_on(Context& ctx, const char* in_float, const SolveReport& before, const StoppingParams& stop,
                    const Monitor& monitor);

  BoxLinearOperator<double> op_;
  std::unique_ptr<Solver<double>> solver_;
  std::optional<InDouble> in_double_;
  std::optional<InFloat> in_float_;
  HeldConstant constant_;
  MakeCycle make_in_double_;  // of a cycle in float
  std::vector<GatedLevel> levels_;
  int distributed_ = 0;
};

}  // namespace stratum
