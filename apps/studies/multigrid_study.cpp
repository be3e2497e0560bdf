// The study of D. Goeddeke, R. Strzodka, Cyclic Reduction Tridiagonal Solvers on GPUs Applied to Mixed Precision Multigrid,
// 2011: Tables 1 to 6 and Figures 2, 5 and 6, by the cycles of the paper: 4 + 4 sweeps of zebra ADI, from level 0 on. Besides,
// what the paper has not: iterations of Krylov methods with the cycle as preconditioner.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <stratum/assembly/operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "studies.hpp"
#include "support/program.hpp"
#include "support/table.hpp"
#include "support/timing.hpp"

namespace stratum::apps {

namespace {

struct Accuracy {
  int level;
  double single_error, double_error;
};
constexpr Accuracy table1[] = {
    {2, 7.1663649e-2, 7.1663606e-2}, {3, 1.7802522e-2, 1.7802586e-2}, {4, 4.4428836e-3, 4.4429161e-3},
    {5, 1.1103626e-3, 1.1102363e-3}, {6, 2.7897810e-4, 2.7752805e-4}, {7, 5.5209742e-5, 6.9380191e-5},
    {8, 2.8037403e-5, 1.7344895e-5}, {9, 2.2419906e-4, 4.3362264e-6}, {10, 1.0585913e-3, 1.0841185e-6}};

// Tables 2 to 4. `exact` is not the paper's: the error of the discrete solution by a scaled sparse direct solver with
// refinement. Iterations a:b are a outer and b inner ones in all, for 1, 2 and 3 inner cycles and for 1, 2 and 3 inner digits.
struct Published {
  const char* mesh;
  int level;
  double cpu_double, gpu_mixed, exact;
  int double_iterations;
  const char* cycles[3];
  const char* digits[3];
};
constexpr Published tables234[] = {
    {"U1", 8, 1.7344895e-5, 1.7344902e-5, 1.7344897e-5, 5, {"5:5", "3:6", "3:9"}, {"5:5", "3:6", "3:6"}},
    {"U1", 9, 4.3362264e-6, 4.3362292e-6, 0, 5, {"5:5", "3:6", "3:9"}, {"5:5", "4:7", "3:6"}},
    {"U2", 8, 1.6946217e-5, 1.6946281e-5, 1.6946284e-5, 5, {"6:6", "3:6", "3:9"}, {"6:6", "4:7", "3:7"}},
    {"U2", 9, 4.2365330e-6, 4.2363011e-6, 0, 6, {"6:6", "3:6", "3:9"}, {"6:6", "4:7", "3:7"}},
    {"U3", 8, 1.6603963e-5, 1.6603650e-5, 1.6603654e-5, 5, {"5:5", "3:6", "3:9"}, {"5:5", "3:5", "3:7"}},
    {"U3", 9, 4.1508011e-6, 4.1504573e-6, 0, 4, {"5:5", "3:6", "3:9"}, {"5:5", "3:5", "3:7"}},
    {"A1", 8, 2.2559231e-5, 2.2559230e-5, 2.2559218e-5, 6, {"5:5", "3:6", "3:9"}, {"5:5", "3:6", "3:7"}},
    {"A1", 9, 5.6398002e-6, 5.6397099e-6, 0, 6, {"6:6", "3:6", "3:9"}, {"6:6", "3:6", "3:6"}},
    {"A2", 8, 3.3671244e-5, 3.3671243e-5, 3.3671241e-5, 6, {"6:6", "3:6", "2:6"}, {"6:6", "3:6", "2:7"}},
    {"A2", 9, 8.4177915e-6, 8.4177905e-6, 0, 6, {"6:6", "3:6", "3:9"}, {"6:6", "3:6", "3:7"}},
    {"A3", 8, 4.9063089e-5, 4.9063092e-5, 4.9063091e-5, 6, {"6:6", "3:6", "3:9"}, {"6:6", "3:6", "3:7"}},
    {"A3", 9, 1.2265724e-5, 1.2265727e-5, 0, 6, {"6:6", "3:6", "3:9"}, {"6:6", "3:6", "3:9"}},
    {"A4", 8, 6.3654794e-5, 6.3654654e-5, 6.3654675e-5, 8, {"8:8", "4:8", "3:9"}, {"5:8", "3:8", "3:11"}},
    {"A4", 9, 1.5913491e-5, 1.5913506e-5, 0, 9, {"8:8", "5:10", "3:9"}, {"5:8", "4:11", "3:11"}},
    {"A5", 8, 6.6448219e-5, 6.6447308e-5, 6.6448041e-5, 10, {"11:11", "6:12", "4:12"}, {"6:11", "4:13", "3:15"}},
    {"A5", 9, 1.6612151e-5, 1.6612856e-5, 0, 11, {"11:11", "6:12", "4:12"}, {"6:11", "4:13", "3:14"}}};

// Tables 5 and 6, one core of a Core2 Duo E6750 beside a GeForce GTX 280: double on both, mixed on both, double on the CPU
// beside mixed on the GPU, double beside mixed on the GPU; 0 where the paper has none.
struct Speedup {
  const char* mesh;
  int level;
  double time[4], time_per_digit[4];
};
constexpr Speedup tables56[] = {
    {"U1", 8, {3.25, 3.89, 5.41, 1.66}, {3.25, 3.92, 6.38, 1.96}}, {"U1", 9, {0, 9.69, 12.21, 0}, {0, 9.71, 16.43, 0}},
    {"U2", 8, {3.10, 3.77, 5.49, 1.77}, {3.10, 3.77, 6.26, 2.02}}, {"U2", 9, {0, 9.66, 14.72, 0}, {0, 9.72, 16.94, 0}},
    {"U3", 8, {3.15, 3.78, 5.28, 1.67}, {3.13, 3.72, 5.59, 1.78}}, {"U3", 9, {0, 9.64, 17.04, 0}, {0, 9.36, 15.09, 0}},
    {"A1", 8, {3.26, 3.75, 5.27, 1.62}, {3.26, 3.76, 6.17, 1.89}}, {"A1", 9, {0, 9.48, 16.66, 0}, {0, 9.36, 15.94, 0}},
    {"A2", 8, {3.26, 3.64, 6.49, 1.99}, {3.26, 3.64, 6.45, 1.98}}, {"A2", 9, {0, 9.60, 17.21, 0}, {0, 9.62, 16.95, 0}},
    {"A3", 8, {3.25, 3.76, 6.38, 1.96}, {3.24, 3.74, 6.25, 1.93}}, {"A3", 9, {0, 9.82, 17.58, 0}, {0, 9.79, 16.78, 0}},
    {"A4", 8, {3.18, 3.67, 6.56, 2.06}, {3.17, 3.60, 6.44, 2.03}}, {"A4", 9, {0, 8.76, 12.62, 0}, {0, 8.93, 15.22, 0}},
    {"A5", 8, {2.91, 3.17, 4.39, 1.51}, {3.03, 3.11, 5.16, 1.70}}, {"A5", 9, {0, 9.58, 14.77, 0}, {0, 9.56, 16.97, 0}}};

// Figure 2 is a plot; the text gives the largest numbers, in single and in double precision.
constexpr const char* figure2_axpy_gb[] = {"120", "123"};
constexpr const char* figure2_defect_gflop[] = {"46.4", "18.5"};

// Figures 5 and 6 are plots; what the text gives in numbers is the time of the Jacobi and the ADI smoother to each other:
// on U1 ADI takes 2.3 times as long, on A2 Jacobi more than 14 times.
constexpr const char* figure5_adi_to_jacobi = "2.3";
constexpr const char* figure6_jacobi_to_adi = "> 14";

/// The row of a table for a mesh and level, or null.
template <class Row, std::size_t rows>
const Row* published(const Row (&table)[rows], const std::string& mesh, int level) {
  const Row* end = std::end(table);
  const Row* found =
      std::find_if(std::begin(table), end, [&](const Row& r) { return r.mesh == mesh && r.level == level; });
  return found == end ? nullptr : found;
}

struct Result {
  SolveReport report;
  double error = 0;
};

/// V-cycles with 4 + 4 sweeps of zebra ADI to eight digits, unless `params` says otherwise; the fastest of `repeats`.
Result solve(Context& ctx, const std::string& mesh_name, int level, PoissonSolverParams params, int repeats = 1) {
  progress(message(mesh_name, " level ", level, " ...\r"));
  params.stop.rtol = 1e-8;
  params.retry_in_double = false;
  params.multigrid.sweeps = 4;
  params.multigrid.exact_below = 0;  // the paper's cycles go down to level 0
  const auto mesh = make_mesh(mesh_family(mesh_name), level);
  PoissonSolver solver(ctx, mesh, params);
  Field<double> b(ctx, mesh.unknowns());
  assemble_load(ctx, mesh, {}, b);
  Result result;
  for (int k = 0; k < repeats; ++k) {
    Field<double> x(ctx, mesh.unknowns());
    auto report = solver.solve(ctx, b.cview(), x.view());
    if (k == 0 || report.solve_seconds < result.report.solve_seconds) result.report = std::move(report);
    if (k == 0) result.error = relative_l2_error(ctx, mesh, {}, x).value_or(std::nan(""));
  }
  progress("");
  return result;
}

PoissonSolverParams with(Precision precision, InnerStop inner = {}) {
  PoissonSolverParams params;
  params.precision = precision;
  params.inner = inner;
  return params;
}

/// A count, marked where the tolerance was not reached.
std::string iterations(const SolveReport& report, bool with_inner) {
  return message(report.iterations, with_inner ? message(":", report.inner_iterations) : "",
                 report.status == Status::converged ? "" : "!");
}

/// In single precision twice: with stored bands, as the paper, and with the tensor operator, whose residual takes differences
/// of neighbours before it multiplies and so loses far less to rounding.
void print_table1(Context& ctx, const StudySelection& selection) {
  const Table table(
      selection.csv,
      "Table 1: relative L2 error on U1, residual reduced by 1e-8. With stored bands single "
      "precision fails, and only "
      "the error shows it",
      {"level", "single bands", "ratio", "paper single", "single tensor", "ratio", "double", "ratio", "paper double"});
  double coarser[3] = {};
  for (const auto& row : table1) {
    if (row.level > selection.level) break;
    auto bands = with(Precision::single);
    bands.format = StorageFormat::nine_band;
    std::vector<std::string> cells{message(row.level)};
    const PoissonSolverParams cases[] = {bands, with(Precision::single), with(Precision::full)};
    for (std::size_t k = 0; k < 3; ++k) {
      const double error = solve(ctx, "U1", row.level, cases[k]).error;
      cells.push_back(scientific(error));
      cells.push_back(coarser[k] == 0 ? "" : ratio(coarser[k], error));
      coarser[k] = error;
      if (k == 0) cells.push_back(scientific(row.single_error));
      if (k == 2) cells.push_back(scientific(row.double_error));
    }
    table.row(cells);
  }
}

void print_table2(Context& ctx, const StudySelection& selection) {
  const Table table(
      selection.csv,
      "Table 2: relative L2 error, residual reduced by 1e-8 ('exact': of the discrete solution, by a direct "
      "solver)",
      {"mesh", "level", "double", "paper double", "mixed", "paper mixed", "exact"}, 13);
  for (const auto& family : named_meshes())
    for (int level = std::min(8, selection.level); level <= selection.level; ++level) {
      const auto* paper = published(tables234, family.name, level);
      const auto high = solve(ctx, family.name, level, with(Precision::full)),
                 mixed = solve(ctx, family.name, level, with(Precision::mixed));
      table.row({family.name, message(level), scientific(high.error),
                 scientific(paper != nullptr ? paper->cpu_double : 0), scientific(mixed.error),
                 scientific(paper != nullptr ? paper->gpu_mixed : 0), scientific(paper != nullptr ? paper->exact : 0)});
    }
}

/// Table 3 (a fixed number of inner cycles) and Table 4 (inner digits).
void print_table34(Context& ctx, const StudySelection& selection, bool digits) {
  const std::string unit = digits ? "digit" : "cycle";
  const Table table(
      selection.csv,
      digits ? "Table 4: iterations to 1e-8, mixed precision, inner cycles to a number of digits ('outer:inner')"
             : "Table 3: iterations to 1e-8, mixed precision, a number of inner cycles ('outer:inner')",
      {"mesh", "level", "double", "paper", "1 " + unit, "paper", "2 " + unit + "s", "paper", "3 " + unit + "s",
       "paper"});
  for (const auto& family : named_meshes())
    for (int level = std::min(8, selection.level); level <= selection.level; ++level) {
      const auto* paper = published(tables234, family.name, level);
      std::vector<std::string> row{family.name, message(level),
                                   iterations(solve(ctx, family.name, level, with(Precision::full)).report, false),
                                   paper != nullptr ? message(paper->double_iterations) : ""};
      for (int n = 1; n <= 3; ++n) {
        InnerStop inner;
        if (digits)
          inner.rtol = std::pow(10.0, -n);
        else
          inner.cycles = n;
        row.push_back(iterations(solve(ctx, family.name, level, with(Precision::mixed, inner)).report, true));
        row.emplace_back(paper == nullptr ? "" : (digits ? paper->digits : paper->cycles)[n - 1]);
      }
      table.row(row);
    }
}

/// Time per unknown per digit with each smoother, mixed precision gaining two digits between updates.
void print_figure(Context& ctx, const StudySelection& selection, int number) {
  const bool square = number == 5;
  const std::string mesh = square ? "U1" : "A2";
  const double damping = square ? 0.7 : 0.6;
  const Table table(
      selection.csv,
      message("Figure ", number, ": ", mesh,
              ", seconds per unknown per digit, mixed precision, two digits between updates (", ctx.description(),
              "; jacobi damped by ", damping, ")"),
      {"level", "jacobi", "its", "colour_gs", "its", "adi", "its", square ? "adi / jacobi" : "jacobi / adi", "paper"},
      8);
  for (int level = std::min(8, selection.level); level <= selection.level; ++level) {
    std::vector<std::string> row{message(level)};
    std::vector<double> seconds;
    for (const char* smoother : {"jacobi", "colour_gs", "adi"}) {
      InnerStop inner;
      inner.rtol = 1e-2;
      auto params = with(Precision::mixed, inner);
      params.multigrid.smoother = smoother;
      if (std::string_view(smoother) == "jacobi") params.multigrid.smoother_params.damping = damping;
      const auto [report, error] = solve(ctx, mesh, level, params, 3);
      const auto unknowns = static_cast<double>(make_mesh(mesh_family(mesh), level).unknowns().nodes());
      seconds.push_back(report.solve_seconds / (unknowns * report.digits()));
      row.push_back(scientific(seconds.back(), 2));
      row.push_back(iterations(report, true));
    }
    const double ratio = square ? seconds[2] / seconds[0] : seconds[0] / seconds[2];
    row.push_back(message(std::round(10 * ratio) / 10));
    row.emplace_back(square ? figure5_adi_to_jacobi : figure6_jacobi_to_adi);
    table.row(row);
  }
}

/// Double beside mixed precision that gains two digits between updates, CPU beside GPU where there is one. Table 6 counts time
/// per unknown per digit.
void print_table56(const Machine& machine, const StudySelection& selection, bool per_digit) {
  Context cpu(Backend::cpu, machine.threads);
  std::optional<Context> gpu;
  if (machine.backend == Backend::cuda) gpu.emplace(Backend::cuda);
  const Table table(selection.csv,
                    message("Table ", per_digit ? 6 : 5, ": how many times faster",
                            per_digit ? ", by time per unknown per digit" : "",
                            "; C and G are CPU and GPU, d and m double and mixed precision with two digits between "
                            "updates (",
                            cpu.description(), "; ", gpu ? gpu->description() : "no GPU", ")"),
                    {"mesh", "level", "Cd/Cm", "Cd/Gd", "paper", "Cm/Gm", "paper", "Cd/Gm", "paper", "Gd/Gm", "paper"});
  InnerStop two_digits;
  two_digits.rtol = 1e-2;
  for (const auto& family : named_meshes())
    for (int level = std::min(8, selection.level); level <= selection.level; ++level) {
      const auto time = [&](Context& ctx, Precision precision) {
        const auto report = solve(ctx, family.name, level, with(precision, two_digits), 5).report;
        return report.solve_seconds / (per_digit ? report.digits() : 1.0);
      };
      const double cd = time(cpu, Precision::full), cm = time(cpu, Precision::mixed);
      std::vector<std::string> row{family.name, message(level), ratio(cd, cm)};
      std::vector<std::string> measured(4);
      if (gpu) {
        const double gd = time(*gpu, Precision::full), gm = time(*gpu, Precision::mixed);
        measured = {ratio(cd, gd), ratio(cm, gm), ratio(cd, gm), ratio(gd, gm)};
      }
      const auto* paper = published(tables56, family.name, level);
      for (std::size_t k = 0; k < 4; ++k) {
        row.push_back(measured[k]);
        const double value = paper == nullptr ? 0 : (per_digit ? paper->time_per_digit : paper->time)[k];
        row.push_back(value == 0 ? "" : message(value));
      }
      table.row(row);
    }
}

/// y = alpha x + y and d = b - A x with nine bands, in both precisions.
void print_figure2(Context& ctx, const StudySelection& selection) {
  const Table table(selection.csv,
                    message("Figure 2: axpy and defect with nine bands on U1 (", ctx.description(),
                            "; the paper's are the largest on a GeForce GTX 280)"),
                    {"level", "axpy GB/s", "paper", "defect GFLOP/s", "paper", "axpy GB/s double", "paper",
                     "defect GFLOP/s double", "paper"});
  for (int level = 2; level <= selection.level; ++level) {
    const auto mesh = make_mesh(mesh_family("U1"), level);
    const auto nodes = static_cast<double>(mesh.unknowns().nodes());
    std::vector<std::string> row{message(level)};
    const auto measure = [&]<class T>(T /*number*/) {
      const auto a = assemble_laplace<T>(ctx, mesh, StorageFormat::nine_band);
      Operands<T> v(ctx, a.shape());
      const auto seconds = [&](const auto& kernel) { return seconds_per_call(ctx, wall_seconds, v, kernel); };
      const double axpy_seconds = seconds([&] { axpy<T, T>(ctx, 1e-3, v.b.cview(), v.x.view()); });
      const double defect_seconds = seconds([&] { a.residual(ctx, v.b.cview(), v.x.cview(), v.r.view()); });
      const std::size_t k = sizeof(T) == 8 ? 1 : 0;
      const bool largest = level == selection.level;
      row.push_back(message(std::round(10 * 3e-9 * sizeof(T) * nodes / axpy_seconds) / 10));
      row.emplace_back(largest ? figure2_axpy_gb[k] : "");
      row.push_back(message(std::round(10 * 18e-9 * nodes / defect_seconds) / 10));
      row.emplace_back(largest ? figure2_defect_gflop[k] : "");
    };
    measure(float());
    measure(double());
    table.row(row);
  }
}

/// Not of the paper: what the cycle does alone and as the preconditioner of Krylov methods.
void print_krylov(Context& ctx, const StudySelection& selection) {
  std::vector<std::string> header{"mesh", "smoother", "level"};
  for (const auto method : values_of<Method>) header.emplace_back(to_string(method));
  const Table table(
      selection.csv,
      "Iterations to 1e-8, mixed precision, 4 + 4 sweeps; a bicgstab iteration has two cycles, the others "
      "one",
      header, 5);
  for (const auto& family : named_meshes())
    for (const char* smoother : {"jacobi", "colour_gs", "adi"}) {
      // Point smoothers where they stall, and not where nothing helps.
      const bool rescue = family.name == "U2" || family.name == "A1";
      if (!rescue && std::string_view(smoother) != "adi") continue;
      for (int level = std::min(8, selection.level); level <= selection.level; ++level) {
        std::vector<std::string> row{family.name, smoother, message(level)};
        for (const auto method : values_of<Method>) {
          auto params = with(Precision::mixed);
          params.method = method;
          params.multigrid.smoother = smoother;
          params.stop.max_iterations = 1000;
          row.push_back(iterations(solve(ctx, family.name, level, params).report, false));
        }
        table.row(row);
      }
    }
}

}  // namespace

void print_multigrid_study(const Machine& machine, const StudySelection& selection) {
  Context ctx = machine.context();
  if (selection.krylov) print_krylov(ctx, selection);
  if (selection.has_table(1)) print_table1(ctx, selection);
  if (selection.has_table(2)) print_table2(ctx, selection);
  if (selection.has_table(3)) print_table34(ctx, selection, false);
  if (selection.has_table(4)) print_table34(ctx, selection, true);
  // Speed-ups want both; without a GPU they are printed when asked for.
  for (const int table : {5, 6})
    if (selection.table == table || (selection.all() && ctx.on_gpu())) print_table56(machine, selection, table == 6);
  for (const int figure : {2, 5, 6})
    if (selection.has_figure(figure))
      figure == 2 ? print_figure2(ctx, selection) : print_figure(ctx, selection, figure);
}

}  // namespace stratum::apps
