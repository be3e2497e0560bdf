#pragma once

// The coarse solver of a cycle: A x = b on the coarsest level, by one of
//
//     direct       the inverse, formed in double, of up to DenseInverse::few_unknowns unknowns: one kernel
//     cg_jacobi    conjugate gradients preconditioned by Jacobi, to rounding, so that the cycle stays a constant linear map
//     cg_adi       by one symmetric ADI application (Goeddeke, Strzodka 2011)
//
// or what a user registers. Hierarchies go on down to a few unknowns, where "automatic" is direct; cg_adi serves lists of
// meshes that end early. One unknown is divided by its diagonal entry whatever was asked for. Only direct takes singular
// operators, and those that are not symmetric.
//
// Adding one is adding one file multigrid/coarse/NAME.cpp that defines `void register_NAME(CoarseSolverRegistry&)`; the build
// collects the calls.

#include <memory>
#include <string>
#include <string_view>

#include <stratum/core/registry.hpp>
#include <stratum/multigrid/hierarchy.hpp>
#include <stratum/smoothers/smoother.hpp>

namespace stratum {

/// A constructor allocates all that is used, and is also called in a memory dry run.
template <class T>
class CoarseSolver : public Preconditioner<T> {
 public:
  /// Takes the coefficients of the hierarchy's coarsest level: before the first use, and where they have become others.
  /// Allocates nothing on the device. Throws BreakdownError for a matrix that is singular to rounding although it is not said
  /// to be.
  virtual void set_up(Context& ctx, const Hierarchy<T>& hierarchy) = 0;
  /// For the stream.
  [[nodiscard]] virtual bool waits() const = 0;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
};

struct CoarseSolverParams {
  bool singular = false;  // symmetric, A 1 = 0
  SmootherRegistry smoothers = builtin_smoothers();
  StorageFormat format = StorageFormat::nine_band;  // how the level is stored
};

template <>
struct Registered<CoarseSolver> {
  static constexpr std::string_view what = "coarse solver";
  using Params = CoarseSolverParams;
  struct Traits {
    bool any_operator = false;  // singular ones, too, and those that are not symmetric
  };
};

using CoarseSolverRegistry = Registry<CoarseSolver>;

/// The coarse solvers of this library; a fresh registry that the caller may add to.
[[nodiscard]] CoarseSolverRegistry builtin_coarse_solvers();

/// What `asked` comes to on a coarsest level of this shape; never "automatic". Throws UsageError for an unknown name.
[[nodiscard]] std::string coarse_solver_for(const CoarseSolverRegistry& registry, const GridLayout<2>& shape,
                                            std::string_view asked);

/// By name, ready for use; `name` becomes what it comes to. Null where there are no unknowns. Throws UsageError for one that
/// cannot serve, BreakdownError as `set_up`: but "automatic" iterates in films (assembly/films.hpp), whose entries are singular
/// to rounding where the storage format is not.
template <class T>
[[nodiscard]] std::unique_ptr<CoarseSolver<T>> make_coarse_solver(Context& ctx, const Hierarchy<T>& hierarchy,
                                                                  std::string& name, const SmootherRegistry& smoothers,
                                                                  const CoarseSolverRegistry& registry);

}  // namespace stratum
