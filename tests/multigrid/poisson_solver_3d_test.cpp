#include <stratum/multigrid/poisson_solver_3d.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"
#include "support/dense_box.hpp"
#include "support/random.hpp"

namespace {

using namespace stratum;
using test::Random;
using Kind = BoundaryConditionType;

constexpr double pi = std::numbers::pi;

TensorMesh<3> random_mesh(Random& random, int nx, int ny, int nz, double decades) {
  return {Axis(random.widths(nx, decades)), Axis(random.widths(ny, decades)), Axis(random.widths(nz, decades))};
}

double wave(const Point3D& p) { return std::sin(3 * p.x + 1) * std::cos(2 * p.y) * std::exp(p.z) + p.x * p.y + 0.3; }

BoundaryCondition3D condition(Kind kind, double shift = 0) {
  BoundaryCondition3D of_face{.kind = kind};
  if (kind != Kind::periodic) of_face.value = [shift](const Point3D& p) { return wave(p) + shift; };
  if (kind == Kind::robin) of_face.alpha = [shift](const Point3D& /*p*/) { return 1.5 + shift; };
  return of_face;
}

BoundaryConditions3D conditions(const std::array<Kind, 6>& kinds) {
  BoundaryConditions3D all;
  for (std::size_t f = 0; f < kinds.size(); ++f) all.faces[f] = condition(kinds[f], 0.1 * static_cast<double>(f));
  return all;
}

constexpr Kind D = Kind::dirichlet, N = Kind::neumann, R = Kind::robin, P = Kind::periodic;

const std::vector<std::array<Kind, 6>>& mixtures() {
  static const std::vector<std::array<Kind, 6>> all{
      {D, D, D, D, D, D}, {N, D, D, D, D, D}, {D, N, N, D, D, N}, {N, N, N, N, N, D},
      {R, D, D, D, D, R}, {R, R, R, R, R, R}, {N, R, D, N, R, D}, {P, P, D, D, D, D},
      {D, D, P, P, N, D}, {D, D, D, D, P, P}, {P, P, P, P, D, N}, {P, P, N, R, P, P},
      {R, N, P, P, P, P}, {D, N, P, P, R, R}, {N, N, N, N, N, R}, {N, N, D, D, P, P}};
  return all;
}

TEST(PoissonSolver3D, AgreesWithADenseAssembly) {
  Random random(3);
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (std::size_t m = 0; m < mixtures().size(); ++m)
      for (std::size_t s = 0; s < 3; ++s) {
        // Lines along all directions.
        constexpr std::array<std::array<int, 3>, 3> cells{{{3, 4, 5}, {5, 3, 4}, {4, 5, 3}}};
        const auto [nx, ny, nz] = cells[s];
        if (m > 8 && s != m % 3) continue;
        SCOPED_TRACE(testing::Message() << "mixture " << m << ", " << nx << " x " << ny << " x " << nz);
        const TensorMesh<3> mesh = random_mesh(random, nx, ny, nz, 1);
        PoissonProblem3D problem{.rhs = wave, .boundaries = conditions(mixtures()[m])};
        if (m % 2 == 1) problem.reaction = 2.5;
        PoissonSolver3D solver(ctx, mesh, problem);
        const SolveReport report = solver.solve();
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        EXPECT_LT(test::relative_difference(solver.nodal_solution(), test::DenseBox(mesh, problem).solve()), 1e-10);
      }
  }
}

TEST(PoissonSolver3D, AgreesWithADenseAssemblyOfSeparableK) {
  Random random(4);
  const auto x = [](const Point3D& p) { return 1 + p.x * p.x; };
  const auto y = [](const Point3D& p) { return std::exp(-p.y); };
  const auto z = [](const Point3D& p) { return 2 + std::sin(p.z); };
  struct Case {
    Diffusion3D k;
    double reaction;
    std::array<Kind, 6> kinds;
  };
  const std::vector<Case> cases{
      {{x, y, z}, 1.5, {D, R, N, D, R, D}},
      {{x, y, z}, 0, {P, P, N, D, D, R}},
      {{[](const Point3D&) { return 3.0; }}, 0.5, {R, N, D, D, R, D}},
      {{[=](const Point3D& p) { return x(p) * y(p) * z(p); }}, 0, {D, N, N, D, P, P}},
      {{[=](const Point3D& p) { return 2 * x(p) * z(p); }, [=](const Point3D& p) { return y(p) * z(p); },
        [=](const Point3D& p) { return 0.3 * z(p) * y(p) * y(p); }},
       0,
       {D, N, D, D, D, D}}};
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (std::size_t c = 0; c < 4; ++c)
      for (const auto& [nx, ny, nz] : {std::array{3, 4, 5}, {5, 3, 4}, {4, 5, 3}}) {
        SCOPED_TRACE(testing::Message() << "case " << c << ", " << nx << " x " << ny << " x " << nz);
        const TensorMesh<3> mesh = random_mesh(random, nx, ny, nz, 1);
        const PoissonProblem3D problem{.rhs = wave,
                                       .boundaries = conditions(cases[c].kinds),
                                       .reaction = cases[c].reaction,
                                       .diffusion = cases[c].k};
        PoissonSolver3D solver(ctx, mesh, problem);
        EXPECT_EQ(solver.solve().status, Status::converged);
        EXPECT_LT(test::relative_difference(solver.nodal_solution(), test::DenseBox(mesh, problem).solve()), 1e-10);
      }
    // kxx and kzz vary by different factors along y.
    EXPECT_THROW(PoissonSolver3D(
                     ctx, random_mesh(random, 3, 4, 5, 1),
                     PoissonProblem3D{.rhs = wave, .boundaries = conditions(cases[4].kinds), .diffusion = cases[4].k},
                     {.method = BoxMethod::direct}),
                 UsageError);
  }
}

TEST(PoissonSolver3D, SingularProblemsHaveZeroMean) {
  Random random(5);
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (const auto& kinds : {std::array{N, N, N, N, N, N}, {P, P, N, N, N, N}, {N, N, P, P, P, P}, {P, P, P, P, P, P}})
      for (const auto& [nx, ny, nz] : {std::array{3, 4, 5}, {5, 3, 4}, {4, 4, 3}}) {
        const TensorMesh<3> mesh = random_mesh(random, nx, ny, nz, 1);
        PoissonProblem3D problem{.rhs = wave, .boundaries = conditions(kinds)};
        EXPECT_THROW(PoissonSolver3D(ctx, mesh, problem), UsageError);
        PoissonSolver3D solver(ctx, mesh, problem, {.project = true});
        EXPECT_EQ(solver.solve().status, Status::converged);
        ASSERT_TRUE(solver.compatibility().has_value());
        EXPECT_FALSE(solver.compatibility()->holds());
        EXPECT_LT(test::relative_difference(solver.nodal_solution(), test::DenseBox(mesh, problem).solve(true)), 1e-10);
        const BoundaryFluxes3D fluxes = solver.fluxes();
        EXPECT_NEAR(fluxes.sum(), fluxes.load, 1e-9 * (1 + std::abs(fluxes.load)));
      }
  }
}

/// Axes of 2^level cells: uniform, A3 in the last `graded` directions, or geometric to a smallest width.
TensorMesh<3> graded_box(const std::string& name, int level, int graded) {
  const int cells = 1 << level;
  const auto axis = [&](int d) {
    if (d < 3 - graded) return uniform(1, cells);
    if (name == "A3") return make_mesh(mesh_family("A3"), level).x();
    return geometric_with_smallest(1, cells, 1e-6, d == 1 ? GradedSide::last : GradedSide::first);
  };
  return {axis(0), axis(1), axis(2)};
}

double smooth(const Point3D& p) { return std::sin(pi * p.x + 0.3) * std::cos(pi * p.y) * std::exp(p.z); }
double minus_laplace_of_smooth(const Point3D& p) { return (2 * pi * pi - 1) * smooth(p); }
std::array<double, 3> gradient_of_smooth(const Point3D& p) {
  return {pi * std::cos(pi * p.x + 0.3) * std::cos(pi * p.y) * std::exp(p.z),
          -pi * std::sin(pi * p.x + 0.3) * std::sin(pi * p.y) * std::exp(p.z), smooth(p)};
}

/// -Laplace u + c u = f with the data of u = smooth on faces of these kinds.
PoissonProblem3D manufactured(const std::array<Kind, 6>& kinds, double c) {
  PoissonProblem3D problem{.rhs = [c](const Point3D& p) { return minus_laplace_of_smooth(p) + c * smooth(p); },
                           .exact = smooth,
                           .reaction = c};
  for (std::size_t f = 0; f < 6; ++f) {
    BoundaryCondition3D& face = problem.boundaries.faces[f];
    face.kind = kinds[f];
    if (face.kind == Kind::dirichlet || face.kind == Kind::periodic) continue;
    const double alpha = face.kind == Kind::robin ? 2 : 0, sign = f % 2 == 0 ? -1 : 1;
    face.value = [f, alpha, sign](const Point3D& p) { return sign * gradient_of_smooth(p)[f / 2] + alpha * smooth(p); };
    if (alpha > 0) face.alpha = [alpha](const Point3D&) { return alpha; };
  }
  return problem;
}

TEST(PoissonSolver3D, ErrorsFallByFour) {
  Context ctx(Backend::cpu, 2);
  for (const auto& [name, graded] : {std::pair{"A3", 0}, {"A3", 1}, {"A3", 2}, {"A3", 3}, {"geometric", 1}})
    for (const auto& kinds : {std::array{D, D, D, D, D, D}, {N, D, R, D, D, N}, {R, N, N, R, D, R}}) {
      SCOPED_TRACE(testing::Message() << name << " graded in " << graded);
      double before = 0;
      for (const int level : {3, 4, 5}) {
        PoissonSolver3D solver(ctx, graded_box(name, level, graded), manufactured(kinds, 0.7),
                               {.quadrature_points = 3});
        EXPECT_EQ(solver.solve().status, Status::converged);
        const auto errors = solver.relative_errors();
        ASSERT_TRUE(errors.has_value());
        if (level == 5) {
          EXPECT_NEAR(before / errors->l2, 4, std::string(name) == "A3" ? 0.25 : 1);
        }
        EXPECT_LT(errors->l2, errors->energy);
        before = errors->l2;
        const BoundaryFluxes3D fluxes = solver.fluxes();
        EXPECT_NEAR(fluxes.sum(), fluxes.load,
                    1e-7 * (std::abs(fluxes.load) + std::abs(fluxes.reaction)) + 10 * fluxes.rounding);
      }
    }
}

TEST(PoissonSolver3D, FluxesBalanceAndConverge) {
  Context ctx(Backend::cpu, 2);
  for (const auto& kinds : {std::array{D, D, D, D, D, D}, {D, N, R, D, D, N}}) {
    std::array<double, 6> before{};
    const std::array<double, 6> exact = [] {
      // The integrals of the outward slope over the faces of the unit cube, by Simpson's rule.
      std::array<double, 6> flux{};
      constexpr int n = 200;
      for (std::size_t f = 0; f < 6; ++f)
        for (int q = 0; q <= n; ++q)
          for (int p = 0; p <= n; ++p) {
            const auto weight = [](int i) { return (i == 0 || i == n ? 1 : i % 2 == 1 ? 4 : 2) / (3.0 * n); };
            std::array<double, 3> at{};
            at[f / 2] = f % 2 == 0 ? 0 : 1;
            at[(f / 2 + 1) % 3] = static_cast<double>(p) / n;
            at[(f / 2 + 2) % 3] = static_cast<double>(q) / n;
            flux[f] -= weight(p) * weight(q) * (f % 2 == 0 ? -1 : 1) *
                       gradient_of_smooth({.x = at[0], .y = at[1], .z = at[2]})[f / 2];
          }
      return flux;
    }();
    for (const int level : {3, 4}) {
      PoissonSolver3D solver(ctx, graded_box("A3", level, 2), manufactured(kinds, 0));
      EXPECT_EQ(solver.solve().status, Status::converged);
      const BoundaryFluxes3D fluxes = solver.fluxes();
      double size = 0;
      for (const double flux : fluxes.faces) size += std::abs(flux);
      EXPECT_NEAR(fluxes.sum(), fluxes.load, 1e-9 * size);
      for (std::size_t f = 0; f < 6; ++f) {
        const double error = std::abs(fluxes.faces[f] - exact[f]);
        if (level == 4) {
          EXPECT_LT(error, 0.4 * before[f] + 1e-10) << to_string(all_box_faces[f]);
        }
        before[f] = error;
      }
    }
  }
}

/// Residuals after every solve, relative.
std::vector<double> residuals(Context& ctx, const TensorMesh<3>& mesh, const BoundaryConditions3D& boundaries,
                              double rtol) {
  Random random(11);
  PoissonSolver3D solver(ctx, mesh, {.rhs = [](const Point3D&) { return 1.0; }, .boundaries = boundaries},
                         {.stop = {.rtol = rtol, .max_iterations = 6}});
  std::vector<double> f(static_cast<std::size_t>(mesh.x().size() + 1) * static_cast<std::size_t>(mesh.y().size() + 1) *
                        static_cast<std::size_t>(mesh.z().size() + 1));
  for (double& value : f) value = random.uniform(0.5, 1.5);
  solver.set_nodal_rhs(f);
  const SolveReport report = solver.solve();
  std::vector<double> relative;
  for (const double r : report.history) relative.push_back(r / report.history.front());
  return relative;
}

TEST(PoissonSolver3D, AccurateOnAnyStretching) {
  constexpr int n = 32;
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (const bool neumann : {false, true})
      for (const char* name : {"uniform", "1e-6", "1e-12", "A3", "A4", "shishkin"}) {
        SCOPED_TRACE(testing::Message() << name << (neumann ? ", Neumann at thin ends" : ", Dirichlet"));
        const std::string kind = name;
        const Axis thin = kind == "uniform"    ? uniform(1, n)
                          : kind == "A3"       ? bisected(1, 5, ThinSide::first, mesh_family("A3").nu)
                          : kind == "A4"       ? bisected(1, 5, ThinSide::first, mesh_family("A4").nu)
                          : kind == "shishkin" ? shishkin(1, n, 1e-3, GradedSide::first)
                                               : geometric_with_smallest(1, n, std::stod(kind), GradedSide::first);
        BoundaryConditions3D boundaries;
        if (neumann)
          boundaries[BoxFace::left].kind = boundaries[BoxFace::bottom].kind = boundaries[BoxFace::front].kind = N;
        const auto history = residuals(ctx, {thin, thin, thin}, boundaries, 1e-15);
        ASSERT_GE(history.size(), 3U);
        if (!neumann) {
          EXPECT_LT(history[1], 1e-11);
          EXPECT_LT(history[2], 1e-11);
        } else {
          EXPECT_LT(history[2], kind == "1e-12" || kind == "A4" ? 1e-6 : 1e-8);
        }
      }
  }
}

// A right-hand side and a solution where the Context computes, in rows and planes that lie apart: those of the host's.
TEST(PoissonSolver3D, SolvesInTheMemoryOfTheContext) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (const auto& cells : {std::array{4, 5, 9}, {9, 4, 5}, {5, 9, 4}})
      for (const bool singular : {false, true}) {
        SCOPED_TRACE(testing::Message() << cells[0] << " x " << cells[1] << " x " << cells[2] << ", singular "
                                        << singular);
        const TensorMesh<3> mesh{geometric(1, cells[0], 1.3, GradedSide::first), uniform(1, cells[1]),
                                 uniform(2, cells[2])};
        PoissonProblem3D problem{.rhs = [](const Point3D& p) { return 1 + p.x * p.y; }};
        for (auto& face : problem.boundaries.faces) face.kind = singular ? N : D;
        PoissonSolver3D solver(ctx, mesh, problem, {.project = singular});
        (void)solver.solve();
        const std::vector<double> nodal = solver.nodal_solution();
        // The load of trilinear f, a product in every direction.
        const auto axis_load = [&](const Axis& axis, bool linear) {
          std::vector<double> load(axis.widths().size() + 1, 0.0);
          for (std::size_t i = 0; i < axis.widths().size(); ++i) {
            const double h = axis.widths()[i], a = linear ? axis.from_begin()[i] : 1,
                         b = linear ? axis.from_begin()[i + 1] : 1;
            load[i] += h * (2 * a + b) / 6;
            load[i + 1] += h * (a + 2 * b) / 6;
          }
          return load;
        };
        const auto x0 = axis_load(mesh.x(), false), x1 = axis_load(mesh.x(), true), y0 = axis_load(mesh.y(), false),
                   y1 = axis_load(mesh.y(), true), z0 = axis_load(mesh.z(), false);
        const int shift = singular ? 0 : 1, nx = cells[0] + 1 - 2 * shift, ny = cells[1] + 1 - 2 * shift,
                  nz = cells[2] + 1 - 2 * shift;
        const std::int64_t row = nx + 3, plane = row * ny + 5;
        const auto count = static_cast<std::size_t>(plane * nz);
        std::vector<double> b(count, -7.0), x(count, -7.0);
        const auto at = [&](int i, int j, int k) { return static_cast<std::size_t>(k * plane + j * row + i); };
        const auto node = [shift](int i) { return static_cast<std::size_t>(i + shift); };
        for (int k = 0; k < nz; ++k)
          for (int j = 0; j < ny; ++j)
            for (int i = 0; i < nx; ++i)
              b[at(i, j, k)] = (x0[node(i)] * y0[node(j)] + x1[node(i)] * y1[node(j)]) * z0[node(k)];
        const std::size_t bytes = count * sizeof(double);
        const auto of_b = allocate(ctx, bytes), of_x = allocate(ctx, bytes);
        copy_bytes(ctx, b.data(), of_b.get(), bytes);
        copy_bytes(ctx, x.data(), of_x.get(), bytes);
        ctx.synchronise();
        const auto view = [&](const std::shared_ptr<void>& memory) {
          return FieldView<double, 3>{static_cast<double*>(memory.get()), {nx, ny, nz}, {row, plane}};
        };
        EXPECT_EQ(solver.solve(view(of_b), view(of_x)).status, Status::converged);
        copy_bytes(ctx, of_x.get(), x.data(), bytes);
        ctx.synchronise();
        for (int k = 0; k < nz; ++k)
          for (int j = 0; j < ny; ++j)
            for (int i = 0; i < nx; ++i) {
              const std::size_t n = (node(k) * (static_cast<std::size_t>(cells[1]) + 1) + node(j)) *
                                        (static_cast<std::size_t>(cells[0]) + 1) +
                                    node(i);
              ASSERT_NEAR(x[at(i, j, k)], nodal[n], 1e-12) << i << ", " << j << ", " << k;
            }
        EXPECT_EQ(x[at(nx, 0, 0)], -7) << "between the rows";
        EXPECT_THROW((void)solver.fluxes(), UsageError);
        FieldView<double, 3> wrong = view(of_b);
        wrong.extents.nx -= 1;
        EXPECT_THROW((void)solver.solve(wrong, view(of_x)), UsageError);
      }
  }
}

}  // namespace
