// Lines as a GPU takes them, a thread for each piece: run here for one thread after another, they correct as the CPU does.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <stratum/assembly/patches/patch_problem.hpp>
#include <stratum/multigrid/patches/patch_levels.hpp>
#include <stratum/smoothers/patches/patch_lines.hpp>

#include "patches/meshes.hpp"
#include "patches/random_numbers.hpp"
#include "patches/run_blocks.hpp"
#include "support/backends.hpp"

namespace {

using namespace stratum;

std::size_t at(int k) { return static_cast<std::size_t>(k); }

/// The largest difference after a sweep, beside the largest number.
template <class T>
double difference(const PatchLevelOnHost& level, int shortest) {
  Context ctx = test::context_on(Backend::cpu);
  std::mt19937 random(3);
  const auto& layout = level.layout;
  const std::vector<double> numbers = test::random_at_nodes(layout, random);
  Partial<T> b{vector_from_host(ctx, std::vector<T>(numbers.begin(), numbers.end()))};
  Consistent<T> x = consistent<T>(ctx, layout);
  for (const int k : level.fixed) b.numbers.view().data[k] = 0;
  PatchLinePlan plan = level.lines;
  plan.vertex_phases = {0};
  const PatchOperator<T> a(ctx, level.rows, level.fixed);
  std::vector<T> mine(at(layout.size()), T(0));
  PatchLines<T> lines(ctx, layout, plan);
  const PatchLineBlocks blocks = blocks_of(plan, 16, shortest);
  EXPECT_EQ(blocks.phases.size() + 1, plan.phases.size());
  for (int times = 0; times < 2; ++times) {
    lines.sweep(ctx, a, b, x);
    for (const auto& phase : blocks.phases) {
      EXPECT_EQ(phase.groups_left, 0);
      EXPECT_LE(phase.threads, PatchLineBlocks::most_threads);
      test::run_blocks<T>({a.bands(), b.numbers.cview().data, mine.data()}, blocks, phase);
    }
  }
  double largest = 0, size = 0;
  for (int k = 0; k < layout.size(); ++k) {
    const double expected = static_cast<double>(x.numbers.cview().data[k]);
    const double off = std::abs(static_cast<double>(mine[at(k)]) - expected);
    largest = std::isnan(off) ? HUGE_VAL : std::max(largest, off);
    size = std::max(size, std::abs(expected));
  }
  EXPECT_GT(size, 0);
  return largest / size;
}

void expect_same(const std::string& name, const PatchMeshParts& parts, const PatchProblem& problem, double tolerance) {
  Context ctx = test::context_on(Backend::cpu);
  const PatchMesh mesh(parts);
  PatchSystem system = assemble(ctx, mesh, problem);
  const auto levels =
      patch_levels(system.layout, std::move(system.rows), std::move(system.conductances), system.fixed_edges, 20);
  for (std::size_t l = 0; l + 1 < levels.size(); ++l)
    for (const int shortest : {4, 8, 16}) {
      SCOPED_TRACE(name + ", level " + std::to_string(l) + ", pieces of " + std::to_string(shortest));
      EXPECT_LE(difference<double>(levels[l], shortest), tolerance);
      if (tolerance < 1e-11) {
        EXPECT_LE(difference<float>(levels[l], shortest), 1e-5);
      }
    }
}

/// Threads of a GPU read four numbers of a row together.
TEST(PatchLineBlocks, FindRowsThatBeginAtAddressesOfFourNumbers) {
  Context ctx = test::context_on(Backend::cpu);
  for (const int cells : {3, 4, 16, 33, 64, 512}) {
    const PatchLayout layout = layout_of(PatchMesh(test::with_cells(patch_grid(2, 2), cells)));
    const Field<double> numbers(ctx, layout.size());
    for (int p = 0; p < layout.patches(); ++p)
      for (int j = 0; j <= layout.patch(p).ny; ++j) {
        const double* row = numbers.cview().data + layout.patch(p).node(0, j);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(row) % (4 * sizeof(double)), 0U);
      }
  }
}

TEST(PatchLineBlocks, CorrectAsTheCpuDoes) {
  using namespace test;
  expect_same("one patch", with_cells(patch_grid(1, 1), 64), {}, 1e-13);
  expect_same("2 x 2, turned", turned_at_random(with_cells(patch_grid(2, 2), 40), 3), {}, 1e-13);
  expect_same("2 x 2, odd cells", turned_at_random(with_cells(patch_grid(2, 2), 27), 2), {}, 1e-13);
  expect_same("L corner", thin_at_origin(l_shape(), 32), {}, 1e-10);
  expect_same("star 5, centre", turned_at_random(thin_at_origin(star(5), 16), 8), {}, 1e-9);
  expect_same("star 6", with_cells(star(6), 7), {}, 1e-13);
  expect_same("ring of 3, wall", turned_at_random(thin_at_wall(patch_ring(3), 24), 4), {}, 1e-10);
  expect_same("cylinder", turned_at_random(thin_at_wall(cylinder_in_channel(), 16, 1e-3), 5), {}, 1e-11);
  expect_same("C-grid, wall", turned_at_random(thin_at_wall(c_grid(), 16, 1e-3), 4), {}, 1e-11);
  expect_same("triangles", turned_at_random(with_cells(triangle_patches(2), 12), 6), {}, 1e-13);
  PatchProblem natural;
  natural.reaction = 1;
  const PatchMesh channel(c_grid());
  for (const auto& name : channel.boundary_names()) natural.boundaries[name] = {BoundaryConditionType::neumann};
  expect_same("C-grid, natural", turned_at_random(thin_at_wall(c_grid(), 16, 1e-3), 1), natural, 1e-9);
}

/// What two sweeps of the finest level correct.
std::vector<double> swept(Backend backend, const PatchMesh& mesh, const PatchProblem& problem) {
  Context ctx = test::context_on(backend);
  PatchSystem system = assemble(ctx, mesh, problem);
  const PatchLayout layout = system.layout;
  const auto levels =
      patch_levels(layout, std::move(system.rows), std::move(system.conductances), system.fixed_edges, 20);
  const PatchLevelOnHost& level = levels.front();
  EXPECT_GT(blocks_of(level.lines, 8).phases.front().groups_left, 0);
  std::mt19937 random(3);
  std::vector<double> numbers = test::random_at_nodes(layout, random);
  for (const int k : level.fixed) numbers[at(k)] = 0;
  const Partial<double> b{vector_from_host(ctx, numbers)};
  Consistent<double> x = consistent<double>(ctx, layout);
  const PatchOperator<double> a(ctx, level.rows, level.fixed);
  PatchLines<double> lines(ctx, layout, level.lines);
  for (int times = 0; times < 2; ++times) lines.sweep(ctx, a, b, x);
  copy_to_host(ctx, x.numbers.cview(), numbers.data());
  return numbers;
}

/// Lines of 300 patches have more pieces than a block has threads. Groups of them have 1, 2, 3 and 8 lines.
TEST(PatchLineBlocks, LeaveLongLinesThatAGpuCorrectsAsTheCpuDoes) {
  PatchProblem natural;
  natural.reaction = 1;
  const PatchMesh grid(patch_grid(300, 1));
  for (const auto& name : grid.boundary_names()) natural.boundaries[name] = {BoundaryConditionType::neumann};
  for (const int cells : {4, 6, 16})
    for (const bool cyclic : {false, true}) {
      using namespace test;
      const PatchMesh mesh(turned_at_random(with_cells(cyclic ? patch_ring(300) : patch_grid(300, 1), cells),
                                            static_cast<std::uint64_t>(cells)));
      const PatchProblem problem = cyclic ? PatchProblem{} : natural;
      const auto expected = swept(Backend::cpu, mesh, problem);
      for (const Backend backend : test::available_backends()) {
        const auto found = swept(backend, mesh, problem);
        double off = 0, size = 0;
        for (std::size_t k = 0; k < expected.size(); ++k) {
          off = std::max(off, std::isnan(found[k]) ? HUGE_VAL : std::abs(found[k] - expected[k]));
          size = std::max(size, std::abs(expected[k]));
        }
        EXPECT_GT(size, 0);
        EXPECT_LE(off, 1e-11 * size) << cells << " cells" << (cyclic ? ", cyclic, " : ", ")
                                     << test::backend_name(backend);
      }
    }
}

}  // namespace
