// Cell-centred finite volumes: matrix and load against a dense assembly of its own, solutions against exact ones, and how few
// iterations they take.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <gmock/gmock.h>

#include <stratum/assembly/finite_volumes.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "reference/elimination.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Kind = BoundaryConditionType;

ScalarFunction constant(double value) {
  return [value](const Point&) { return value; };
}

/// Values of a dense system, solved by elimination with pivots.
struct Dense {
  int n;
  std::vector<double> a, b;
  explicit Dense(int size)
      : n(size), a(static_cast<std::size_t>(size * size), 0.0), b(static_cast<std::size_t>(size), 0.0) {}
  double& operator()(int i, int j) { return a[static_cast<std::size_t>(i * n + j)]; }

  [[nodiscard]] Values solved() const { return reference::eliminated(a, b); }
};

/// What is the same on a whole side: its kind, g and alpha.
struct Side {
  Kind kind = Kind::dirichlet;
  double g = 0, alpha = 0;
  [[nodiscard]] BoundaryCondition condition() const {
    return {kind, kind == Kind::periodic ? ScalarFunction{} : constant(g),
            kind == Kind::robin ? constant(alpha) : ScalarFunction{}};
  }
};

/// With a value of u on every face of a boundary as an unknown of its own, which its condition holds; K, c and f by cells.
Dense assembled_with_faces(const std::vector<double>& hx, const std::vector<double>& hy, const Values& kx,
                           const Values& ky, const Values& c, const Values& f, const std::array<Side, 4>& sides) {
  const int nx = static_cast<int>(hx.size()), ny = static_cast<int>(hy.size()), cells = nx * ny;
  int unknowns = cells;
  const auto face_number = [&] { return unknowns++; };
  struct Face {
    int cell, number;
    double half, area;
    Side side;
  };
  std::vector<Face> faces;
  const auto at = [&](int i, int j) { return static_cast<std::size_t>(j * nx + i); };
  const auto width = [&](const std::vector<double>& h, int i) { return h[static_cast<std::size_t>(i)]; };
  for (int j = 0; j < ny; ++j)
    for (const auto& [i, side] : {std::pair{0, 0}, {nx - 1, 1}})
      if (const Side& s = sides[static_cast<std::size_t>(side)]; s.kind != Kind::periodic)
        faces.push_back(
            {j * nx + i, face_number(), kx[at(i, j)] * width(hy, j) / (0.5 * width(hx, i)), width(hy, j), s});
  for (int i = 0; i < nx; ++i)
    for (const auto& [j, side] : {std::pair{0, 2}, {ny - 1, 3}})
      if (const Side& s = sides[static_cast<std::size_t>(side)]; s.kind != Kind::periodic)
        faces.push_back(
            {j * nx + i, face_number(), ky[at(i, j)] * width(hx, i) / (0.5 * width(hy, j)), width(hx, i), s});
  Dense system(unknowns);
  const auto couple = [&](int p, int q, double conductance) {
    system(p, p) += conductance;
    system(q, q) += conductance;
    system(p, q) -= conductance;
    system(q, p) -= conductance;
  };
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const int own = j * nx + i;
      const double volume = width(hx, i) * width(hy, j);
      system(own, own) += c[at(i, j)] * volume;
      system.b[at(i, j)] += f[at(i, j)] * volume;
      const int right = i + 1 < nx ? i + 1 : 0, upper = j + 1 < ny ? j + 1 : 0;
      if (right > 0 || sides[0].kind == Kind::periodic) {  // of widths over K, the harmonic mean
        const double k =
            (width(hx, i) + width(hx, right)) / (width(hx, i) / kx[at(i, j)] + width(hx, right) / kx[at(right, j)]);
        couple(own, j * nx + right, k * width(hy, j) / (0.5 * (width(hx, i) + width(hx, right))));
      }
      if (upper > 0 || sides[2].kind == Kind::periodic) {
        const double k =
            (width(hy, j) + width(hy, upper)) / (width(hy, j) / ky[at(i, j)] + width(hy, upper) / ky[at(i, upper)]);
        couple(own, upper * nx + i, k * width(hx, i) / (0.5 * (width(hy, j) + width(hy, upper))));
      }
    }
  for (const Face& face : faces) {
    // Into the cell flows what the half of it conducts; on the face the condition holds.
    system(face.cell, face.cell) += face.half;
    system(face.cell, face.number) -= face.half;
    const auto row = static_cast<std::size_t>(face.number);
    switch (face.side.kind) {
      case Kind::dirichlet:
        system(face.number, face.number) = 1;
        system.b[row] = face.side.g;
        break;
      default:
        system(face.number, face.number) = face.half + face.area * face.side.alpha;
        system(face.number, face.cell) = -face.half;
        system.b[row] = face.area * face.side.g;
    }
  }
  return system;
}

Values solution(Context& ctx, const FiniteVolumes& volumes, const PoissonProblem& problem, PoissonSolverParams params,
                SolveReport* said = nullptr) {
  PoissonSolver solver(ctx, volumes, params);
  const GridLayout<2> shape = PoissonSolver::cells_of_subdomain(ctx, volumes, params);
  Field<double> b(ctx, shape), u(ctx, shape);
  (void)volumes.assemble_load(ctx, problem, b);
  if (volumes.is_singular()) (void)volumes.make_compatible(ctx, b, true);
  volumes.lift_boundary(ctx, problem, u);
  const SolveReport report = solver.solve(ctx, b.cview(), u.view());
  EXPECT_EQ(exit_code(report.status, false), 0) << report.reason;  // rounding will do
  if (said != nullptr) *said = report;
  if (volumes.is_singular()) volumes.subtract_mean(ctx, u);
  return volumes.cell_values(ctx, problem, u);
}

const std::vector<std::array<Side, 4>> mixtures{
    {{{Kind::dirichlet, 1}, {Kind::dirichlet, -2}, {Kind::dirichlet, 0.5}, {Kind::dirichlet, 3}}},
    {{{Kind::neumann, 2}, {Kind::dirichlet, 1}, {Kind::robin, 1, 0.7}, {Kind::neumann, -1}}},
    {{{Kind::robin, 3, 1e6}, {Kind::robin, 1, 1e-3}, {Kind::neumann, 0}, {Kind::neumann, 0}}},
    {{{Kind::periodic}, {Kind::periodic}, {Kind::dirichlet, 1}, {Kind::robin, 2, 5}}},
    {{{Kind::robin, 1, 2}, {Kind::neumann, 4}, {Kind::periodic}, {Kind::periodic}}},
};

TEST(FiniteVolumes, SolveWhatAnAssemblyWithFacesSolves) {
  test::Random random(7);
  for (const Backend backend : test::available_backends())
    for (const auto& [nx, ny] : {std::pair{5, 4}, {1, 6}, {7, 1}, {9, 8}})
      for (std::size_t k = 0; k < mixtures.size(); ++k) {
        const auto& sides = mixtures[k];
        if ((sides[0].kind == Kind::periodic && nx < 3) || (sides[2].kind == Kind::periodic && ny < 3)) continue;
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << " cells, mixture " << k << ", "
                                        << test::backend_name(backend));
        Context ctx = test::context_on(backend);
        const auto cells = static_cast<std::size_t>(nx * ny);
        const auto hx = random.widths(nx), hy = random.widths(ny);
        Values kx(cells), ky(cells), c(cells), f = random.values(cells);
        for (std::size_t p = 0; p < cells; ++p) {
          kx[p] = std::pow(10.0, random.uniform(-3, 3));
          ky[p] = std::pow(10.0, random.uniform(-3, 3));
          c[p] = random.uniform(0, 2);
        }
        PoissonProblem problem;
        problem.boundaries = {sides[0].condition(), sides[1].condition(), sides[2].condition(), sides[3].condition()};
        problem.diffusion.xx = CellValues{nx, ny, kx};
        problem.diffusion.yy = CellValues{nx, ny, ky};
        problem.reaction_of_cells = CellValues{nx, ny, c};
        const TensorMesh<2> mesh{Axis(hx), Axis(hy)};
        const CellValues of_f{nx, ny, f};
        problem.rhs = [&, nx = nx](const Point& p) {  // by the cell that a point lies in
          const auto cell = [](const Axis& line, double x) {
            const auto& nodes = line.from_begin();
            return std::upper_bound(nodes.begin() + 1, nodes.end() - 1, x) - nodes.begin() - 1;
          };
          return of_f.values[static_cast<std::size_t>(cell(mesh.y(), p.y) * nx + cell(mesh.x(), p.x))];
        };
        const FiniteVolumes volumes(ctx, mesh, problem);
        EXPECT_FALSE(volumes.is_singular());
        const Values expected = assembled_with_faces(hx, hy, kx, ky, c, f, sides).solved();
        PoissonSolverParams params;
        params.stop.rtol = 1e-13;
        params.stop.rounding_will_do = true;
        const Values found = solution(ctx, volumes, problem, params);
        EXPECT_LT(test::relative_difference(found, {expected.begin(), expected.begin() + nx * ny}), 1e-9);
        // Values on faces, which the other assembly has as unknowns.
        const Values points = volumes.point_values(problem, found);
        auto face = expected.begin() + nx * ny;
        for (int j = 0; j < ny && sides[0].kind != Kind::periodic; ++j)
          for (const int i : {0, nx + 1}) {
            EXPECT_NEAR(points[static_cast<std::size_t>((j + 1) * (nx + 2) + i)], *face, 1e-8 * (1 + std::abs(*face)));
            ++face;
          }
        const BoundaryFluxes fluxes = volumes.fluxes(problem, found);
        double load = 0;
        for (int j = 0; j < ny; ++j)
          for (int i = 0; i < nx; ++i) load += volumes.volume(i, j) * f[static_cast<std::size_t>(j * nx + i)];
        EXPECT_NEAR(fluxes.sum(), load,
                    1e-9 * (std::abs(load) + std::abs(fluxes.left) + std::abs(fluxes.bottom)) + 10 * fluxes.rounding);
      }
}

/// The rows themselves, to rounding: what pressure solvers have on equal cells.
TEST(FiniteVolumes, HaveTheMatrixOfMacGrids) {
  constexpr int nx = 4, ny = 3;
  constexpr double hx = 0.5, hy = 0.25;
  const Values density{1, 1000, 1, 7, 3, 1, 1000, 1, 2, 5, 1, 1};
  Values mobility(density);
  for (double& k : mobility) k = 1 / k;
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    PoissonProblem problem;
    problem.rhs = constant(1);
    problem.diffusion.xx = CellValues{nx, ny, mobility};
    problem.boundaries.left.kind = problem.boundaries.right.kind = Kind::neumann;
    problem.boundaries.bottom.kind = problem.boundaries.top.kind = Kind::neumann;
    const FiniteVolumes volumes(
        ctx, TensorMesh<2>(Axis(std::vector<double>(nx, hx)), Axis(std::vector<double>(ny, hy))), problem);
    EXPECT_TRUE(volumes.is_singular());
    const GridOperator<double> a = volumes.matrix(ctx);
    const auto link = [&](int p, int q, double ratio) {
      return 2 / (density[static_cast<std::size_t>(p)] + density[static_cast<std::size_t>(q)]) * ratio;
    };
    for (int k = 0; k < nx * ny; ++k) {
      Values unit(density.size(), 0.0), expected(density.size(), 0.0), found(density.size());
      unit[static_cast<std::size_t>(k)] = 1;
      const auto couple = [&](int other, double conductance) {
        expected[static_cast<std::size_t>(k)] += conductance;
        expected[static_cast<std::size_t>(other)] -= conductance;
      };
      if (k % nx > 0) couple(k - 1, link(k, k - 1, hy / hx));
      if (k % nx + 1 < nx) couple(k + 1, link(k, k + 1, hy / hx));
      if (k >= nx) couple(k - nx, link(k, k - nx, hx / hy));
      if (k + nx < nx * ny) couple(k + nx, link(k, k + nx, hx / hy));
      Field<double> x(ctx, a.shape()), y(ctx, a.shape());
      copy_from_host(ctx, unit.data(), x.view());
      a.apply(ctx, x.cview(), y.view());
      copy_to_host(ctx, y.cview(), found.data());
      EXPECT_LT(test::relative_difference(found, expected), 4e-16) << "column " << k;
    }
  }
}

/// u = exp(x) cos(2 y) + x y, with K that varies smoothly; f, g and alpha to match.
PoissonProblem smooth_problem(const std::array<Kind, 4>& kinds) {
  PoissonProblem problem;
  const auto k = [](double x, double y) { return 1 + x / 2 + y * y; };
  problem.exact = [](const Point& p) { return std::exp(p.x) * std::cos(2 * p.y) + p.x * p.y; };
  problem.reaction = 1.5;
  problem.diffusion.xx = ScalarFunction([k](const Point& p) { return k(p.x, p.y); });
  problem.rhs = [k](const Point& p) {
    const double e = std::exp(p.x) * std::cos(2 * p.y), ux = e + p.y, uy = -2 * std::exp(p.x) * std::sin(2 * p.y) + p.x;
    return -(0.5 * ux + 2 * p.y * uy + k(p.x, p.y) * (e - 4 * e)) + 1.5 * (e + p.x * p.y);
  };
  const std::array<BoundaryCondition*, 4> all{&problem.boundaries.left, &problem.boundaries.right,
                                              &problem.boundaries.bottom, &problem.boundaries.top};
  for (std::size_t side = 0; side < all.size(); ++side) {
    all[side]->kind = kinds[side];
    if (kinds[side] == Kind::dirichlet) continue;
    const double alpha = kinds[side] == Kind::robin ? 2.5 : 0;
    if (alpha > 0) all[side]->alpha = constant(alpha);
    all[side]->value = [=](const Point& p) {
      const double e = std::exp(p.x) * std::cos(2 * p.y), ux = e + p.y,
                   uy = -2 * std::exp(p.x) * std::sin(2 * p.y) + p.x;
      const double slope = side == 0 ? -ux : side == 1 ? ux : side == 2 ? -uy : uy;
      return k(p.x, p.y) * slope + alpha * (e + p.x * p.y);
    };
  }
  return problem;
}

TEST(FiniteVolumes, AreOfSecondOrder) {
  Context ctx = test::context_on(Backend::cpu);
  const std::array<std::array<Kind, 4>, 3> all{{{Kind::dirichlet, Kind::dirichlet, Kind::dirichlet, Kind::dirichlet},
                                                {Kind::neumann, Kind::robin, Kind::robin, Kind::dirichlet},
                                                {Kind::robin, Kind::dirichlet, Kind::neumann, Kind::neumann}}};
  for (const auto& kinds : all)
    for (const char* grading : {"uniform", "tanh:1.5,both", "geometric:h=0.004,last"}) {
      SCOPED_TRACE(grading);
      const PoissonProblem problem = smooth_problem(kinds);
      const Axis base = make_line(parse_grading(grading), 1, 20);
      std::vector<RelativeErrors> errors;
      for (int level = 0; level < 3; ++level) {
        const Axis line = halved(base, level);
        const FiniteVolumes volumes(ctx, {line, line}, problem);
        errors.push_back(*volumes.errors(ctx, problem, solution(ctx, volumes, problem, {})));
      }
      EXPECT_GT(errors[1].l2 / errors[2].l2, 3.7);
      EXPECT_GT(errors[1].energy / errors[2].energy, 2.6);
      EXPECT_GT(errors[1].largest / errors[2].largest, 3.0);
      EXPECT_LT(errors[2].l2, 6e-4);
    }
}

TEST(FiniteVolumes, TakeFewIterationsHoweverCellsAreStretched) {
  Context ctx = test::context_on(Backend::cpu);
  const auto iterations = [&](const char* name, bool jumps, const char* smoother, Kind right) {
    PoissonProblem problem;
    problem.rhs = constant(1);
    problem.boundaries.right.kind = right;
    if (jumps)
      problem.diffusion.xx =
          ScalarFunction([](const Point& p) { return std::hypot(p.x - 0.4, p.y - 0.6) < 0.3 ? 1e4 : 1.0; });
    const FiniteVolumes volumes(ctx, make_mesh(mesh_family(name), 7), problem);
    PoissonSolverParams params;
    params.multigrid.smoother = smoother;
    params.stop.rounding_will_do = true;
    SolveReport report;
    (void)solution(ctx, volumes, problem, params, &report);
    return report.iterations;
  };
  for (const char* name : {"U1", "U3", "A1", "A3", "A5"})
    for (const bool jumps : {false, true})
      for (const char* smoother : {"adi", "auto"})
        EXPECT_LE(iterations(name, jumps, smoother, Kind::dirichlet), 10)
            << name << (jumps ? ", K jumps, " : ", ") << smoother;
  for (const char* name : {"U3", "A3", "A4"}) EXPECT_LE(iterations(name, true, "adi", Kind::neumann), 10) << name;
}

/// Of thin cells that no Dirichlet boundary holds the diagonals are all that float, and then double, has digits for.
TEST(FiniteVolumes, KnowWhatRoundingTakesOfThinCells) {
  Context ctx = test::context_on(Backend::cpu);
  PoissonProblem problem;
  problem.rhs = constant(1);
  problem.boundaries.right.kind = Kind::neumann;
  const auto plan = [&](const char* name, int level) {
    const FiniteVolumes volumes(ctx, make_mesh(mesh_family(name), level), problem);
    return PoissonSolver(ctx, volumes).plan();
  };
  EXPECT_EQ(plan("U3", 7).params.precision, Precision::mixed);
  EXPECT_EQ(plan("A4", 7).params.precision, Precision::full);
  EXPECT_THAT(plan("A4", 7).reason(), HasSubstr("in float the diagonals of thin cells would lose"));
  EXPECT_THAT([&] { (void)plan("A5", 8); }, ThrowsMessage<UsageError>(HasSubstr("Take elements")));
  problem.boundaries.right.kind = Kind::dirichlet;
  EXPECT_EQ(plan("A5", 8).params.precision, Precision::mixed);
}

TEST(FiniteVolumes, OfSingularProblemsHaveMeanZero) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    PoissonProblem problem;
    for (BoundaryCondition* side :
         {&problem.boundaries.left, &problem.boundaries.right, &problem.boundaries.bottom, &problem.boundaries.top})
      side->kind = Kind::neumann;
    problem.exact = [](const Point& p) { return std::cos(std::numbers::pi * p.x) + p.y * p.y; };
    problem.rhs = [](const Point& p) { return std::pow(std::numbers::pi, 2) * std::cos(std::numbers::pi * p.x) - 2; };
    problem.boundaries.top.value = constant(2);
    const Axis line = make_line(parse_grading("tanh:2,first"), 1, 40);
    const FiniteVolumes volumes(ctx, {line, line}, problem);
    ASSERT_TRUE(volumes.is_singular());
    Field<double> b(ctx, volumes.centres().unknowns());
    EXPECT_NEAR(volumes.assemble_load(ctx, problem, b), -2, 1e-8);
    EXPECT_TRUE(volumes.make_compatible(ctx, b, false).holds());
    const Values u = solution(ctx, volumes, problem, {});
    double mean = 0;
    for (int j = 0; j < 40; ++j)
      for (int i = 0; i < 40; ++i) mean += volumes.volume(i, j) * u[static_cast<std::size_t>(40 * j + i)];
    EXPECT_NEAR(mean, 0, 1e-12);
    EXPECT_LT(volumes.errors(ctx, problem, u)->l2, 2e-3);
    PoissonProblem unbalanced = problem;
    unbalanced.boundaries.top.value = constant(3);
    (void)volumes.assemble_load(ctx, unbalanced, b);
    const Compatibility found = volumes.make_compatible(ctx, b, true);
    EXPECT_FALSE(found.holds());
    EXPECT_NEAR(found.mean, 1, 1e-8);
  }
}

TEST(FiniteVolumes, AreTheSameOnSubdomains) {
  for (const bool periodic : {false, true}) {
    const PoissonProblem problem = [&] {
      PoissonProblem p = smooth_problem({Kind::robin, Kind::dirichlet, Kind::neumann, Kind::dirichlet});
      if (periodic) p.boundaries.bottom = p.boundaries.top = {Kind::periodic, {}, {}};
      return p;
    }();
    const Axis line = make_line(parse_grading("geometric:1.05,both"), 1, 96);
    const auto on = [&](int count) {
      return test::on_subdomains(Backend::cpu, count, [&](Context& ctx) {
        PoissonSolverParams params;
        params.multigrid.distributed_levels = 2;
        params.stop.rtol = 1e-11;
        const FiniteVolumes volumes(ctx, {line, line}, problem);
        const Values all = solution(ctx, volumes, problem, params);
        return ctx.communicator() == nullptr || ctx.communicator()->rank() == 0 ? all : Values{};
      });
    };
    const auto alone = on(1);
    ASSERT_FALSE(alone.failed());
    for (const int count : {2, 3}) {
      const auto several = on(count);
      EXPECT_THAT(several.errors, testing::Each("")) << count;
      EXPECT_LT(test::relative_difference(several.values, alone.values), 1e-9) << count;
    }
  }
}

TEST(FiniteVolumes, RefuseWhatTheyHaveNot) {
  Context ctx = test::context_on(Backend::cpu);
  const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), 3);
  PoissonProblem rotated;
  rotated.diffusion = {2.0, 0.5, 1.0};
  EXPECT_THAT([&] { FiniteVolumes(ctx, mesh, rotated); },
              ThrowsMessage<UsageError>(HasSubstr("finite volumes take a diagonal K")));
  PoissonProblem with_body;
  with_body.bodies.emplace_back();
  EXPECT_THAT([&] { FiniteVolumes(ctx, mesh, with_body); },
              ThrowsMessage<UsageError>(HasSubstr("body 1 has no shape")));
  PoissonProblem half;
  half.boundaries.left.kind = Kind::periodic;
  EXPECT_THAT([&] { FiniteVolumes(ctx, mesh, half); }, ThrowsMessage<UsageError>(HasSubstr("periodic at both sides")));
  PoissonProblem around;
  around.boundaries.left.kind = around.boundaries.right.kind = Kind::periodic;
  EXPECT_THAT(
      [&] {
        FiniteVolumes(ctx, {Axis({1, 1}), Axis({1, 1})}, around);
      },
      ThrowsMessage<UsageError>(HasSubstr("at least 3 cells, not 2")));
  const PoissonProblem plain;
  const FiniteVolumes volumes(ctx, mesh, plain);
  PoissonSolverParams params;
  params.full_multigrid = true;
  EXPECT_THAT([&] { PoissonSolver(ctx, volumes, params); }, ThrowsMessage<UsageError>(HasSubstr("no full multigrid")));
  EXPECT_THAT([&] { (void)volumes.fluxes(plain, Values(63)); },
              ThrowsMessage<UsageError>(HasSubstr("63 values, the mesh 8 x 8 cells")));
}

TEST(FiniteVolumes, OfTwoLevelsAreComparedByMeans) {
  const TensorMesh<2> coarse{Axis({1, 3}), Axis({2})};
  const LevelDifference difference = level_difference_of_cells(coarse, Values{1, 5}, Values{0, 2, 4, 4, 2, 0, 4, 4});
  EXPECT_DOUBLE_EQ(difference.largest, 0.25);
  EXPECT_DOUBLE_EQ(difference.l2, std::sqrt(6.0 / (2 + 6 * 16)));
}

}  // namespace
