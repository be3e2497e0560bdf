// The inverse of the coarsest level's matrix (solvers/direct/dense_inverse.hpp): z = A^-1 r by one kernel.

#include <stratum/multigrid/coarse/coarse_solver.hpp>
#include <stratum/solvers/direct/dense_inverse.hpp>

namespace stratum {

void register_direct(CoarseSolverRegistry& registry);

namespace {

template <class T>
class Direct final : public CoarseSolver<T> {
 public:
  Direct(Context& ctx, const GridLayout<2>& shape, const CoarseSolverParams& params)
      : inverse_(ctx, shape, params.singular) {}
  void set_up(Context& ctx, const Hierarchy<T>& hierarchy) override {
    inverse_.factor(ctx, hierarchy.level_in_double(0));
  }
  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override { inverse_.apply(ctx, r, z); }
  [[nodiscard]] bool waits() const override { return false; }

 private:
  DenseInverse<T> inverse_;
};

}  // namespace

void register_direct(CoarseSolverRegistry& registry) {
  registry.add<Direct>("direct", "the inverse, of a few unknowns", {.any_operator = true});
}

}  // namespace stratum
