// Matrices whose rows lie on several subdomains, however they are shared out: what is detected, cycles and solves are those of
// one subdomain.

#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <stratum/core/operators/row_scales.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include <gmock/gmock.h>

#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;

constexpr int nx = 37, ny = 45;

/// -div(k grad u) + c u + flow du/dx on nx x ny nodes, by five points or nine.
struct Problem {
  const char* name;
  bool dirichlet_x = true, dirichlet_y = true;  // their nodes were eliminated; else Neumann or Robin
  bool around_x = false, around_y = false;
  double jump = 1, c = 0, flow = 0, corners = 0;
  bool kept = false;  // the nodes of the boundaries stay, with their diagonals
  std::function<double(int, int)> scale = [](int, int) { return 1.0; };  // of rows
  std::function<bool(int, int)> fixed = [](int, int) { return false; };
  double penalty = 0;  // stands for the rows of nodes that are kept or fixed
};

SparseRows matrix_of(const Problem& p) {
  const auto k = [&](double i, double j) {
    return i > nx / 3. && i < 2 * nx / 3. && j > ny / 3. && j < 2 * ny / 3. ? p.jump : 1.0;
  };
  const auto is_fixed = [&](int i, int j) {
    return (p.kept && (i == 0 || j == 0 || i + 1 == nx || j + 1 == ny)) || p.fixed(i, j);
  };
  std::vector<SparseEntry> entries;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const int row = j * nx + i;
      double diagonal = p.c;
      if (is_fixed(i, j) && p.penalty == 0) {
        entries.push_back({row, row, 3.0 + i});
        continue;
      }
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          if (dx == 0 && dy == 0) continue;
          int q = j + dy, s = i + dx;
          const double strength = dx != 0 && dy != 0 ? p.corners : dx != 0 ? 1.0 : 4.0;
          if (strength == 0) continue;
          const bool out_x = s < 0 || s == nx, out_y = q < 0 || q == ny;
          double value = strength * k(i + dx / 2., j + dy / 2.);
          if (p.flow != 0 && dy == 0) value += dx < 0 ? p.flow : 0;
          if ((out_x && !p.around_x) || (out_y && !p.around_y)) {
            if ((!out_x || p.around_x || p.dirichlet_x) && (!out_y || p.around_y || p.dirichlet_y)) diagonal += value;
            continue;
          }
          s = (s + nx) % nx;
          q = (q + ny) % ny;
          diagonal += value;
          entries.push_back({row, q * nx + s, -value * p.scale(i, j)});
        }
      if (is_fixed(i, j)) diagonal += p.penalty;
      entries.push_back({row, row, diagonal * p.scale(i, j)});
    }
  return sparse_rows(nx * ny, nx * ny, std::move(entries));
}

/// Of thin cells on two sides, by 100.
double volumes(int i, int j) { return (i > 2 * nx / 3 ? 100 : 1) * (j > ny / 2 ? 100 : 1); }
/// At boundaries, where rows are doubled.
double half_cells(int i, int j) { return (i == 0 || i == nx - 1 ? 2 : 1) * (j == 0 || j == ny - 1 ? 2 : 1); }

std::vector<Problem> problems() {
  return {
      {.name = "eliminated"},
      {.name = "jumping", .jump = 1000},
      {.name = "nine points", .dirichlet_x = false, .jump = 100, .corners = 0.5},
      {.name = "neumann", .dirichlet_x = false, .dirichlet_y = false},
      {.name = "neumann with c", .dirichlet_x = false, .dirichlet_y = false, .c = 1e-3},
      {.name = "around x", .dirichlet_y = false, .around_x = true, .c = 0.01},
      {.name = "around y", .around_y = true, .jump = 50},
      {.name = "around both", .around_x = true, .around_y = true},
      {.name = "kept", .jump = 1000, .kept = true},
      {.name = "fixed inside",
       .dirichlet_x = false,
       .kept = false,
       .fixed = [](int i,
                   int j) { return (i == 0 && j > 20) || (i > 10 && i < 14 && j > 20 && j < 25) || j == ny - 1; }},
      {.name = "penalties", .jump = 100, .kept = true, .penalty = 1e6},
      {.name = "penalties that hide all else", .jump = 100, .kept = true, .penalty = 1e30},
      {.name = "flow", .dirichlet_y = false, .c = 0.1, .flow = 0.5},
      {.name = "divided by volumes", .jump = 50, .scale = volumes},
      {.name = "divided by volumes, around y", .around_y = true, .c = 0.1, .scale = volumes},
      {.name = "divided by volumes, neumann", .dirichlet_x = false, .dirichlet_y = false, .scale = volumes},
      {.name = "half cells", .dirichlet_x = false, .dirichlet_y = false, .scale = half_cells},
      {.name = "divided by volumes, kept", .kept = true, .scale = volumes},
      {.name = "divided by volumes, in parts", .c = 1, .scale = volumes, .fixed = [](int i, int) { return i == 9; }},
      {.name = "divided by volumes, flow", .flow = 0.5, .scale = volumes}};
}

/// Who has which unknowns.
enum class Shared { in_turn, unevenly, at_random, in_blocks };

std::vector<int> nodes_of(Shared shared, int rank, int count) {
  std::vector<int> nodes;
  std::mt19937 random(7);
  std::vector<int> owner(nx * ny);
  for (auto& r : owner) r = static_cast<int>(random() % static_cast<unsigned>(count));
  for (int k = 0; k < nx * ny; ++k) {
    const auto share = [&](std::int64_t part, std::int64_t whole) { return static_cast<int>(part * count / whole); };
    const int who = shared == Shared::in_turn     ? share(k / nx, ny)
                    : shared == Shared::unevenly  ? (k < 100 ? 0 : share(k, nx * ny))
                    : shared == Shared::at_random ? owner[static_cast<std::size_t>(k)]
                                                  : share(k % nx, nx);
    if (who == rank) nodes.push_back(k);
  }
  return nodes;
}

struct OwnRows {
  std::vector<int> start{0}, column, node;
  std::vector<double> value;

  OwnRows(const SparseRows& a, std::vector<int> nodes) : node(std::move(nodes)) {
    for (const int k : node) {
      for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e) {
        column.push_back(a.column[static_cast<std::size_t>(e)]);
        value.push_back(a.value[static_cast<std::size_t>(e)]);
      }
      start.push_back(static_cast<int>(value.size()));
    }
  }
  [[nodiscard]] Values of(const Values& all) const {
    Values own;
    for (const int k : node) own.push_back(all[static_cast<std::size_t>(k)]);
    return own;
  }
};

Values random_numbers() {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 2);
  Values b(nx * ny);
  for (auto& v : b) v = number(random);
  return b;
}

MatrixSolverParams params() {
  MatrixSolverParams p;
  p.solver.precision = Precision::full;
  p.solver.stop.rtol = 1e-9;
  p.solver.deflate = {};
  p.project = true;
  return p;
}

std::string facts(const GridRows& g) {
  return message(g.left_nx, " x ", g.left_ny, " from ", g.first_i, ",", g.first_j, " ", to_string(g.west),
                 to_string(g.east), to_string(g.south), to_string(g.north), g.symmetric, g.singular, g.periodic_x,
                 g.periodic_y, g.fixed_in_all, " ", to_string(g.a.format()), " ", g.unsymmetric.empty());
}

TEST(SubdomainRows, CyclesAndSolvesAreThoseOfOneSubdomain) {
  for (const Problem& problem : problems()) {
    const SparseRows a = matrix_of(problem);
    Context ctx(Backend::cpu, 1);
    auto alone = MatrixSolver::from_csr(ctx, a.start, a.column, a.value, nx, ny, params());
    const Values b = random_numbers();
    Values z(b.size()), x(b.size(), 1.0);
    alone.apply(ctx, b, z);
    const SolveReport report = alone.solve(ctx, b, x);
    ASSERT_EQ(report.status, Status::converged) << problem.name;
    for (const auto& [count, shared] : {std::pair{2, Shared::in_turn},
                                        {3, Shared::unevenly},
                                        {5, Shared::at_random},
                                        {3, Shared::in_blocks},
                                        {5, Shared::in_turn}}) {
      SCOPED_TRACE(message(problem.name, ", ", count, " subdomains, ", static_cast<int>(shared)));
      const bool in_order = shared == Shared::in_turn || shared == Shared::unevenly;
      std::vector<double> z_here(b.size()), x_here(b.size());
      const auto result = test::on_subdomains(Backend::cpu, count, [&](Context& own) {
        const OwnRows rows(a, nodes_of(shared, own.communicator()->rank(), count));
        auto p = params();
        if (!in_order) p.numbering = rows.node;
        auto solver = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, p);
        EXPECT_EQ(facts(solver.rows()), facts(alone.rows()));
        EXPECT_EQ(solver.is_symmetric(), alone.is_symmetric());
        EXPECT_EQ(solver.solver().params().multigrid.singular, alone.solver().params().multigrid.singular);
        const Values r = rows.of(b);
        Values mine(r.size()), solved(r.size(), 1.0);
        solver.apply(own, r, mine);
        const SolveReport here = solver.solve(own, r, solved);
        EXPECT_EQ(here.iterations, report.iterations);
        EXPECT_EQ(here.status, Status::converged);
        for (std::size_t k = 0; k < r.size(); ++k) {
          z_here[static_cast<std::size_t>(rows.node[k])] = mine[k];
          x_here[static_cast<std::size_t>(rows.node[k])] = solved[k];
        }
        return Values{};
      });
      for (const auto& error : result.errors) ASSERT_EQ(error, "");
      double size = 0, difference = 0, largest = 0, apart = 0;
      for (std::size_t k = 0; k < z.size(); ++k) {
        size = std::max(size, std::abs(z[k]));
        difference = std::max(difference, std::abs(z[k] - z_here[k]));
        largest = std::max(largest, std::abs(x[k]));
        apart = std::max(apart, std::abs(x[k] - x_here[k]));
      }
      EXPECT_LE(difference, 1e-11 * size);
      EXPECT_LE(apart, 1e-9 * largest);
    }
  }
}

/// Rows stay on the GPUs that have them, and the report says that these are too many.
TEST(SubdomainRows, ReportsSayWhereOneGpuWouldBeFaster) {
  constexpr const char* note = "1665 unknowns on 2 GPUs: one GPU would be faster";
  EXPECT_EQ(MatrixSolver::note_on_gpus(nx * ny, 2), note);
  EXPECT_EQ(MatrixSolver::note_on_gpus(nx * ny, 1), "");
  EXPECT_EQ(MatrixSolver::note_on_gpus(MatrixSolver::least_for_several_gpus, 4), "");
  const SparseRows a = matrix_of(problems().front());
  const Values b = random_numbers();
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    if (!test::available(backend)) continue;
    const auto result = test::on_subdomains(backend, 2, [&](Context& own) {
      const OwnRows rows(a, nodes_of(Shared::in_turn, own.communicator()->rank(), 2));
      auto solver = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, params());
      const Values r = rows.of(b);
      Values x(r.size());
      const SolveReport report = solver.solve(own, r, x);
      EXPECT_EQ(report.choice.find(note) != std::string::npos, own.on_gpu()) << report.choice;
      return Values{};
    });
    for (const auto& error : result.errors) EXPECT_EQ(error, "");
  }
}

/// Numbered along y, and so read.
TEST(SubdomainRows, AlongY) {
  const SparseRows a = matrix_of({.name = "along y", .dirichlet_x = false, .jump = 10, .c = 0.1});
  std::vector<SparseEntry> entries;
  const auto number = [](int node) { return node % nx * ny + node / nx; };
  for (int k = 0; k < nx * ny; ++k)
    for (auto e = static_cast<std::size_t>(a.start[static_cast<std::size_t>(k)]);
         e < static_cast<std::size_t>(a.start[static_cast<std::size_t>(k) + 1]); ++e)
      entries.push_back({number(k), number(a.column[e]), a.value[e]});
  const SparseRows along_y = sparse_rows(nx * ny, nx * ny, std::move(entries));
  const Values b = random_numbers();
  Context ctx(Backend::cpu, 1);
  auto alone = MatrixSolver::from_csr(ctx, along_y.start, along_y.column, along_y.value, nx, ny, params());
  Values z(b.size());
  alone.apply(ctx, b, z);
  const auto result = test::on_subdomains(Backend::cpu, 3, [&](Context& own) {
    const OwnRows rows(along_y, nodes_of(Shared::unevenly, own.communicator()->rank(), 3));
    auto solver = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, params());
    EXPECT_EQ(solver.rows().numbering, Numbering::y_first);
    EXPECT_EQ(facts(solver.rows()), facts(alone.rows()));
    Values mine(rows.node.size());
    solver.apply(own, rows.of(b), mine);
    return mine;
  });
  ASSERT_FALSE(result.failed()) << result.errors[0];
  for (std::size_t k = 0; k < z.size(); ++k) EXPECT_NEAR(result.values[k], z[k], 1e-11);
}

/// Entries in any order, halves of them twice.
struct Entries {
  std::vector<int> row, column;
  std::vector<double> value;

  Entries(const SparseRows& a, const std::vector<int>& nodes) {
    for (int half = 0; half < 2; ++half)
      for (auto k = nodes.rbegin(); k != nodes.rend(); ++k)
        for (int e = a.start[static_cast<std::size_t>(*k)]; e < a.start[static_cast<std::size_t>(*k) + 1]; ++e) {
          row.push_back(*k);
          column.push_back(a.column[static_cast<std::size_t>(e)]);
          value.push_back(a.value[static_cast<std::size_t>(e)] / 2);
        }
  }
};

/// Bands from number `first` of nine on, of lines begin .. end - 1.
Values bands_of(const SparseRows& a, int first, int begin, int end) {
  const auto lines = static_cast<std::size_t>(end - begin), width = static_cast<std::size_t>(nx);
  Values bands(static_cast<std::size_t>(9 - first) * lines * width);
  for (int k = begin * nx; k < end * nx; ++k)
    for (auto e = static_cast<std::size_t>(a.start[static_cast<std::size_t>(k)]);
         e < static_cast<std::size_t>(a.start[static_cast<std::size_t>(k) + 1]); ++e) {
      const auto wrapped = [](int d, int n) { return d > 1 ? d - n : d < -1 ? d + n : d; };
      const int m = a.column[e], band = band_index(wrapped(m % nx - k % nx, nx), wrapped(m / nx - k / nx, ny)) - first;
      if (band >= 0)
        bands[static_cast<std::size_t>(band) * lines * width + static_cast<std::size_t>(k - begin * nx)] = a.value[e];
    }
  return bands;
}

TEST(SubdomainRows, EveryWayInGivesTheSame) {
  const std::vector<Problem> all{{.name = "nine points", .jump = 100, .corners = 0.5},
                                 {.name = "around both", .around_x = true, .around_y = true, .c = 0.1, .corners = 0.5},
                                 {.name = "fixed", .fixed = [](int i, int j) { return i == 7 || j == 0; }},
                                 {.name = "flow", .flow = 0.5, .scale = volumes}};
  const Values b = random_numbers();
  for (const Problem& problem : all)
    for (const int count : {1, 3}) {
      SCOPED_TRACE(message(problem.name, ", ", count));
      const SparseRows a = matrix_of(problem);
      const auto result = test::on_subdomains(Backend::cpu, count, [&](Context& own) {
        if (count == 1) own.set_communicator(stratum::thread_communicators(1).front());
        const int rank = own.communicator()->rank();
        const auto solution = [&](MatrixSolver solver, const Values& r) {
          Values x(r.size());
          EXPECT_EQ(solver.solve(own, r, x).status, Status::converged);
          return x;
        };
        const auto nodes = nodes_of(Shared::in_turn, rank, count);
        const OwnRows rows(a, nodes);
        const Values r = rows.of(b);
        const auto by_rows = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, params());
        const Values expected = solution(by_rows, r);
        const Entries entries(a, nodes);
        auto by_entries = MatrixSolver::from_coo(own, entries.row, entries.column, entries.value, nx, ny, params());
        EXPECT_EQ(solution(by_entries, r), expected);
        by_entries.update_coo(own, entries.row, entries.column, entries.value);
        EXPECT_EQ(solution(by_entries, r), expected);

        const int begin = nodes.front() / nx, end = nodes.back() / nx + 1;
        auto by_bands = MatrixSolver::from_bands(own, bands_of(a, 0, begin, end), nx, end - begin, params());
        EXPECT_EQ(by_bands.rows().ny, ny);
        EXPECT_EQ(solution(by_bands, r), expected);
        by_bands.update_bands(own, bands_of(a, 0, begin, end));
        EXPECT_EQ(solution(by_bands, r), expected);
        if (by_rows.rows().symmetric && problem.name != std::string("fixed")) {
          EXPECT_EQ(solution(MatrixSolver::from_bands(own, bands_of(a, 4, begin, end), nx, end - begin, params()), r),
                    expected);
        }
        if (by_rows.rows().fixed_in_all == 0) {
          Communicator& comm = *own.communicator();
          const GridOperator<double>& subdomain = by_rows.rows().a;
          const auto lines = comm.gather_on_host(subdomain.shape().ny);
          const auto first = std::accumulate(lines.begin(), lines.begin() + rank, 0) * nx,
                     last = first + subdomain.shape().ny * nx;
          const Values x = comm.join_on_host(expected);
          EXPECT_EQ(solution(MatrixSolver(own, subdomain, params()), Values(b.begin() + first, b.begin() + last)),
                    Values(x.begin() + first, x.begin() + last));
        }

        const auto anyhow = nodes_of(Shared::at_random, rank, count);
        const Entries others(a, anyhow);
        auto p = params();
        p.numbering = anyhow;
        const OwnRows own_rows(a, anyhow);
        EXPECT_EQ(
            solution(MatrixSolver::from_coo(own, others.row, others.column, others.value, nx, ny, p), own_rows.of(b)),
            solution(MatrixSolver::from_csr(own, own_rows.start, own_rows.column, own_rows.value, nx, ny, p),
                     own_rows.of(b)));
        return Values{};
      });
      for (const auto& error : result.errors) EXPECT_EQ(error, "");
    }
}

/// Rows by scales, of one part and of several, as core/operators/row_scales.hpp has them on one subdomain.
TEST(SubdomainRows, ScaleToSymmetry) {
  const auto volume = [](int i, int j) { return 1.0 + (i * 7 + j * 3) % 10; };
  std::vector<Problem> scaled{{.name = "scaled", .scale = volume},
                              {.name = "around y", .around_y = true, .scale = volume},
                              {.name = "kept", .kept = true, .scale = volume},
                              {.name = "in parts", .c = 1, .scale = volume, .fixed = [](int i, int) { return i == 9; }},
                              {.name = "flow", .flow = 0.5}};
  for (const Problem& problem : scaled) {
    SCOPED_TRACE(problem.name);
    SparseRows a = matrix_of(problem);
    const SparseRows given = a;
    const std::vector<double> d = scale_to_symmetry(a);
    const auto result = test::on_subdomains(Backend::cpu, 3, [&](Context& own) {
      const OwnRows rows(given, nodes_of(Shared::at_random, own.communicator()->rank(), 3));
      const GridRows found(own, RowArrays<int>{rows.start, rows.column, rows.value}, nx, ny, rows.node, {},
                           {.scale_to_symmetry = true});
      EXPECT_EQ(found.scales.empty(), d.empty());
      EXPECT_EQ(found.symmetric, !d.empty());
      for (std::size_t k = 0; k < found.scales.size(); ++k)
        EXPECT_NEAR(found.scales[k], d[static_cast<std::size_t>(rows.node[k])], 1e-12);
      return Values{};
    });
    for (const auto& error : result.errors) EXPECT_EQ(error, "");
  }
}

TEST(SubdomainRows, UpdateOnAllOrOnNone) {
  const SparseRows a = matrix_of({.name = "before"}), jumping = matrix_of({.name = "jumping", .jump = 20}),
                   flow = matrix_of({.name = "flow", .flow = 0.5});
  const Values b = random_numbers();
  const auto result = test::on_subdomains(Backend::cpu, 2, [&](Context& own) {
    const auto nodes = nodes_of(Shared::in_blocks, own.communicator()->rank(), 2);
    const OwnRows rows(a, nodes), others(jumping, nodes), unsymmetric(flow, nodes);
    auto p = params();
    p.numbering = nodes;
    auto solver = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, p);
    solver.update_csr(own, others.start, others.column, others.value);
    auto made = MatrixSolver::from_csr(own, others.start, others.column, others.value, nx, ny, p);
    const Values r = others.of(b);
    Values x(r.size()), y(r.size());
    EXPECT_EQ(solver.solve(own, r, x).status, Status::converged);
    EXPECT_EQ(made.solve(own, r, y).status, Status::converged);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], y[k], 1e-6);
    std::string reason;
    try {
      solver.update_csr(own, unsymmetric.start, unsymmetric.column, unsymmetric.value);
    } catch (const UsageError& error) {
      reason = error.what();
    }
    EXPECT_THAT(reason, testing::HasSubstr("was symmetric and is not any more"));
    EXPECT_THROW((void)solver.solve(own, r, x), UsageError);
    EXPECT_THROW(solver.apply(own, r, x), UsageError);
    solver.update_csr(own, others.start, others.column, others.value);
    std::fill(x.begin(), x.end(), 0.0);
    EXPECT_EQ(solver.solve(own, r, x).status, Status::converged);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], y[k], 1e-6);
    return Values{};
  });
  for (const auto& error : result.errors) EXPECT_EQ(error, "");
}

/// Scales come and go with the numbers.
TEST(SubdomainRows, UpdateOfScaledRows) {
  const SparseRows plain = matrix_of({.name = "plain", .c = 0.1, .flow = 0.5}),
                   scaled = matrix_of({.name = "scaled", .c = 0.1, .flow = 0.5, .scale = volumes});
  const Values b = random_numbers();
  const auto result = test::on_subdomains(Backend::cpu, 2, [&](Context& own) {
    const auto nodes = nodes_of(Shared::at_random, own.communicator()->rank(), 2);
    auto p = params();
    p.numbering = nodes;
    std::optional<MatrixSolver> solver;
    for (const SparseRows* a : {&plain, &scaled, &plain, &scaled}) {
      const OwnRows rows(*a, nodes);
      if (solver)
        solver->update_csr(own, rows.start, rows.column, rows.value);
      else
        solver = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, p);
      auto made = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, p);
      const Values r = rows.of(b);
      Values x(r.size()), y(r.size());
      const SolveReport now = solver->solve(own, r, x), anew = made.solve(own, r, y);
      EXPECT_EQ(now.status, Status::converged);
      EXPECT_EQ(now.iterations, anew.iterations);
      EXPECT_EQ(x, y);
    }
    return Values{};
  });
  for (const auto& error : result.errors) EXPECT_EQ(error, "");
}

/// Tolerances, rounding and no numbers: a solve ends as on one subdomain.
TEST(SubdomainRows, NoFalseSuccess) {
  std::vector<Problem> problems;
  for (const double penalty : {1e4, 1e8, 1e12, 1e15, 1e17, 1e20, 1e30})
    problems.push_back({.name = "penalties", .jump = 10, .kept = true, .penalty = penalty});
  problems.push_back({.name = "one penalty",
                      .dirichlet_x = false,
                      .dirichlet_y = false,
                      .fixed = [](int i, int j) { return i == 20 && j == 30; },
                      .penalty = 1e30});
  problems.push_back({.name = "volumes far apart", .scale = [](int i, int) { return i > nx / 2 ? 1e9 : 1; }});
  for (const Problem& problem : problems) {
    const SparseRows a = matrix_of(problem);
    Context ctx(Backend::cpu, 1);
    auto alone = MatrixSolver::from_csr(ctx, a.start, a.column, a.value, nx, ny);
    Values exact, b(nx * ny);
    for (int k = 0; k < nx * ny; ++k) exact.push_back(std::sin(0.1 * (k % nx) + 0.05 * (k / nx)));
    for (int k = 0; k < nx * ny; ++k)
      for (auto e = static_cast<std::size_t>(a.start[static_cast<std::size_t>(k)]);
           e < static_cast<std::size_t>(a.start[static_cast<std::size_t>(k) + 1]); ++e)
        b[static_cast<std::size_t>(k)] += a.value[e] * exact[static_cast<std::size_t>(a.column[e])];
    for (const int spoilt : {-1, 0, nx * ny - 1, 30 * nx + 20}) {
      SCOPED_TRACE(message(problem.name, " ", problem.penalty, ", ", spoilt));
      Values rhs = b, x(b.size());
      if (spoilt >= 0) rhs[static_cast<std::size_t>(spoilt)] = NAN;
      const SolveReport report = alone.solve(ctx, rhs, x);
      EXPECT_EQ(report.status == Status::non_finite, spoilt >= 0);
      const auto result = test::on_subdomains(Backend::cpu, 2, [&](Context& own) {
        const OwnRows rows(a, nodes_of(Shared::unevenly, own.communicator()->rank(), 2));
        auto solver = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny);
        const Values r = rows.of(rhs);
        Values solved(r.size());
        const SolveReport here = solver.solve(own, r, solved);
        EXPECT_EQ(here.status, report.status);
        EXPECT_EQ(here.iterations, report.iterations);
        return solved;
      });
      for (const auto& error : result.errors) EXPECT_EQ(error, "");
      double apart = 0;
      for (std::size_t k = 0; spoilt < 0 && k < exact.size(); ++k)
        apart = std::max(apart, std::abs(exact[k] - result.values[k]));
      EXPECT_LE(apart, 1e-5);
    }
  }
}

/// By the vectors that the matrix of all subdomains says.
TEST(SubdomainRows, IsolatedPartsAreDeflatedAsOnOneSubdomain) {
  for (const bool around : {false, true}) {
    const SparseRows a = matrix_of({.name = "jumping", .around_y = around, .jump = 1e7});
    const Values b = random_numbers();
    MatrixSolverParams p;
    p.solver.stop.rtol = 1e-6;
    Context ctx(Backend::cpu, 1);
    auto alone = MatrixSolver::from_csr(ctx, a.start, a.column, a.value, nx, ny, p);
    EXPECT_THAT(alone.solver().deflation(), testing::HasSubstr("by 1 inclusion"));
    Values x(b.size());
    const SolveReport report = alone.solve(ctx, b, x);
    for (const auto shared : {Shared::in_turn, Shared::at_random}) {
      const auto result = test::on_subdomains(Backend::cpu, 3, [&](Context& own) {
        const OwnRows rows(a, nodes_of(shared, own.communicator()->rank(), 3));
        auto q = p;
        q.numbering = rows.node;
        auto solver = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, q);
        EXPECT_EQ(solver.solver().deflation(), alone.solver().deflation());
        const Values r = rows.of(b);
        Values solved(r.size());
        const SolveReport here = solver.solve(own, r, solved);
        EXPECT_EQ(here.status, report.status);
        EXPECT_EQ(here.iterations, report.iterations);
        double apart = 0, largest = 0;
        const Values expected = rows.of(x);
        for (std::size_t k = 0; k < expected.size(); ++k) {
          apart = std::max(apart, std::abs(solved[k] - expected[k]));
          largest = std::max(largest, std::abs(expected[k]));
        }
        EXPECT_LE(apart, 1e-4 * largest);
        return Values{};
      });
      for (const auto& error : result.errors) EXPECT_EQ(error, "");
    }
  }
}

TEST(SubdomainRows, RefusedOnAll) {
  const SparseRows a = matrix_of({.name = "good"});
  const auto refused = [&](const std::function<void(Context&, OwnRows&)>& spoil, const char* reason, int width = nx) {
    const auto result = test::on_subdomains(Backend::cpu, 3, [&](Context& own) {
      OwnRows rows(a, nodes_of(Shared::in_turn, own.communicator()->rank(), 3));
      auto p = params();
      p.numbering = rows.node;
      spoil(own, rows);
      if (p.numbering == rows.node)
        p.numbering.clear();  // in order
      else
        p.numbering = rows.node;
      (void)MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, width, ny, p);
      return Values{};
    });
    for (const auto& error : result.errors) EXPECT_THAT(error, testing::HasSubstr(reason));
  };
  const auto last = [](Context& own) { return own.communicator()->rank() == 2; };
  refused(
      [&](Context& own, OwnRows& rows) {
        if (last(own)) rows.value.back() = -1;
      },
      "row 1664 has the diagonal entry");
  refused(
      [&](Context& own, OwnRows& rows) {
        if (last(own)) rows.column[0] = nx * ny;
      },
      "row 1110 has an entry in column 1665 of 37 x 45");
  refused(
      [&](Context& own, OwnRows& rows) {
        if (last(own)) rows.column[0] += 5;
      },
      "which is no neighbour of it");
  refused(
      [&](Context& own, OwnRows& rows) {
        if (last(own)) rows.value[3] = NAN;
      },
      "has the entry nan");
  refused(
      [&](Context& own, OwnRows& rows) {
        if (last(own)) rows.start.pop_back();
      },
      "rank 2: row starts must go from 0");
  refused(
      [&](Context& own, OwnRows& rows) {
        if (last(own)) std::swap(rows.start[3], rows.start[4]);
      },
      "rank 2: row starts must not decrease: number 4");
  refused(
      [&](Context& own, OwnRows& rows) {
        if (last(own)) rows.node.front() = 0;
      },
      "gives no nodes of its rows, and others do");
  refused([](Context&, OwnRows&) {}, "has 1620 rows, not 1665 on all ranks", nx - 1);
  const auto refused_entries = [&](const std::function<void(Context&, Entries&)>& spoil, const char* reason) {
    const auto result = test::on_subdomains(Backend::cpu, 3, [&](Context& own) {
      Entries e(a, nodes_of(Shared::in_turn, own.communicator()->rank(), 3));
      spoil(own, e);
      (void)MatrixSolver::from_coo(own, e.row, e.column, e.value, nx, ny, params());
      return Values{};
    });
    for (const auto& error : result.errors) EXPECT_THAT(error, testing::HasSubstr(reason));
  };
  refused_entries(
      [&](Context& own, Entries& e) {
        if (last(own)) e.row[0] = 0;
      },
      "rank 2: its entries are in rows 0 to 1664, and the ranks before have 1110 rows");
  refused_entries(
      [&](Context& own, Entries& e) {
        if (last(own)) e.value.pop_back();
      },
      "rank 2: there are ");
  const SparseRows alone = sparse_rows(nx * ny, nx * ny, {{1112, 1112, 1.0}});
  refused_entries(
      [&](Context& own, Entries& e) {
        if (!last(own)) return;
        e = Entries(alone, {1112});
        e.column[0] = nx * ny;
      },
      "rank 2: entry (1112, 1665) lies outside the 1665 x 1665 matrix");
  const auto result = test::on_subdomains(Backend::cpu, 2, [&](Context& own) {
    const std::vector<double> bands(static_cast<std::size_t>(9 * nx * 5 + own.communicator()->rank()));
    (void)MatrixSolver::from_bands(own, bands, nx, 5);
    return Values{};
  });
  for (const auto& error : result.errors)
    EXPECT_THAT(error, testing::HasSubstr("rank 1: bands on a grid of 37 x 5 nodes are 9 or 5 times 185 numbers"));
  // 2^31 entries, before anything of that size is asked for.
  const auto too_many = test::on_subdomains(Backend::cpu, 2, [&](Context& own) {
    (void)MatrixSolver::from_bands(own, std::span<const double>(), 15448, 15448);
    return Values{};
  });
  for (const auto& error : too_many.errors)
    EXPECT_THAT(error, testing::HasSubstr("bands of a subdomain have up to 238609294 nodes, not 15448 x 15448"));
}

/// What only one of them says or has otherwise.
TEST(SubdomainRows, OneAloneIsRefusedOnAll) {
  const SparseRows a = matrix_of({.name = "good"});
  const auto refused = [&](const std::function<void(Context&, const OwnRows&, bool odd)>& make, const char* reason) {
    for (const int odd : {0, 2}) {
      const auto result = test::on_subdomains(Backend::cpu, 3, [&](Context& own) {
        const int rank = own.communicator()->rank();
        make(own, OwnRows(a, nodes_of(Shared::in_turn, rank, 3)), rank == odd);
        return Values{};
      });
      for (const auto& error : result.errors) EXPECT_THAT(error, testing::HasSubstr(reason)) << odd;
    }
  };
  for (const int width : {0, -1, nx + 1, 1 << 30}) {
    refused(
        [&](Context& own, const OwnRows& rows, bool odd) {
          (void)MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, odd ? width : nx, ny, params());
        },
        "all ranks need the same grid of unknowns");
    refused(
        [&](Context& own, const OwnRows& rows, bool odd) {
          const Entries e(a, rows.node);
          (void)MatrixSolver::from_coo(own, e.row, e.column, e.value, odd ? width : nx, ny, params());
        },
        "all ranks need the same grid of unknowns");
  }
  refused(
      [&](Context& own, const OwnRows& rows, bool odd) {
        auto p = params();
        if (odd) p.widths_x.assign(nx - 1, 1.0);
        (void)MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, p);
      },
      "all ranks need the same numbers of cells");
  refused(
      [&](Context& own, const OwnRows& rows, bool odd) {
        auto solver = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, params());
        const Values b(rows.node.size() - (odd ? 1 : 0));
        Values x(rows.node.size());
        (void)solver.solve(own, b, x);
      },
      "rows; the arrays hold ");
}

}  // namespace
