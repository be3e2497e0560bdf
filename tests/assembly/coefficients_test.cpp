#include <stratum/assembly/operators.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include "support/backends.hpp"
#include "support/preconditioners.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Coefficients : public test::OnEveryBackend {
 protected:
  TensorMesh<2> random_mesh(int nx, int ny) { return {Axis(random_.widths(nx)), Axis(random_.widths(ny))}; }
  /// Largest difference to the oracle, relative to the largest diagonal entry.
  double difference(const GridOperator<double>& a, const reference::Stencil& expected) {
    const auto found = test::stencil_of(ctx(), a);
    double largest = 0, scale = 0;
    for (const double d : expected.band[4]) scale = std::max(scale, std::abs(d));
    for (std::size_t k = 0; k < 9; ++k)
      for (std::size_t n = 0; n < found.band[k].size(); ++n)
        largest = std::max(largest, std::abs(found.band[k][n] - expected.band[k][n]));
    return largest / scale;
  }
  test::Random random_{401};
};
INSTANTIATE_ON_EVERY_BACKEND(Coefficients);

TEST_P(Coefficients, OperatorsAgreeWithQuadrature) {
  const auto mesh = random_mesh(9, 7);
  const ScalarFunction wavy = [](const Point& p) { return 2 + std::sin(9 * p.x) * std::cos(7 * p.y); };
  const ScalarFunction mixed = [](const Point& p) { return 0.7 * std::sin(5 * p.x + 3 * p.y); };
  const Diffusion kinds[] = {{wavy, {}, {}}, {wavy, {}, 3.0}, {wavy, mixed, 1.5}, {{}, mixed, {}}, {2.0, 0.5, 1.0}};
  for (const auto& k : kinds)
    for (const Coefficient& c : {Coefficient(), Coefficient(4.0), Coefficient(wavy)}) {
      const auto cells = on_cells(ctx(), mesh, k, c);
      const auto a = assemble_diffusion(ctx(), mesh, cells);
      EXPECT_EQ(a.format(), StorageFormat::cell);
      const auto expected = reference::diffusion(mesh.x().widths(), mesh.y().widths(), [&](int i, int j) {
        return reference::CellTerms{cells.kxx(i, j), cells.kxy(i, j), cells.kyy(i, j), cells.reaction(i, j)};
      });
      EXPECT_LT(difference(a, expected), 1e-13);
    }
}

TEST_P(Coefficients, SeparableOnesStayInTensorForm) {
  const auto mesh = random_mesh(8, 11);
  const ScalarFunction product = [](const Point& p) { return (1 + p.x) * std::exp(-p.y); };
  const ScalarFunction of_y = [](const Point& p) { return 1 + p.y * p.y; };
  const ScalarFunction of_x = [](const Point& p) { return 2 - std::cos(p.x); };
  struct Case {
    Diffusion k;
    Coefficient c;
    StorageFormat format;
  };
  const Case cases[] = {{{3.0, {}, {}}, 2.0, StorageFormat::tensor},
                        {{product, {}, {}}, {}, StorageFormat::tensor},
                        {{product, {}, of_y}, {}, StorageFormat::tensor},
                        {{product, {}, {}}, product, StorageFormat::tensor},  // the masses' own weights
                        {{of_y, {}, of_x}, 0.5, StorageFormat::cell},         // another weight than theirs
                        {{product, 0.01, {}}, {}, StorageFormat::cell}};
  for (const auto& [k, c, format] : cases) {
    const auto cells = on_cells(ctx(), mesh, k, c);
    const auto a = assemble_diffusion(ctx(), mesh, cells);
    EXPECT_EQ(a.format(), format);
    const auto expected = reference::diffusion(mesh.x().widths(), mesh.y().widths(), [&](int i, int j) {
      return reference::CellTerms{cells.kxx(i, j), cells.kxy(i, j), cells.kyy(i, j), cells.reaction(i, j)};
    });
    EXPECT_LT(difference(a, expected), 1e-12);
  }
}

// A number beside weighted masses is no number times them.
TEST_P(Coefficients, AConstantReactionStaysConstantWhereKVaries) {
  const auto mesh = random_mesh(8, 11);
  const ScalarFunction of_x = [](const Point& p) { return 1 + p.x; };
  for (const Diffusion& k : {Diffusion{of_x, {}, {}}, Diffusion{2.0, {}, {}}, Diffusion{of_x, {}, 1.0}})
    for (const Coefficient& c : {Coefficient(), Coefficient(of_x), Coefficient(0.5)}) {
      const auto cells = on_cells(ctx(), mesh, k, c);
      OperatorTerms terms;
      terms.reaction = 3;
      const auto expected = reference::diffusion(mesh.x().widths(), mesh.y().widths(), [&](int i, int j) {
        return reference::CellTerms{cells.kxx(i, j), cells.kxy(i, j), cells.kyy(i, j), cells.reaction(i, j) + 3};
      });
      EXPECT_LT(difference(assemble_diffusion(ctx(), mesh, cells, terms), expected), 1e-12);
    }
}

TEST_P(Coefficients, CellsInheritFromTheMeshThatTheyRefine) {
  const TensorMesh<2> base{Axis({1, 2, 1}), Axis({1, 1})};
  const TensorMesh<2> fine{Axis(Values(12, 1.0 / 3)), Axis(Values(4, 0.5))};
  const CellValues given{3, 2, {1, 2, 3, 4, 5, 6}};
  const auto cells = on_cells(ctx(), fine, {given, {}, {}}, {});
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 12; ++i) EXPECT_EQ(cells.kxx(i, j), 1 + i / 4 + 3 * (j / 2));
  EXPECT_EQ(on_cells(ctx(), base, {given, {}, {}}, {}).kxx(2, 1), 6);
}

TEST_P(Coefficients, BadOnesAreRefusedWithTheirCell) {
  const TensorMesh<2> mesh{Axis(Values(4, 0.25)), Axis(Values(4, 0.25))};
  const auto refused = [&](const Diffusion& k, const Coefficient& c, const char* words) {
    EXPECT_THAT([&] { (void)on_cells(ctx(), mesh, k, c); }, ThrowsMessage<UsageError>(HasSubstr(words)));
  };
  const ScalarFunction falls = [](const Point& p) { return 0.5 - p.x; };
  refused({falls, {}, {}}, {}, "K must be positive definite; in cell (2, 0)");
  refused({1.0, 1.0, {}}, {}, "K must be positive definite; in cell (0, 0)");
  refused({{}, {}, falls}, {}, "in cell (2, 0)");
  refused({}, falls, "c must not be negative; in cell (2, 0)");
  refused({ScalarFunction([](const Point& p) { return p.y > 0.75 ? std::nan("") : 1.0; }), {}, {}}, {},
          "kxx is nan in cell (0, 3)");
  refused({CellValues{3, 2, Values(6, 1.0)}, {}, {}}, {},
          "kxx has values on 3 x 2 cells, and the mesh has 4 x 4: cells of the mesh or of one that it refines by "
          "halving are needed, 4, 2 or 1 in x and 4, 2 or 1 in y");
  refused({CellValues{8, 4, Values(32, 1.0)}, {}, {}}, {}, "kxx has values on 8 x 4 cells");
  refused({CellValues{2, 2, Values(3, 1.0)}, {}, {}}, {}, "kxx has 3 values for 2 x 2 cells");
  refused({CellValues{2, 2, {1, 1, 1, -2}, "k.csv"}, {}, {}}, {}, "in cell (2, 2), around (0.625, 0.625), it is [-2");
  const auto cells = on_cells(ctx(), mesh, {}, {});
  EXPECT_THROW((void)assemble_diffusion(ctx(), random_mesh(3, 4), cells), UsageError);
}

}  // namespace
