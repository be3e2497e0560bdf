// Mixed refinement around a cycle. On a GPU the next cycle is submitted before the norm is known that says whether it is
// wanted: the answer is that of a preconditioner which is not called early.

#include <stratum/solvers/mixed/mixed_refinement.hpp>

#include <limits>
#include <memory>
#include <utility>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/multigrid.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;

/// A cycle that is taken for one that waits.
class Late final : public Preconditioner<float> {
 public:
  explicit Late(const Multigrid<float>& cycle) : cycle_(cycle) {}
  void apply(Context& ctx, FieldView<const float> r, FieldView<float> z) override { cycle_.apply(ctx, r, z); }
  [[nodiscard]] bool is_constant() const override { return cycle_.is_constant(); }
  [[nodiscard]] bool is_symmetric() const override { return cycle_.is_symmetric(); }

 private:
  Multigrid<float> cycle_;
};

class MixedRefinementOfCycles : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(MixedRefinementOfCycles);

TEST_P(MixedRefinementOfCycles, CyclesSubmittedEarlyChangeNoBit) {
  const TensorMesh<2> a3 = make_mesh(mesh_family("A3"), 7);
  const auto neumann = [](const Axis& line) {
    return line.with_boundaries(BoundaryType::neumann, BoundaryType::neumann);
  };
  for (const TensorMesh<2>& mesh : {a3, TensorMesh<2>{neumann(a3.x()), neumann(a3.y())}})
    for (const Cycle shape : {Cycle::v, Cycle::f, Cycle::k}) {
      SCOPED_TRACE(testing::Message() << to_string(shape) << "-cycle, " << mesh.unknowns().nx << " columns");
      MultigridParams params;
      params.smoother = "adi";
      params.cycle = shape;
      const auto a = assemble_laplace<double>(ctx(), mesh, StorageFormat::tensor);
      Multigrid<float> cycle(ctx(), mesh_hierarchy(mesh), StorageFormat::tensor, params);
      Late late(cycle);
      MixedRefinement refinement(ctx(), a);
      test::Random random(5);
      const auto b = test::random_vector<double>(ctx(), random, a.shape());
      Field<double> x(ctx(), a.shape());
      const auto solve = [&](Preconditioner<float>& m, double start, int steps, double rtol) {
        set(ctx(), start, x.view());
        StoppingParams stop;
        stop.rtol = rtol;
        stop.max_iterations = steps;
        const auto report = refinement.solve(ctx(), a, m, b.cview(), x.view(), stop);
        return std::pair(report.history, test::to_host(ctx(), x));
      };
      for (int steps = 0; steps <= 5; ++steps) EXPECT_EQ(solve(cycle, 0, steps, 1e-30), solve(late, 0, steps, 1e-30));
      EXPECT_EQ(solve(cycle, 0, 40, 1e-8), solve(late, 0, 40, 1e-8));
      // Of a start that is no number nothing stays behind.
      const auto expected = solve(late, 1, 3, 1e-30);
      (void)solve(cycle, std::numeric_limits<double>::quiet_NaN(), 3, 1e-8);
      EXPECT_EQ(solve(cycle, 1, 3, 1e-30), expected);
    }
}

}  // namespace
