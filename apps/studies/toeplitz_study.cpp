// The study of S. Ikuno, S. Deki, N. Fujita, Numerical Investigations of Variable Preconditioned GCR with Mixed Precision on
// GPU, 2010: GCR without restart on A x = A 1 with
//
//     A = 2 on the diagonal, 1 above it, gamma on the second subdiagonal, N = 2048,  ||r_k|| <= 1e-12 ||r_0|| ,
//
// preconditioned by Jacobi sweeps that gain eps_in, in double (S, standard) or in float (H, hybrid). The published counts
// are those of sweeps that stop by the increment, not by equation (3), the start z_0 = D^-1 r not counted; the number in
// brackets is the index of the last update from 0 on. For gamma = 1 counts depend on the order of additions: the paper's are
// met to within two sweeps.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/band_matrix.hpp>
#include <stratum/solvers/jacobi_sweeps.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/solver.hpp>

#include "studies.hpp"
#include "support/table.hpp"
#include "support/timing.hpp"

namespace stratum::apps {

namespace {

class ToeplitzStudy {
 public:
  /// On the CPU, the paper's reference, and with a GPU on that as well.
  ToeplitzStudy(const Machine& machine, const StudySelection& selection)
      : test_(selection.sweep_test), csv_(selection.csv) {
    machines_.emplace_back(Backend::cpu, machine.threads);
    if (machine.backend == Backend::cuda) machines_.emplace_back(Backend::cuda);
  }

  void print_table2() {
    for (auto& ctx : machines_) {
      const Table table(
          csv_,
          message("Table 2: Jacobi sweeps in all (outer iterations), S in double, H with sweeps in float; "
                  "sweeps stop by the ",
                  to_string(test_), "; ", ctx.description()),
          {"gamma", "S 1e-3", "paper", "H 1e-3", "paper", "S 1e-1", "paper", "H 1e-1", "paper"}, 10);
      for (const auto& row : table2) {
        std::vector<std::string> cells{message(row.gamma)};
        std::size_t k = 0;
        for (const double tolerance : {1e-3, 1e-1})
          for (const bool hybrid : {false, true}) {
            const auto result = solve(ctx, row.gamma, tolerance, hybrid, 1);
            cells.push_back(message(result.report.inner_iterations, " (", result.report.iterations - 1, ")",
                                    result.report.status == Status::converged ? "" : "!"));
            cells.emplace_back(row.counts[k++]);
          }
        table.row(cells);
      }
    }
  }

  /// Figure 2: times at gamma = 1. 3 and 4: standard on the CPU over standard and hybrid on the GPU. 5: what the hybrid
  /// solution differs by.
  void print_figure(int number) {
    if (number == 2) return print_times();
    if (number == 5) return print_differences();
    print_speedup(number == 4);
  }

 private:
  struct Row {
    double gamma;
    const char* counts[4];  // S and H for 1e-3, S and H for 1e-1
  };
  static constexpr Row table2[] = {{0.2, {"57 (3)", "57 (3)", "36 (6)", "36 (6)"}},
                                   {0.4, {"79 (3)", "79 (3)", "48 (6)", "48 (6)"}},
                                   {0.6, {"127 (3)", "127 (3)", "78 (6)", "78 (6)"}},
                                   {0.8, {"279 (3)", "279 (3)", "204 (7)", "204 (7)"}},
                                   {1.0, {"13688 (2)", "13703 (2)", "17933 (6)", "20623 (6)"}}};
  static constexpr double gammas[] = {0.2, 0.4, 0.6, 0.8, 1.0};
  static constexpr int repeats = 3;

  struct Result {
    SolveReport report;  // with the shortest time of the repeats
    std::vector<double> x;
  };

  /// The sweeps in T, and what they need.
  template <class T>
  struct Sweeps {
    BandMatrix<T> off_diagonal;
    JacobiPreconditioner<T> diagonal;
    JacobiSweeps<T> sweeps;
    Sweeps(Context& ctx, const SparseRows& a, double tolerance, SweepTest test)
        : off_diagonal(ctx, without_diagonal(a)), diagonal(ctx, a),
          sweeps(ctx, off_diagonal, diagonal, {tolerance, 1'000'000, test}) {}
  };

  Result solve(Context& ctx, double gamma, double tolerance, bool hybrid, int times) {
    constexpr int n = 2048;
    constexpr int directions = 100;  // more than any case takes: no restart
    const auto rows = toeplitz_rows(n, gamma);
    const BandMatrix<double> a(ctx, rows);
    std::optional<Sweeps<double>> in_double;
    std::optional<Sweeps<float>> in_float;
    std::optional<PrecisionCast<double, float>> cast;
    if (hybrid) {
      in_float.emplace(ctx, rows, tolerance, test_);
      cast.emplace(ctx, a.shape(), in_float->sweeps);
    } else {
      in_double.emplace(ctx, rows, tolerance, test_);
    }
    Preconditioner<double>& m = hybrid ? static_cast<Preconditioner<double>&>(*cast) : in_double->sweeps;
    const auto gcr = make_solver<double>(ctx, "gcr", a.shape(), {directions});
    Field<double> one(ctx, n), b(ctx, n), x(ctx, n);
    set(ctx, 1.0, one.view());
    a.apply(ctx, one.cview(), b.view());
    StoppingParams stop;
    stop.rtol = 1e-12;
    stop.reference_norm = ReferenceNorm::initial;
    Result result;
    for (int k = 0; k < times; ++k) {
      set(ctx, 0.0, x.view());
      ctx.synchronise();
      const double begin = wall_seconds();
      auto report = gcr->solve(ctx, a, m, b.cview(), x.view(), stop);
      ctx.synchronise();
      report.solve_seconds = wall_seconds() - begin;
      if (k == 0 || report.solve_seconds < result.report.solve_seconds) result.report = std::move(report);
    }
    result.x.resize(n);
    copy_to_host(ctx, x.cview(), result.x.data());
    return result;
  }
  [[nodiscard]] Context& cpu() { return machines_.front(); }
  [[nodiscard]] bool has_gpu() const { return machines_.size() > 1; }

  static std::string seconds(const SolveReport& report) {
    return scientific(report.solve_seconds, 2) + (report.status == Status::converged ? "" : "!");
  }

  void print_times() {
    const Table table(csv_, "Figure 2: seconds at gamma = 1, fastest of three",
                      {"eps_in", "standard cpu", "hybrid cpu", "standard gpu", "hybrid gpu"}, 12);
    for (const double tolerance : {1e-3, 1e-2, 1e-1, 0.5}) {
      std::vector<std::string> cells{message(tolerance)};
      for (std::size_t k = 0; k < 2; ++k)
        for (const bool hybrid : {false, true})
          cells.push_back(k < machines_.size() ? seconds(solve(machines_[k], 1, tolerance, hybrid, repeats).report)
                                               : "");
      table.row(cells);
    }
  }

  void print_speedup(bool hybrid) {
    const std::string what = hybrid ? "hybrid" : "standard";
    const Table table(csv_,
                      message("Figure ", hybrid ? 4 : 3, ": speedup of the ", what,
                              " iteration on the GPU over the standard one on the CPU",
                              has_gpu() ? ""
                              : hybrid  ? "; no GPU: over the standard one, both on the CPU"
                                        : "; no GPU: times on the CPU alone"),
                      {"gamma", "cpu 1e-3", what, "ratio", "cpu 1e-2", what, "ratio", "cpu 1e-1", what, "ratio"}, 8);
    for (const double gamma : gammas) {
      std::vector<std::string> cells{message(gamma)};
      for (const double tolerance : {1e-3, 1e-2, 1e-1}) {
        const auto reference = solve(cpu(), gamma, tolerance, false, repeats).report;
        cells.push_back(seconds(reference));
        if (!has_gpu() && !hybrid) {
          cells.insert(cells.end(), {"", ""});
          continue;
        }
        const auto report = solve(machines_.back(), gamma, tolerance, hybrid, repeats).report;
        cells.push_back(seconds(report));
        cells.push_back(ratio(reference.solve_seconds, report.solve_seconds));
      }
      table.row(cells);
    }
  }

  void print_differences() {
    const Table table(
        csv_,
        message("Figure 5: r_max = max |x_D - x_H| / max |x_D|, x_D standard on the CPU, x_H hybrid on the ",
                has_gpu() ? "GPU" : "CPU", ", and the error max |x_H - 1| beside it"),
        {"eps_in", "gamma 0.2", "error", "gamma 0.4", "error", "gamma 0.6", "error", "gamma 0.8", "error"}, 8);
    for (const double tolerance : {1e-3, 3e-3, 1e-2, 3e-2, 1e-1}) {
      std::vector<std::string> cells{message(tolerance)};
      for (const double gamma : {0.2, 0.4, 0.6, 0.8}) {
        const auto x_d = solve(cpu(), gamma, tolerance, false, 1).x,
                   x_h = solve(machines_.back(), gamma, tolerance, true, 1).x;
        double difference = 0, largest = 0, error = 0;
        for (std::size_t i = 0; i < x_d.size(); ++i) {
          difference = std::max(difference, std::abs(x_d[i] - x_h[i]));
          largest = std::max(largest, std::abs(x_d[i]));
          error = std::max(error, std::abs(x_h[i] - 1));
        }
        cells.push_back(scientific(difference / largest, 1));
        cells.push_back(scientific(error, 1));
      }
      table.row(cells);
    }
  }

  SweepTest test_;
  bool csv_;
  std::vector<Context> machines_;
};

}  // namespace

void print_toeplitz_study(const Machine& machine, const StudySelection& selection) {
  ToeplitzStudy tables(machine, selection);
  if (selection.has_table(2)) tables.print_table2();
  for (int number = 2; number <= 5; ++number)
    if (selection.has_figure(number)) tables.print_figure(number);
}

}  // namespace stratum::apps
