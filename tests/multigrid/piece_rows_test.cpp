// Matrices whose rows lie on several pieces, however they are shared out: what is found out, cycles and solves are those of one piece.

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/matrix_solver.hpp>

#include <gmock/gmock.h>

#include "support/strips.hpp"

namespace {

using namespace stratum;
using test::Values;

constexpr int nx = 37, ny = 45;

/// -div(k grad u) + c u + flow du/dx on nx x ny nodes, by five points or nine.
struct Problem {
  const char* name;
  bool dirichlet_x = true, dirichlet_y = true;  // their nodes were eliminated; else natural
  bool around_x = false, around_y = false;
  double jump = 1, c = 0, flow = 0, corners = 0;
  bool kept = false;  // the nodes of the sides stay, with their diagonals
  std::function<double(int, int)> scale = [](int, int) { return 1.0; };  // of rows
  std::function<bool(int, int)> fixed = [](int, int) { return false; };
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
      if (is_fixed(i, j)) {
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
      entries.push_back({row, row, diagonal * p.scale(i, j)});
    }
  return sparse_rows(nx * ny, nx * ny, std::move(entries));
}

std::vector<Problem> problems() {
  return {{.name = "eliminated"},
          {.name = "jumping", .jump = 1000},
          {.name = "nine points", .dirichlet_x = false, .jump = 100, .corners = 0.5},
          {.name = "natural", .dirichlet_x = false, .dirichlet_y = false},
          {.name = "natural with c", .dirichlet_x = false, .dirichlet_y = false, .c = 1e-3},
          {.name = "around x", .dirichlet_y = false, .around_x = true, .c = 0.01},
          {.name = "around y", .around_y = true, .jump = 50},
          {.name = "around both", .around_x = true, .around_y = true},
          {.name = "kept", .jump = 1000, .kept = true},
          {.name = "fixed inside",
           .dirichlet_x = false,
           .kept = false,
           .fixed = [](int i,
                       int j) { return (i == 0 && j > 20) || (i > 10 && i < 14 && j > 20 && j < 25) || j == ny - 1; }},
          {.name = "flow", .dirichlet_y = false, .c = 0.1, .flow = 0.5}};
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

Values random_numbers(bool without_mean) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 1);
  Values b(nx * ny);
  double sum = 0;
  for (auto& v : b) sum += v = number(random);
  for (auto& v : b) v -= without_mean ? sum / (nx * ny) : 0;
  return b;
}

MatrixSolverParams params() {
  MatrixSolverParams p;
  p.solver.precision = Precision::full;
  p.solver.stop.rtol = 1e-9;
  p.solver.deflate = {};
  return p;
}

std::string facts(const GridRows& g) {
  return message(g.left_nx, " x ", g.left_ny, " from ", g.first_i, ",", g.first_j, " ", to_string(g.west),
                 to_string(g.east), to_string(g.south), to_string(g.north), g.symmetric, g.singular, g.periodic_x,
                 g.periodic_y, g.fixed_in_all, " ", to_string(g.a.form()), " ", g.unsymmetric.empty());
}

TEST(PieceRows, CyclesAndSolvesAreThoseOfOnePiece) {
  for (const Problem& problem : problems()) {
    const SparseRows a = matrix_of(problem);
    Context ctx(Backend::cpu, 1);
    auto alone = MatrixSolver::from_csr(ctx, a.start, a.column, a.value, nx, ny, params());
    const Values b = random_numbers(alone.rows().singular);
    Values z(b.size()), x(b.size());
    alone.apply(ctx, b, z);
    const SolveReport report = alone.solve(ctx, b, x);
    ASSERT_EQ(report.status, Status::converged) << problem.name;
    for (const int count : {2, 3, 5})
      for (const Shared shared : {Shared::in_turn, Shared::unevenly, Shared::at_random, Shared::in_blocks}) {
        SCOPED_TRACE(message(problem.name, ", ", count, " pieces, ", static_cast<int>(shared)));
        const bool in_order = shared == Shared::in_turn || shared == Shared::unevenly;
        std::vector<double> z_here(b.size()), x_here(b.size());
        const auto result = test::on_pieces(Backend::cpu, count, [&](Context& own) {
          const OwnRows rows(a, nodes_of(shared, own.communicator()->rank(), count));
          auto p = params();
          if (!in_order) p.numbering = rows.node;
          auto solver = MatrixSolver::from_csr(own, rows.start, rows.column, rows.value, nx, ny, p);
          EXPECT_EQ(facts(solver.rows()), facts(alone.rows()));
          const Values r = rows.of(b);
          Values mine(r.size()), solved(r.size());
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

}  // namespace
