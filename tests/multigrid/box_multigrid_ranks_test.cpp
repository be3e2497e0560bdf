// Multigrid with gated coarsening in a box that several ranks share, threads of this process: the cycle, the iterations and the
// solutions are those of one rank.
#include <stratum/multigrid/box_multigrid.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

#include "support/box_problems.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::BoxProblem;
using test::CellK;
using test::Values;

/// First planes of ranks: as many planes as the others or one more.
std::vector<int> cuts_of(int planes, int ranks) {
  std::vector<int> cuts;
  for (int r = 0; r <= ranks; ++r) cuts.push_back(planes * r / ranks);
  return cuts;
}

/// The slab of rank `rank`, from coefficients of all.
BoxCoefficients slab_of(const BoxCoefficients& all, const std::vector<int>& cuts, int rank) {
  const int ranks = static_cast<int>(cuts.size()) - 1, planes = cuts.back();
  BoxSlab slab{.first = cuts[static_cast<std::size_t>(rank)], .planes = planes, .around = all.axes[2].periodic};
  const int own = cuts[static_cast<std::size_t>(rank) + 1] - slab.first;
  if (rank > 0 || slab.around) {
    slab.before = slab.around ? BoxSlab::overlap : std::min(BoxSlab::overlap, slab.first);
    slab.rank_before = (rank + ranks - 1) % ranks;
  }
  if (rank + 1 < ranks || slab.around) {
    slab.behind = slab.around ? BoxSlab::overlap : std::min(BoxSlab::overlap, planes - slab.first - own);
    slab.rank_behind = (rank + 1) % ranks;
  }
  BoxCoefficients c = all;
  c.slab = slab;
  c.axes[2] = of_slab(all.axes[2], slab, own);
  const std::size_t layer = all.axes[0].k.size() * all.axes[1].k.size();
  for (auto* const k : {&c.xx, &c.yy, &c.zz}) {
    if (k->empty()) continue;
    const std::vector<double> whole = std::exchange(*k, {});
    for (const std::size_t i : intervals_of(slab, own)) {
      const auto from = whole.begin() + static_cast<std::ptrdiff_t>(i * layer);
      k->insert(k->end(), from, from + static_cast<std::ptrdiff_t>(layer));
    }
  }
  return c;
}

Values random_load(const BoxShape& shape, const BoxCoefficients& c, bool singular) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> uniform(.5, 1.5);
  Values load;
  for (int k = 0; k < shape.n.nz; ++k)
    for (int j = 0; j < shape.n.ny; ++j)
      for (int i = 0; i < shape.n.nx; ++i) {
        const auto width = [&](std::size_t d, int n) { return 3 * (c.axes[d].m[n] + c.axes[d].m[n + 1]); };
        load.push_back(uniform(engine) * width(0, i) * width(1, j) * width(2, k));
      }
  if (!singular) return load;
  double mean = 0;
  for (const double v : load) mean += v / static_cast<double>(load.size());
  for (double& v : load) v -= mean;
  return load;
}

struct Solved {
  Values cycle, x;  // of the load; the solution
  int iterations = 0, distributed = 0;
  Status status{};
};

/// One cycle, and conjugate gradients to `rtol` around it in T.
template <class T>
Solved run_on(Backend backend, const BoxProblem& p, const std::vector<int>& cuts, double rtol, std::int64_t least,
              bool as_bands = false) {
  const BoxCoefficients all = p.coefficients();
  const Values load = random_load(all.shape(), all, p.singular());
  Solved run;
  const int ranks = static_cast<int>(cuts.size()) - 1;
  std::vector<Solved> of_ranks(static_cast<std::size_t>(ranks));
  const auto result = test::on_subdomains(backend, ranks, [&](Context& ctx) {
    const int rank = ranks > 1 ? ctx.communicator()->rank() : 0;
    Solved& own = of_ranks[static_cast<std::size_t>(rank)];
    const BoxCoefficients c = ranks > 1 ? slab_of(all, cuts, rank) : all;
    BoxMatrix<double> a(BoxCells<double>(ctx, c, p.scalar()));
    if (as_bands) {
      BoxBands<double> bands = bands_of(ctx, a);
      bands.fill_ghosts(ctx);
      a = bands;
    }
    const BoxMultigridParams params{
        .singular = p.singular(), .cuts = ranks > 1 ? cuts : std::vector<int>{}, .least_distributed = least};
    const auto multigrid = std::make_shared<BoxMultigrid<T>>(ctx, a, p.gate_axes(), params);
    own.distributed = multigrid->distributed_levels();
    const BoxLinearOperator<double> op(ctx, a);
    const auto shape = rows_of(a.shape());
    Field<double> b(ctx, shape), x(ctx, shape);
    const std::size_t plane = static_cast<std::size_t>(a.shape().n.nx) * static_cast<std::size_t>(a.shape().n.ny);
    copy_from_host<double>(ctx, load.data() + plane * static_cast<std::size_t>(cuts[static_cast<std::size_t>(rank)]),
                           b.view());
    const auto m = [&]() -> Shared<Preconditioner<double>> {
      if constexpr (std::is_same_v<T, double>)
        return multigrid;
      else
        return PrecisionCast<double, T>(ctx, shape, multigrid);
    }();
    const auto values = [&] {
      Values numbers(static_cast<std::size_t>(x.view().nx) * static_cast<std::size_t>(x.view().ny));
      copy_to_host<double>(ctx, x.cview(), numbers.data());
      return numbers;
    };
    m->apply(ctx, b.cview(), x.view());
    own.cycle = values();
    set(ctx, 0, x.view());
    ConjugateGradients<double> cg(ctx, shape);
    const StoppingParams stop{.rtol = rtol, .max_iterations = 80, .error_tol = std::numeric_limits<double>::infinity()};
    const SolveReport report = cg.solve(ctx, op, *m, b.cview(), x.view(), stop, {});
    own.x = values();
    own.iterations = report.iterations;
    own.status = report.status;
    return Values{};
  });
  EXPECT_FALSE(result.failed()) << testing::PrintToString(result.errors);
  for (const Solved& own : of_ranks) {
    EXPECT_EQ(own.iterations, of_ranks[0].iterations);
    run.cycle.insert(run.cycle.end(), own.cycle.begin(), own.cycle.end());
    run.x.insert(run.x.end(), own.x.begin(), own.x.end());
  }
  run.iterations = of_ranks[0].iterations;
  run.status = of_ranks[0].status;
  run.distributed = of_ranks[0].distributed;
  return run;
}

double difference(const Values& a, const Values& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0, size = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return std::isfinite(most) ? most / size : HUGE_VAL;
}

/// `rounding` of the cycle, and of solutions to 1e-10.
template <class T = double>
void expect_as_on_one(const BoxProblem& p, double rounding = 1e-12, const std::vector<int>& counts = {2, 3, 4},
                      std::int64_t least = 0, int levels = 1) {
  const int planes = p.coefficients().shape().n.nz;
  for (const Backend backend : test::available_backends()) {
    const Solved one = run_on<T>(backend, p, {0, planes}, 1e-10, least);
    EXPECT_EQ(one.status, Status::converged);
    for (const int ranks : counts) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks");
      const Solved several = run_on<T>(backend, p, cuts_of(planes, ranks), 1e-10, least);
      EXPECT_GE(several.distributed, levels);
      EXPECT_EQ(several.status, Status::converged);
      EXPECT_LT(difference(several.cycle, one.cycle), rounding);
      EXPECT_NEAR(several.iterations, one.iterations, (std::is_same_v<T, double> ? 0 : 1));
      EXPECT_LT(difference(several.x, one.x), 1e-8);
    }
  }
}

TEST(BoxMultigridRanks, JumpsOnUniformCellsAsOnOne) {
  BoxProblem p = BoxProblem::named("uuu", {12, 11, 50});
  p.k = CellK::checkerboard(p, 4, 1e4);
  expect_as_on_one(p, 1e-12, {2, 3, 4}, 0, 2);
}

TEST(BoxMultigridRanks, LinesThroughAllRanksAsOnOne) {
  for (const char* const widths : {"uug", "ggg", "ula", "uuc"}) {
    SCOPED_TRACE(widths);
    BoxProblem p = BoxProblem::named(widths, {9, 8, 25});
    p.k = CellK::spheres(p, 6, 100);
    expect_as_on_one(p, 1e-11, {2, 3});
  }
}

TEST(BoxMultigridRanks, EveryKindOfEndAsOnOne) {
  const std::vector<std::array<std::string, 3>> ends{{"DD", "DN", "ND"}, {"NN", "RD", "NR"}, {"PP", "DD", "PP"},
                                                     {"DD", "PP", "PP"}, {"PP", "PP", "PP"}, {"NN", "NN", "NN"}};
  for (std::size_t e = 0; e < ends.size(); ++e) {
    // Of an odd number of nodes around the box the last one has a colour of its own.
    const bool odd = e % 2 == 1;
    SCOPED_TRACE(e);
    BoxProblem p = BoxProblem::named(odd ? "uuh" : "uuu", {8, 9, odd ? 23 : 20});
    p.ends = ends[e];
    p.k = CellK::channels(p, 30);
    expect_as_on_one(p, 1e-11, {odd ? 3 : 2});
  }
}

TEST(BoxMultigridRanks, BandsOfNobodysCellsAsOnOne) {
  for (const std::array<std::string, 3>& ends : {std::array<std::string, 3>{"DN", "DD", "NN"}, {"NN", "PP", "PP"}}) {
    BoxProblem p = BoxProblem::named("uuh", {10, 9, 30});
    p.ends = ends;
    p.k = CellK::checkerboard(p, 3, 1e3);
    const int planes = p.coefficients().shape().n.nz;
    const Solved one = run_on<double>(Backend::cpu, p, {0, planes}, 1e-10, 0, true),
                 several = run_on<double>(Backend::cpu, p, cuts_of(planes, 3), 1e-10, 0, true);
    EXPECT_GE(several.distributed, 1);
    EXPECT_EQ(several.iterations, one.iterations);
    EXPECT_LT(difference(several.cycle, one.cycle), 1e-11);
  }
}

TEST(BoxMultigridRanks, AnisotropicKAndReactionAsOnOne) {
  BoxProblem p = BoxProblem::named("uhu", {10, 12, 25}, "DN");
  p.k = CellK::lognormal(p, 1);
  p.kyy = p.k;
  for (double& k : p.kyy) k *= 30;
  p.kzz = CellK::spheres(p, 5, 200);
  p.reaction = 7;
  expect_as_on_one(p, 1e-11, {2, 4});
}

TEST(BoxMultigridRanks, CyclesInFloatAsOnOne) {
  BoxProblem p = BoxProblem::named("uuh", {10, 9, 28});
  p.k = CellK::spheres(p, 8, 1e3);
  expect_as_on_one<float>(p, 1e-4);
}

TEST(BoxMultigridRanks, CutsFarFromEvenAndOnePlaneOfARank) {
  BoxProblem p = BoxProblem::named("uuh", {9, 8, 30}, "NN");
  p.reaction = 1;
  p.k = CellK::checkerboard(p, 3, 50);
  const int planes = p.coefficients().shape().n.nz;
  const Solved one = run_on<double>(Backend::cpu, p, {0, planes}, 1e-10, 0);
  // Slabs of 6 planes, one plane, where all is gathered, and many.
  for (const std::vector<int>& cuts : {std::vector<int>{0, 6, 24, planes}, {0, 1, 2, planes}, {0, 8, 14, 20, planes}}) {
    SCOPED_TRACE(testing::PrintToString(cuts));
    const Solved several = run_on<double>(Backend::cpu, p, cuts, 1e-10, 0);
    EXPECT_EQ(several.distributed > 0, cuts[1] > 1);
    EXPECT_EQ(several.iterations, one.iterations);
    EXPECT_LT(difference(several.cycle, one.cycle), 1e-11);
  }
}

TEST(BoxMultigridRanks, BoxesOfOneLevelAndSmallOnesAreGathered) {
  BoxProblem p = BoxProblem::named("uuu", {5, 5, 11});
  p.k = CellK::checkerboard(p, 3, 10);
  expect_as_on_one(p, 1e-11, {2, 3}, 0, 0);
  p = BoxProblem::named("uuu", {9, 9, 17});
  p.k = CellK::checkerboard(p, 3, 10);
  expect_as_on_one(p, 1e-11, {2}, 1 << 20, 0);
}

}  // namespace
