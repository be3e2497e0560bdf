// Contact resistances in the plane and in boxes.

#include <gtest/gtest.h>

#include <vector>

#include <stratum/assembly/bodies.hpp>
#include <stratum/assembly/box_bodies.hpp>

#include "support/bodies.hpp"

namespace {

using namespace stratum;

/// A rectangle of another material in resistances conducts, in its corners too, as the same in a box that is long across.
TEST(Contact, OfARectangleIsThatOfABox) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> square = test::unit_square(12);
  const TensorMesh<3> box(square.x(), square.y(), test::unit_axis(2), "box");
  PoissonProblem plane;
  plane.boundaries = test::all_neumann();
  const ScalarFunction rectangle = rectangle_shape(0.25, 0.33, 0.75, 0.92);
  plane.bodies = {test::material(rectangle, 3), test::contact(rectangle, 0.2)};
  PoissonProblem3D space;
  test::all_neumann(space);
  const ScalarFunction3D body = box_shape({0.25, 0.33, -1}, {0.75, 0.92, 2});
  space.bodies = {test::material(body, 3), test::contact(body, 0.2)};
  CellCoefficients k = *cell_coefficients(ctx, square, plane);
  const std::size_t all = k.xx.size();
  std::vector<double> xx(2 * all, 1.0), yy(xx), zz(xx);
  set_bodies(ctx, box, space, *bodies_on(ctx, box, space), xx, yy, zz);
  for (std::size_t c = 0; c < all; ++c) {
    EXPECT_DOUBLE_EQ(k.xx[c], xx[c]) << c;
    EXPECT_DOUBLE_EQ(k.yy[c], yy[c]) << c;
    EXPECT_DOUBLE_EQ(zz[c], xx[c] == 1 && yy[c] == 1 ? 1 : 3) << c;
  }
}

}  // namespace
