#include "matrix_study.hpp"

#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include "bench/peers/csr_peer.hpp"
#include "bench/peers/hypre.hpp"
#include "support/json.hpp"
#include "support/timing.hpp"

namespace stratum::apps {

namespace {

/// Of node (i, j).
using NodeField = std::function<double(int i, int j)>;

struct CsrSystem {
  std::string name;
  int nx = 0, ny = 0;
  SparseRows a;
};

enum class OuterNodes : std::uint8_t { left_out, kept, neumann };

/// Links are harmonic means. Nodes beyond Dirichlet boundaries are left out, or kept as rows that hold nothing but their
/// diagonal while others still couple to them.
inline SparseRows five_point_rows(int nx, int ny, const NodeField& k, OuterNodes outer) {
  SparseRows a;
  a.rows = a.columns = nx * ny;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const bool fixed = outer == OuterNodes::kept && (i == 0 || j == 0 || i == nx - 1 || j == ny - 1);
      std::map<int, double> row;
      for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        const int p = i + dx, q = j + dy;
        const bool inside = p >= 0 && p < nx && q >= 0 && q < ny;
        if (!inside && outer == OuterNodes::neumann) continue;
        const double link = inside ? 2 / (1 / k(i, j) + 1 / k(p, q)) : k(i, j);
        row[j * nx + i] += link;
        if (inside && !fixed) row[q * nx + p] -= link;
      }
      for (const auto& [column, value] : row) {
        a.column.push_back(column);
        a.value.push_back(value);
      }
      a.start.push_back(static_cast<int>(a.column.size()));
    }
  return a;
}

class MatrixStudy {
 public:
  /// `hypre`: null where it is not there. Sizes are divided by `shrink`.
  MatrixStudy(Context& ctx, const Hypre* hypre, std::vector<std::string> peers, std::vector<CsrPeer> csr_peers,
              Stopwatch now, int shrink)
      : ctx_(ctx), hypre_(hypre), peers_(std::move(peers)), csr_peers_(std::move(csr_peers)), now_(now),
        shrink_(shrink) {}

  Json run() {
    std::printf("\nmatrices in CSR, about which nothing is said, to a relative residual of %g\n", rtol);
    std::printf("%-28s %-16s %6s %10s %10s %10s %10s  %s\n", "matrix", "solver", "iter", "set-up ms", "solve ms",
                "both ms", "residual", "");
    for (const auto& make : cases()) measure(make());
    return std::move(lines_);
  }

 private:
  static constexpr double rtol = 1e-8;
  static constexpr int max_iterations = 200;
  static double seconds(const SolveReport& report) { return report.setup_seconds + report.solve_seconds; }

  [[nodiscard]] std::vector<std::function<CsrSystem()>> cases() const {
    const auto five = [](std::string name, int nx, int ny, NodeField k, OuterNodes outer = OuterNodes::left_out) {
      return [=] { return CsrSystem{name, nx, ny, five_point_rows(nx, ny, k, outer)}; };
    };
    const NodeField one = [](int, int) { return 1.0; };
    const auto size = [this](int n) { return std::max(3, n / shrink_); };
    const int n = size(512) - 1;
    const auto discs = [n](double inside) -> NodeField {
      struct Disc {
        double x, y, r;
      };
      std::vector<Disc> all;
      std::mt19937 generator(5);
      std::uniform_real_distribution<double> uniform(0, 1);
      for (int k = 0; k < 60; ++k)
        all.push_back({uniform(generator), uniform(generator), 0.02 + 0.05 * uniform(generator)});
      return [all, inside, n](int i, int j) {
        for (const auto& d : all)
          if (std::hypot((i + 0.5) / n - d.x, (j + 0.5) / n - d.y) < d.r) return inside;
        return 1.0;
      };
    };
    const NodeField board = [n](int i, int j) { return (i * 16 / n + j * 16 / n) % 2 == 0 ? 1.0 : 1e3; };
    const int thirds = size(1025);
    const NodeField centre = [thirds](int i, int j) {
      return i > thirds / 3 && i < 2 * thirds / 3 && j > thirds / 3 && j < 2 * thirds / 3 ? 100.0 : 1.0;
    };
    const int level = std::max(3, 10 - std::ilogb(shrink_));
    const auto elements = [this, level] {
      const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), level);
      return CsrSystem{"bilinear elements", mesh.unknowns().nx, mesh.unknowns().ny,
                       sparse_rows(ctx_, assemble_operator<double>(ctx_, mesh, StorageFormat::nine_band, {}))};
    };
    return {elements,
            five("five points, 1000 x 1000", size(1000), size(1000), one),
            five("five points, 300 x 200", size(300), size(200), one),
            five("60 discs, 1e3", n, n, discs(1e3)),
            five("60 discs, 1e6", n, n, discs(1e6)),
            five("16 x 16 checkerboard, 1e3", n, n, board),
            five("ex29, Dirichlet rows kept", thirds, thirds, centre, OuterNodes::kept),
            five("ex50, Neumann", size(257), size(257), one, OuterNodes::neumann)};
  }

  void measure(const CsrSystem& system) {
    std::vector<double> b(static_cast<std::size_t>(system.a.rows)), x(b.size());
    std::mt19937 generator(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    double mean = 0;
    for (auto& v : b) mean += (v = uniform(generator)) / static_cast<double>(b.size());
    for (auto& v : b) v -= mean;

    SolveReport best;
    std::string choice;
    GridOperator<double> a;
    bool singular = false;
    Field<double> grid_b, grid_x;
    for (int round = 0; round < 3; ++round) {
      MatrixSolverParams params;
      params.solver.stop.max_iterations = max_iterations;
      ctx_.synchronise();
      double begin = now_();
      MatrixSolver solver =
          MatrixSolver::from_csr(ctx_, system.a.start, system.a.column, system.a.value, system.nx, system.ny, params);
      ctx_.synchronise();
      const double setup = now_() - begin;
      std::fill(x.begin(), x.end(), 0.0);
      begin = now_();
      SolveReport report = solver(ctx_, b, x);
      report.solve_seconds = now_() - begin;
      report.setup_seconds = setup;
      if (round == 0 || seconds(report) < seconds(best)) best = std::move(report);
      const auto& chosen = solver.solver().params();
      choice = message(to_string(*chosen.method), ", ", chosen.multigrid.smoother, ", ",
                       to_string(*chosen.multigrid.cycle), "-cycles");
      if (round > 0) continue;
      a = solver.rows().a;
      singular = solver.rows().singular;
      grid_b = Field<double>(ctx_, a.shape());
      grid_x = Field<double>(ctx_, a.shape());
    }
    print(system.name, "Stratum", best, choice);
    for (const CsrPeer& peer : csr_peers_) {
      SolveReport fastest;
      for (int round = 0; round < 2; ++round) {
        SolveReport report = peer.solve(system.a, b, x, rtol, max_iterations, now_);
        if (round == 0 || seconds(report) < seconds(fastest)) fastest = std::move(report);
      }
      print(system.name, std::string(peer.name), fastest, "");
    }
    if (hypre_ == nullptr) return;
    // Of identity rows nothing is left for hypre to do: what couples to them is gone.
    std::vector<double> inner(static_cast<std::size_t>(a.shape().nodes()));
    std::copy_n(b.begin(), inner.size(), inner.begin());
    copy_from_host(ctx_, inner.data(), grid_b.view());
    for (const auto& peer : peers_) {
      SolveReport fastest;
      for (int round = 0; round < 2; ++round) {
        const auto solver = hypre_->set_up(peer, a, rtol, max_iterations, singular);
        SolveReport report = solver->solve(ctx_, grid_b.cview(), grid_x.view());
        if (round == 0 || seconds(report) < seconds(fastest)) fastest = std::move(report);
      }
      print(system.name, "hypre " + peer, fastest, "");
    }
  }

  void print(const std::string& matrix, const std::string& solver, const SolveReport& report,
             const std::string& choice) {
    const bool solved = exit_code(report.status) == 0;
    std::printf("%-28s %-16s %6d %10.2f %10.2f %10.2f %10.1e  %s\n", matrix.c_str(), solver.c_str(), report.iterations,
                1e3 * report.setup_seconds, 1e3 * report.solve_seconds, 1e3 * seconds(report),
                report.relative_residual(), solved ? choice.c_str() : std::string(to_string(report.status)).c_str());
    JsonObject json;
    json.add("matrix", matrix).add("solver", solver).add("status", to_string(report.status));
    json.add("iterations", report.iterations).add("setup_seconds", report.setup_seconds);
    json.add("solve_seconds", report.solve_seconds).add("relative_residual", report.relative_residual());
    lines_.push_back(json.value());
  }

  Context& ctx_;
  const Hypre* hypre_;
  std::vector<std::string> peers_;
  std::vector<CsrPeer> csr_peers_;
  Stopwatch now_;
  int shrink_;
  Json lines_ = Json::array();
};

}  // namespace

Json run_matrix_study(Context& ctx, const Hypre* hypre, const std::vector<std::string>& peers,
                      const std::vector<CsrPeer>& csr_peers, Stopwatch now, int shrink) {
  return MatrixStudy(ctx, hypre, peers, csr_peers, now, shrink).run();
}

}  // namespace stratum::apps
