// What functions that know the mesh take: a Field, or a view and the unknowns it belongs to.

#include <gmock/gmock.h>

#include <vector>

#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/partition.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;

const TensorMesh<2>& mesh() {
  static const TensorMesh<2> a3 = make_mesh(mesh_family("A3"), 5);
  return a3;
}

test::Values load_of(Context& ctx) {
  Field<double> b(ctx, mesh().unknowns());
  assemble_load(ctx, mesh(), {}, b);
  return test::to_host(ctx, b);
}

TEST(GridFunction, AViewWithTheMeshsUnknownsIsTheField) {
  Context ctx(Backend::cpu, 1);
  Field<double> b(ctx, mesh().unknowns());
  assemble_load(ctx, mesh(), {}, {b.view(), mesh().unknowns()});
  EXPECT_EQ(test::to_host(ctx, b), load_of(ctx));
  EXPECT_EQ(relative_l2_error(ctx, mesh(), {}, b), relative_l2_error(ctx, mesh(), {}, {b.cview(), b.shape()}));
}

// The view alone does not say where its rows lie in the mesh.
TEST(GridFunction, RowsAreWhereTheLayoutSays) {
  Context ctx(Backend::cpu, 1);
  const auto whole = load_of(ctx);
  for (int rank = 0; rank < 3; ++rank) {
    const GridLayout<2> rows = Subdomain(mesh(), 3, rank, 0).unknowns();
    Field<double> b(ctx, GridLayout<2>{rows.nx, rows.ny});
    assemble_load(ctx, mesh(), {}, {b.view(), rows});
    const auto first = whole.begin() + std::int64_t{rows.origin_y - mesh().unknowns().origin_y} * rows.nx;
    EXPECT_EQ(test::to_host(ctx, b), test::Values(first, first + rows.nodes())) << "subdomain " << rank;
  }
}

TEST(GridFunction, OtherRowsThanTheMeshHasAreRefused) {
  Context ctx(Backend::cpu, 1);
  GridLayout<2> rows = Subdomain(mesh(), 3, 0, 0).unknowns();
  Field<double> b(ctx, rows);
  const auto message_of = [&](const GridFunction<double>& part) {
    try {
      assemble_load(ctx, mesh(), {}, part);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message_of(b), "accepted");
  EXPECT_THAT(message_of({b.view(), mesh().unknowns()}), testing::HasSubstr("the load vector must be"));
  ++rows.ny;
  EXPECT_THAT(message_of({b.view(), rows}), testing::HasSubstr("the load vector must be"));
  rows.ny = b.shape().ny;
  rows.origin_y = mesh().unknowns().origin_y + mesh().unknowns().ny - rows.ny;
  EXPECT_EQ(message_of({b.view(), rows}), "accepted");
  ++rows.origin_y;
  EXPECT_THAT(message_of({b.view(), rows}), testing::HasSubstr("of a mesh that has"));
}

}  // namespace
