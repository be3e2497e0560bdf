// What a cycle is given in its own room stays: refinement reads the residual there while the next cycle is under way.

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/multigrid.hpp>

#include "support/subdomains.hpp"

namespace {

using namespace stratum;

TEST(Room, OwnRowsOfTheResidualAreLeftAloneByACycle) {
  const auto meshes = mesh_hierarchy(make_mesh(mesh_family("U2"), 7));
  for (const char* smoother : {"jacobi", "colour_gs", "line_y", "adi"})
    for (const Cycle cycle : {Cycle::v, Cycle::w, Cycle::f, Cycle::w2, Cycle::k}) {
      const auto result = test::on_subdomains(Backend::cpu, 2, [&](Context& ctx) -> test::Values {
        MultigridParams params;
        params.smoother = smoother;
        params.cycle = cycle;
        params.distributed_smoothing = DistributedSmoothing::overlap;
        params.is_corrected = true;
        Multigrid<float> multigrid(ctx, meshes, StorageFormat::tensor, params);
        const auto room = multigrid.room(multigrid.levels() - 1);
        if (!room) throw std::runtime_error("no room");
        test::Random random(7);
        const auto given = test::random_vector<float>(ctx, random, GridLayout<2>{room->r.nx, room->r.ny});
        copy(ctx, given.cview(), room->r);
        multigrid.apply(ctx, room->r, room->z);
        axpy<float, float>(ctx, -1, given.cview(), room->r);
        return {norm_max<float>(ctx, room->r), norm_max<float>(ctx, room->z)};
      });
      EXPECT_FALSE(result.failed()) << result.errors[0];
      for (std::size_t k = 0; k + 1 < result.values.size(); k += 2) {
        EXPECT_EQ(result.values[k], 0) << smoother << ", " << to_string(cycle);
        EXPECT_GT(result.values[k + 1], 0);
      }
    }
}

}  // namespace
