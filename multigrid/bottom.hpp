#pragma once

// The bottom of a cycle: A x = b on the coarsest level.
//
//     direct       the inverse, formed in double, of up to DenseInverse::max_unknowns unknowns: one kernel
//     cg_jacobi    conjugate gradients preconditioned by Jacobi, to rounding, so that the cycle stays a constant linear map
//     cg_adi       by one symmetric ADI application (Goeddeke, Strzodka 2011)
//
// Hierarchies go on down to a few unknowns, where `automatic` is direct; cg_adi serves lists of meshes that end early. One unknown
// is divided by its diagonal entry whatever was asked for. Only direct takes singular operators, and those that are not symmetric.

#include <memory>
#include <string_view>

#include <stratum/multigrid/hierarchy.hpp>
#include <stratum/smoothers/smoother.hpp>

namespace stratum {

enum class CoarseSolver : std::uint8_t { automatic, cg_jacobi, cg_adi, direct };

[[nodiscard]] std::string_view to_string(CoarseSolver solver);

/// What `asked` comes to on a coarsest level of this shape; never `automatic`.
[[nodiscard]] CoarseSolver coarse_solver_for(const GridShape& shape, CoarseSolver asked);

template <class T>
class Bottom : public Preconditioner<T> {
 public:
  /// For other coefficients of the hierarchy it was made for. Allocates nothing.
  virtual void update(Context& ctx, const Hierarchy<T>& hierarchy) = 0;
  /// For the stream.
  [[nodiscard]] virtual bool waits() const = 0;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
};

/// Null where there are no unknowns. Throws UsageError for a solver that cannot serve, BreakdownError for a matrix that is singular to
/// rounding although it is not said to be.
template <class T>
[[nodiscard]] std::unique_ptr<Bottom<T>> make_bottom(Context& ctx, const Hierarchy<T>& hierarchy, CoarseSolver asked,
                                                     const SmootherRegistry& registry);

}  // namespace stratum
