// krylov: solves A x = b for a matrix from a Matrix Market file, or a generated one, by any method and preconditioner of the
// library. --help explains; the file is parse, make the system, solve, print, write, in that order.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>

#include <stratum/assembly/operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/io/matrix_market.hpp>
#include <stratum/core/operators/band_matrix.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/row_scales.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/inner_solve.hpp>
#include <stratum/solvers/jacobi_sweeps.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/preconditioner.hpp>
#include <stratum/solvers/preconditioners/jacobi.hpp>
#include <stratum/solvers/solver.hpp>
#include <stratum/version.h>

#include "support/program.hpp"
#include "support/progress.hpp"
#include "support/solve_output.hpp"
#include "support/timing.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;

enum class Storage : std::uint8_t { automatic, band, csr };

struct Settings {
  std::string matrix, rhs;
  std::string problem;
  Storage storage = Storage::automatic;
  std::string method;  // empty: by the matrix
  int restart = SolverParams{}.restart;
  std::string preconditioner;  // empty: none
  IncompleteCholeskyParams incomplete_cholesky;
  IncompletePoissonForm incomplete_poisson = IncompletePoissonForm::scaled;
  MultigridParams multigrid;
  int sweeps = 2;     // of multigrid: as a preconditioner few do
  std::string inner;  // empty: none; "jacobi": sweeps
  StoppingParams inner_stop;
  SweepTest sweep_test = SweepTest::residual;
  StoppingParams stop;
  bool tolerance_asked_for = false;  // or below what the precision asked for can reach
  bool single = false, inner_single = false;
  Machine machine;
  bool quiet = false;
};

// --- preconditioners ----------------------------------------------------------------------------------------------------

/// Of the matrix, or of the mesh where it comes from one.
template <class T>
struct MakeMultigrid {
  MultigridParams params;
  std::optional<TensorMesh> mesh;

  std::unique_ptr<Preconditioner<T>> operator()(Context& ctx, const GridShape& shape,
                                                const PreconditionerParams& of) const {
    if (mesh) return std::make_unique<Multigrid<T>>(ctx, mesh_hierarchy(*mesh), StorageFormat::tensor, params);
    return std::make_unique<Multigrid<T>>(ctx, grid_operator(ctx, of.matrix, shape), params);
  }
};

PreconditionerRegistry preconditioners(const MultigridParams& multigrid = {},
                                       const std::optional<TensorMesh>& mesh = {}) {
  auto registry = builtin_preconditioners();
  registry.add({{.on_grid = true},
                "multigrid",
                "a multigrid cycle; the unknowns lie on a grid",
                MakeMultigrid<float>{multigrid, mesh},
                MakeMultigrid<double>{multigrid, mesh}});
  return registry;
}

// --- options ------------------------------------------------------------------------------------------------------------

CommandLine make_command_line() {
  const Settings defaults;
  return CommandLine(
      {{"System A x = b",
        {input_file("matrix", "FILE.mtx",
                    "A as a Matrix Market file: coordinate, real, integer or pattern, general or symmetric"),
         input_file("rhs", "FILE.mtx", "b as a Matrix Market file (b = A 1: the solution is one everywhere)"),
         {"problem", "NAME", "laplacian",
          "without --matrix: laplacian (five points), toeplitz (2 on the diagonal, 1 above, gamma two below) or mesh "
          "(bilinear elements on a named mesh)"},
         {"unknowns", "N|NX,NY", "100,100", "laplacian: unknowns in x and y, each 1 .. 46340"},
         {"epsilon", "X", "1", "laplacian: weight of the differences in y, above 0"},
         {"n", "N", "2048", "toeplitz: rows, 1 .. 100000000"},
         {"gamma", "X", "0.4", "toeplitz: gamma in [-10, 10]; the larger, the harder"},
         {"mesh", "NAME", "A3", "mesh: see poisson2d --list-meshes"},
         {"level", "N", "6", "mesh: 2^N x 2^N cells, N in 1 .. 12"},
         {"grid", "N|NX,NY", "",
          "with --matrix: its rows are the nodes of a grid, along x first, and couple neighbours alone; for multigrid"},
         {"storage", "NAME", "auto", "band, csr, or auto: bands where they take no more memory"}}},
       {"Method",
        {{"method", "NAME", "",
          "see --list-methods (cg for a symmetric matrix, fcg where an inner solve varies, gmres for others)"},
         {"restart", "N", plain(defaults.restart), "directions that gcr and gmres keep, 1 .. 10000"},
         {"rtol", "X", plain(defaults.stop.rtol), "stop when the residual has fallen below X ||b||, X in (0, 1)"},
         {"max-iterations", "N", "10000", "1 .. 1000000000"},
         {"precision", "NAME", "double", "double, or single: all of it in float"}}},
       {"Preconditioner",
        {{"preconditioner", "NAME", "none",
          "none, or see --list-preconditioners (jacobi, ic, block-ic, incomplete-poisson, multigrid)"},
         {"block-size", "N", plain(IncompleteCholeskyParams::usual_block_size),
          "block-ic: rows of a block, 1 .. 1000000000"},
         {"blocks", "N", "",
          "block-ic: so many blocks instead, 1 .. 1000000000 (n / 2 on n x n: two rows of the grid each)"},
         {"ic-shift", "X", plain(defaults.incomplete_cholesky.shift),
          "ic, block-ic: factorise A + X diag(A), X from 0 on, where a pivot is not positive"},
         {"ip-form", "NAME", "scaled",
          "incomplete-poisson: scaled by the diagonal, or printed, as published for a constant one"},
         {"smoother", "NAME", defaults.multigrid.smoother, "multigrid: see poisson2d --list-smoothers"},
         {"sweeps", "N", plain(defaults.sweeps), "multigrid: sweeps before and after, 1 .. 1000"},
         {"inner", "METHOD", "",
          "solve with A roughly instead, by a method of --list-methods or by jacobi sweeps: a preconditioner that "
          "varies. --preconditioner is then that of the inner solve"},
         {"inner-tolerance", "X", plain(JacobiSweepsParams{}.tolerance), "of the inner solve, in (0, 1)"},
         {"inner-max", "N", "1000", "iterations of the inner solve, 1 .. 1000000000"},
         {"inner-test", "NAME", std::string(to_string(defaults.sweep_test)),
          "jacobi sweeps stop by the residual, or by the increment of the solution"},
         {"inner-precision", "NAME", "", "of preconditioner and inner solve: double or single (that of --precision)"}}},
       machine_options(),
       {"Output",
        {output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
         output_file("history", "FILE.csv", "the residual after every iteration"),
         output_file("save-matrix", "FILE.mtx", "A as a Matrix Market file"),
         output_file("solution", "FILE.mtx", "x as a Matrix Market array"),
         {"quiet", "", "", "print errors only"}}}},
      {"Other",
       {input_file("config", "FILE", "read options from a file of lines like rtol=1e-10; the command line wins"),
        {"print-config", "", "", "print such a file for this command line, and stop"},
        {"list-methods", "", "", "list the methods and what they ask of the matrix"},
        {"list-preconditioners", "", "", "list the preconditioners, likewise"},
        {"help", "", "", "print this"},
        {"version", "", "", "print the version"}}});
}

constexpr const char* before_options =
    "Usage: krylov [OPTIONS]\n\n"
    "Solves a sparse linear system by a Krylov method. The matrix comes from a Matrix Market file (matrices of the\n"
    "SuiteSparse collection are such files) or is generated. Start with a symmetric matrix and\n"
    "--preconditioner block-ic, or with jacobi where the matrix is not symmetric; watch the residuals, and change one\n"
    "thing at a time. Rows are numbered from 1, as in the files.\n";

constexpr const char* examples =
    "Examples:\n"
    "  krylov                                                    five points, 100 x 100, conjugate gradients\n"
    "  krylov --preconditioner ic                                fewer than half of the iterations\n"
    "  krylov --matrix bcsstk18.mtx --preconditioner block-ic --ic-shift 0.01 --solution x.mtx\n"
    "  krylov --matrix orani678.mtx --rhs b.mtx --method bicgstab --preconditioner jacobi --history run.csv\n"
    "  krylov --problem mesh --mesh A5 --level 8 --preconditioner multigrid    10^11 times as long as wide, 9 "
    "iterations\n"
    "  krylov --problem toeplitz --gamma 0.8 --method gcr --inner jacobi --inner-test increment --inner-precision "
    "single\n"
    "  krylov --problem laplacian --unknowns 64,64 --save-matrix laplacian.mtx --quiet\n\n";

void list_methods() {
  for (const auto& [name, entry] : solver_entries()) std::printf("%-11s %s\n", name.c_str(), entry.description.c_str());
}

void list_preconditioners() {
  const auto registry = preconditioners();
  for (const auto& [name, entry] : registry.entries())
    std::printf("%-18s %s\n", name.c_str(), entry.description.c_str());
}

Settings parse_settings(const CommandLine& options) {
  Settings s;
  if (options.has("matrix")) s.matrix = options.text("matrix");
  if (options.has("rhs")) s.rhs = options.text("rhs");
  s.problem = options.text("problem");
  (void)choice<int>("--problem", s.problem, {{"laplacian", 0}, {"toeplitz", 0}, {"mesh", 0}});
  // An option of another system would be ignored without a word.
  const std::vector<std::pair<std::string, std::string>> owners{{"unknowns", "laplacian"}, {"epsilon", "laplacian"},
                                                                {"n", "toeplitz"},         {"gamma", "toeplitz"},
                                                                {"mesh", "mesh"},          {"level", "mesh"}};
  expects(s.matrix.empty() || !options.has("problem"), "--problem: --matrix gives the system already");
  expects(!options.has("grid") || !s.matrix.empty(), "--grid: belongs to --matrix");
  for (const auto& [name, owner] : owners)
    expects(!options.has(name) || (s.matrix.empty() && s.problem == owner), "--", name, ": belongs to --problem ",
            owner);

  s.storage = choice<Storage>("--storage", options.text("storage"),
                              {{"auto", Storage::automatic}, {"band", Storage::band}, {"csr", Storage::csr}});
  if (options.has("method")) s.method = parsed("--method", [&] { return solver_entry(options.text("method")).name; });
  s.restart = options.integer("restart", 1, 10000);
  s.stop.rtol = options.number("rtol", fraction);
  s.tolerance_asked_for = options.has("rtol") || options.text("precision") == "single";
  s.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000'000);
  const auto is_single = [&options](const std::string& name) {
    return choice<bool>("--" + name, options.text(name), {{"double", false}, {"single", true}});
  };
  s.single = is_single("precision");
  s.inner_single = options.has("inner-precision") ? is_single("inner-precision") : s.single;
  expects(s.inner_single || !s.single, "--inner-precision: cannot be double where --precision is single");

  std::vector<std::pair<std::string, std::string>> names{{"none", ""}};
  const auto registry = preconditioners();
  for (const auto& [name, entry] : registry.entries()) names.emplace_back(name, name);
  s.preconditioner = choice("--preconditioner", options.text("preconditioner"), names);
  const bool multigrid = s.preconditioner == "multigrid", block_ic = s.preconditioner == "block-ic";
  const std::tuple<const char*, bool, const char*> users[] = {
      {"smoother", multigrid, "multigrid"},
      {"sweeps", multigrid, "multigrid"},
      {"block-size", block_ic, "block-ic"},
      {"blocks", block_ic, "block-ic"},
      {"ic-shift", block_ic || s.preconditioner == "ic", "ic or block-ic"},
      {"ip-form", s.preconditioner == "incomplete-poisson", "incomplete-poisson"}};
  for (const auto& [name, used, owner] : users)
    expects(!options.has(name) || used, "--", name, ": belongs to --preconditioner ", owner);
  expects(!options.has("blocks") || !options.has("block-size"), "--blocks: --block-size gives them already");
  if (options.has("blocks"))
    s.incomplete_cholesky.blocks = options.integer("blocks", 1, 1'000'000'000);
  else if (block_ic)
    s.incomplete_cholesky.block_size = options.integer("block-size", 1, 1'000'000'000);
  s.incomplete_cholesky.shift = options.number("ic-shift", not_negative);
  s.incomplete_poisson = choice<IncompletePoissonForm>(
      "--ip-form", options.text("ip-form"),
      {{"scaled", IncompletePoissonForm::scaled}, {"printed", IncompletePoissonForm::printed}});
  s.multigrid.smoother = options.text("smoother");
  check_smoother("--smoother", s.multigrid.smoother);
  s.multigrid.sweeps = s.sweeps = options.integer("sweeps", 1, 1000);
  if (options.has("inner")) {
    s.inner = options.text("inner");
    if (s.inner != "jacobi") (void)parsed("--inner", [&] { return solver_entry(s.inner).name; });
    expects(s.inner != "jacobi" || s.preconditioner.empty(),
            "--inner jacobi: the sweeps have no preconditioner but the diagonal; leave out --preconditioner");
  }
  for (const char* name : {"inner-tolerance", "inner-max", "inner-test"})
    expects(!options.has(name) || !s.inner.empty(), "--", name,
            ": there is no inner solve; --inner METHOD asks for one");
  s.inner_stop.rtol = options.number("inner-tolerance", {0, 1, true, true});
  s.inner_stop.max_iterations = options.integer("inner-max", 1, 1'000'000'000);
  s.sweep_test = parsed("--inner-test", [&] { return sweep_test(options.text("inner-test")); });
  expects(!options.has("inner-test") || s.inner == "jacobi", "--inner-test: only --inner jacobi has a choice");

  s.machine = parse_machine(options);
  s.quiet = options.is_set("quiet");
  return s;
}

// --- the system ---------------------------------------------------------------------------------------------------------

struct System {
  std::string name;
  SparseRows a;
  bool symmetric = false;
  std::vector<double> b;
  bool solution_is_one = false;
  std::optional<GridShape> grid;   // whose nodes are the unknowns
  std::optional<TensorMesh> mesh;  // where its widths are known
};

SparseRows laplacian(int nx, int ny, double epsilon) {
  SparseRows a;
  a.rows = a.columns = nx * ny;
  a.start.reserve(static_cast<std::size_t>(a.rows) + 1);
  a.column.reserve(5 * static_cast<std::size_t>(a.rows));
  a.value.reserve(5 * static_cast<std::size_t>(a.rows));
  const auto add = [&a](int column, double value) {
    a.column.push_back(column);
    a.value.push_back(value);
  };
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const int row = j * nx + i;
      if (j > 0) add(row - nx, -epsilon);
      if (i > 0) add(row - 1, -1);
      add(row, 2 + 2 * epsilon);
      if (i + 1 < nx) add(row + 1, -1);
      if (j + 1 < ny) add(row + nx, -epsilon);
      a.start.push_back(static_cast<int>(a.value.size()));
    }
  return a;
}

/// Throws when a matrix that is to be generated leaves no room to solve. Counted is what is always there: its rows, b and x on
/// the host; the method's vectors on the backend, and the operator, which for multigrid on a mesh takes nothing.
void expect_room_for(const Context& ctx, const Settings& settings, const std::string& name, std::int64_t rows,
                     int entries_a_row) {
  const auto& method = solver_entry(settings.method.empty() ? "cg" : settings.method);
  const std::int64_t vectors = 2 + method.vectors + std::int64_t{settings.restart} * method.vectors_per_restart;
  const std::int64_t words = vectors + (settings.preconditioner == "multigrid" ? 0 : entries_a_row);
  const std::int64_t solving = rows * words * (settings.single ? 4 : 8);
  const std::int64_t row = 12 * entries_a_row + 4 + 2 * 8;  // entries and their columns, the row's start, b and x
  expect_room(ctx, message(name, " with ", rows, " rows"), rows * row + (ctx.on_gpu() ? 0 : solving), solving);
}

System make_system(const Context& ctx, const CommandLine& options, const Settings& settings) {
  System system;
  if (!settings.matrix.empty()) {
    system.name = settings.matrix;
    system.a = read_matrix_market(settings.matrix);
    expects(system.a.rows == system.a.columns, "--matrix: a system needs a square matrix, and '", settings.matrix,
            "' has ", system.a.rows, " rows and ", system.a.columns, " columns");
    if (options.has("grid")) {
      const auto [x, y] = parse_sizes(options.text("grid"));
      system.grid =
          GridShape{parse_integer("--grid", x, 1, system.a.rows), parse_integer("--grid", y, 1, system.a.rows)};
      expects(system.grid->nodes() == system.a.rows, "--grid: ", x, " x ", y, " unknowns, and the matrix has ",
              system.a.rows, " rows");
    }
  } else if (settings.problem == "toeplitz") {
    const double gamma = options.number("gamma", {-10, 10});
    const int n = options.integer("n", 1, 100'000'000);
    system.name = message("toeplitz, gamma ", gamma);
    expect_room_for(ctx, settings, system.name, n, gamma == 0 ? 2 : 3);
    system.a = toeplitz_rows(n, gamma);
  } else if (settings.problem == "laplacian") {
    const auto [x, y] = parse_sizes(options.text("unknowns"));
    const int nx = parse_integer("--unknowns", x, 1, 46340), ny = parse_integer("--unknowns", y, 1, 46340);
    expects(5 * std::int64_t{nx} * ny < std::numeric_limits<int>::max(), "--unknowns: ", nx, " x ", ny,
            " make more than 2^31 entries");
    const double epsilon = options.number("epsilon", positive);
    system.grid = GridShape{nx, ny};
    system.name = message("laplacian, ", nx, " x ", ny, ", epsilon ", epsilon);
    expect_room_for(ctx, settings, system.name, system.grid->nodes(), 5);
    system.a = laplacian(nx, ny, epsilon);
  } else {
    const auto family = parsed("--mesh", [&] { return mesh_family(options.text("mesh")); });
    const int level = options.integer("level", 1, 12);
    system.mesh = make_mesh(family, level);
    system.grid = system.mesh->unknowns();
    system.name = message("mesh ", family.name, ", level ", level);
    expect_room_for(ctx, settings, system.name, system.grid->nodes(), 9);
    Context host;
    system.a = sparse_rows(host, assemble_laplace<double>(host, *system.mesh, StorageFormat::tensor));
  }
  system.a.first_row = 1;
  system.symmetric = system.a.is_symmetric();
  const auto rows = static_cast<std::size_t>(system.a.rows);
  system.b.resize(rows);
  if (!settings.rhs.empty()) {
    system.b = read_matrix_market_vector(settings.rhs, system.a.rows);
  } else if (system.mesh) {
    // Ones are no solution to try on a stretched mesh: nearly all of A 1 would belong to its thinnest cells.
    Context host;
    Vector<double> load(host, *system.grid);
    assemble_load(host, *system.mesh, {}, load.view());
    copy_to_host(host, load.cview(), system.b.data());
  } else {
    system.solution_is_one = true;
    for (std::size_t i = 0; i < rows; ++i)
      for (auto k = static_cast<std::size_t>(system.a.start[i]); k < static_cast<std::size_t>(system.a.start[i + 1]);
           ++k)
        system.b[i] += system.a.value[k];
  }
  return system;
}

/// Throws where A is singular and no x brings ||b - A x|| below the tolerance: D A is symmetric for some d > 0 (most often 1), rows
/// of a connected part sum to zero, and d is no null vector of b^T there. The smallest residual is |d^T b| / ||d||.
void expects_a_solution(const System& system, const StoppingParams& stop) {
  const SparseRows& a = system.a;
  const auto scales = part_scales(a);
  if (!scales) return;
  struct Part {
    bool singular = true;
    int first = 0, rows = 0;
    double sum = 0, magnitude = 0, square = 0;
  };
  std::vector<Part> parts(static_cast<std::size_t>(scales->parts));
  double norm = 0;
  for (int i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    double sum = 0, size = 0;
    for (auto k = static_cast<std::size_t>(a.start[row]); k < static_cast<std::size_t>(a.start[row + 1]); ++k) {
      sum += a.value[k];
      size += std::abs(a.value[k]);
    }
    constexpr double rounding = 16 * std::numeric_limits<double>::epsilon();
    Part& part = parts[static_cast<std::size_t>(scales->part[row])];
    if (part.rows++ == 0) part.first = i;
    part.singular = part.singular && std::isfinite(size) && std::abs(sum) <= rounding * size;
    part.sum += scales->d[row] * system.b[row];
    part.magnitude += std::abs(scales->d[row] * system.b[row]);
    part.square += scales->d[row] * scales->d[row];
    norm += system.b[row] * system.b[row];
  }
  const double target = std::max(stop.rtol * std::sqrt(norm), stop.atol);
  double least = 0;
  const Part* worst = nullptr;
  for (const Part& part : parts) {
    const double residual = std::abs(part.sum) / std::sqrt(part.square);
    constexpr double rounding = 1e-13;
    if (!part.singular || !(std::abs(part.sum) > rounding * part.magnitude)) continue;
    least += residual * residual;
    if (worst == nullptr || residual > std::abs(worst->sum) / std::sqrt(worst->square)) worst = &part;
  }
  expects(!(std::sqrt(least) > target), "the matrix is singular and the system has no solution: the rows of the ",
          worst == nullptr ? 0 : worst->rows, " unknowns that row ", worst == nullptr ? 0 : worst->first + a.first_row,
          " is coupled to sum to zero, and the right-hand side there sums to ", worst == nullptr ? 0 : worst->sum, ", ",
          worst == nullptr ? 0 : worst->sum / worst->magnitude, " of its absolute sum; ||b - A x|| cannot fall below ",
          std::sqrt(least), ", and ", target, " is asked for");
}

// --- solving ------------------------------------------------------------------------------------------------------------

/// What nobody would call solved, whatever rounding there is, does not end as if it were.
int exit_code_of(const SolveReport& report, const Settings& settings) {
  constexpr double next_to_nothing = 1e-3;
  return exit_code(report.status, settings.tolerance_asked_for || !(report.relative_residual() <= next_to_nothing));
}

struct Plan {
  std::string method;
  Storage storage = Storage::csr;
  std::size_t diagonals = 0;
  GridShape shape;
  bool on_grid = false;  // vectors and operator of the mesh, for multigrid
};

Plan make_plan(const System& system, const Settings& settings) {
  Plan plan;
  plan.method = !settings.method.empty() ? settings.method
                : !system.symmetric      ? "gmres"
                : settings.inner.empty() ? "cg"
                                         : "fcg";
  for (const auto& [option, name] : {std::pair{"--method", plan.method}, {"--inner", settings.inner}})
    expects(name.empty() || name == "jacobi" || !solver_entry(name).symmetric || system.symmetric, option, " ", name,
            ": the matrix is not symmetric; use gcr, gmres or bicgstab");
  plan.diagonals = diagonals_of(system.a).size();
  plan.storage = settings.storage != Storage::automatic ? settings.storage
                 : bands_pay(system.a)                  ? Storage::band
                                                        : Storage::csr;
  plan.shape = GridShape::flat(system.a.rows);
  const bool constant_symmetric = solver_entry(plan.method).constant_symmetric;
  expects(!constant_symmetric || settings.inner.empty(), "--method ", plan.method,
          ": an inner solve varies from call to call; use fcg, gcr, gmres, bicgstab or richardson");
  if (settings.preconditioner.empty()) return plan;
  const auto registry = preconditioners();
  const auto& entry = registry.find(settings.preconditioner);
  expects(!entry.symmetric || system.symmetric, "--preconditioner ", entry.name,
          ": the matrix is not symmetric; use jacobi or none");
  if (entry.on_grid) {
    expects(system.grid.has_value(), "--preconditioner ", entry.name, ": the unknowns of '", system.name,
            "' must lie on a grid; --grid NX,NY says which");
    plan.on_grid = true;
    plan.shape = *system.grid;
  }
  return plan;
}

template <class T>
std::shared_ptr<LinearOperator<T>> make_operator(Context& ctx, const Plan& plan, const System& system,
                                                 const SparseRows& rows) {
  if (plan.on_grid && system.mesh)
    return std::make_shared<GridOperator<T>>(assemble_laplace<T>(ctx, *system.mesh, StorageFormat::tensor));
  if (plan.on_grid) return std::make_shared<GridOperator<T>>(convert<T>(ctx, grid_operator(ctx, rows, plan.shape)));
  if (plan.storage == Storage::band) return std::make_shared<BandMatrix<T>>(ctx, rows);
  return std::make_shared<CsrMatrix<T>>(ctx, rows);
}

/// What stands behind the outer iteration, in its own precision; null: nothing.
template <class T>
std::shared_ptr<Preconditioner<T>> make_preconditioner(Context& ctx, const System& system, const Settings& settings,
                                                       const Plan& plan) {
  std::shared_ptr<Preconditioner<T>> m;
  if (!settings.preconditioner.empty()) {
    MultigridParams multigrid = settings.multigrid;
    multigrid.symmetric = system.symmetric;
    m = parsed("--preconditioner " + settings.preconditioner, [&] {
      return preconditioners(multigrid, system.mesh)
          .make<T>(ctx, settings.preconditioner, plan.shape,
                   {system.a, settings.incomplete_cholesky, settings.incomplete_poisson});
    });
  }
  if (settings.inner.empty()) return m;
  const auto& stop = settings.inner_stop;
  if (settings.inner == "jacobi") {
    const JacobiSweepsParams params{stop.rtol, stop.max_iterations, settings.sweep_test};
    return std::make_shared<JacobiSweeps<T>>(ctx, make_operator<T>(ctx, plan, system, without_diagonal(system.a)),
                                             JacobiPreconditioner<T>(ctx, system.a), params);
  }
  std::shared_ptr<Solver<T>> solver = make_solver<T>(ctx, settings.inner, plan.shape, {settings.restart});
  return std::make_shared<InnerSolve<T>>(make_operator<T>(ctx, plan, system, system.a), solver, m, stop);
}

std::string grid_storage(const System& system) {
  const auto format = system.mesh        ? StorageFormat::tensor
                      : system.symmetric ? StorageFormat::symmetric
                                         : StorageFormat::nine_band;
  return std::string(to_string(format));
}

std::string describe_preconditioner(const Settings& settings) {
  if (settings.preconditioner.empty()) return "no preconditioner";
  if (settings.incomplete_cholesky.blocks > 0)
    return message("block-ic in ", settings.incomplete_cholesky.blocks, " blocks");
  if (settings.preconditioner == "block-ic")
    return message("block-ic with ", settings.incomplete_cholesky.block_size, " rows a block");
  if (settings.incomplete_poisson == IncompletePoissonForm::printed) return "incomplete-poisson as printed";
  if (settings.preconditioner == "multigrid")
    return message("multigrid, ", settings.multigrid.smoother, ", ", settings.sweeps, " + ", settings.sweeps,
                   " sweeps");
  return settings.preconditioner;
}

void print_heading(const Context& ctx, const System& system, const Settings& settings, const Plan& plan) {
  const auto rows = system.a.rows;
  std::printf("matrix    %s: %d rows, %lld entries, %ssymmetric; ", system.name.c_str(), rows,
              static_cast<long long>(system.a.entries()), system.symmetric ? "" : "not ");
  if (plan.on_grid)
    std::printf("%s operator\n", grid_storage(system).c_str());
  else if (plan.storage == Storage::band)
    std::printf("%zu bands\n", plan.diagonals);
  else
    std::printf("csr, %.1f entries a row\n", static_cast<double>(system.a.entries()) / rows);
  const auto precision = [](bool single) { return single ? "single" : "double"; };
  std::printf("solver    %s in %s precision; ", plan.method.c_str(), precision(settings.single));
  if (!settings.inner.empty())
    std::printf("inner %s to %g in %s precision%s", settings.inner.c_str(), settings.inner_stop.rtol,
                precision(settings.inner_single), settings.inner == "jacobi" ? "" : ", with ");
  if (settings.inner != "jacobi") {
    std::printf("%s", describe_preconditioner(settings).c_str());
    if (!settings.preconditioner.empty() && settings.inner.empty())
      std::printf(" in %s precision", precision(settings.inner_single));
  }
  std::printf("; %s\n\n", ctx.description().c_str());
}

struct Outcome {
  SolveReport report;
  std::vector<double> x;
  std::optional<double> error;  // max |x_i - 1|
};

/// ||b - A x|| in double.
double true_residual(Context& ctx, const System& system, const std::vector<double>& x) {
  std::vector<double> r = system.b;
  for (std::size_t i = 0; i < r.size(); ++i)
    for (auto k = static_cast<std::size_t>(system.a.start[i]); k < static_cast<std::size_t>(system.a.start[i + 1]); ++k)
      r[i] -= system.a.value[k] * x[static_cast<std::size_t>(system.a.column[k])];
  Vector<double> on_device(ctx, system.a.rows);
  copy_from_host(ctx, r.data(), on_device.view());
  return norm2(ctx, on_device.cview());
}

/// Outer iteration in T, the rest in Low.
template <class T, class Low>
Outcome solve_in(Context& ctx, const System& system, const Settings& settings, const Plan& plan) {
  const double begin = wall_seconds();
  const auto a = make_operator<T>(ctx, plan, system, system.a);
  const auto inside = make_preconditioner<Low>(ctx, system, settings, plan);
  std::shared_ptr<Preconditioner<T>> m;
  if constexpr (std::is_same_v<T, Low>)
    m = inside;
  else if (inside != nullptr)
    m = std::make_shared<PrecisionCast<T, Low>>(ctx, plan.shape, inside);
  const auto solver = make_solver<T>(ctx, plan.method, plan.shape, {settings.restart});
  Vector<T> b(ctx, plan.shape), x(ctx, plan.shape);
  // Float has a short range: a power of two brings b to the middle of it.
  double largest = 0;
  for (const double value : system.b) largest = std::max(largest, std::abs(value));
  const double scale = std::is_same_v<T, float> ? power_of_two_below_reciprocal(largest) : 1.0;
  std::vector<T> host;
  for (const double value : system.b) host.push_back(static_cast<T>(scale * value));
  copy_from_host(ctx, host.data(), b.view());
  StoppingParams stop = settings.stop;
  stop.atol *= scale;
  if (plan.method == "richardson") stop.patience = 1000;  // alone it is slow
  const double ready = wall_seconds();
  if (!settings.quiet) print_heading(ctx, system, settings, plan);
  Outcome outcome;
  Monitor table;
  Progress progress(!settings.quiet);
  if (!settings.quiet) {
    const double norm = norm2(ctx, b.cview()) / scale;
    table = with_progress(progress, settings.stop, norm, residual_table(stop.reference_norm, norm));
  }
  outcome.report = solver->solve(ctx, *a, m.get(), b.cview(), x.view(), stop,
                                 table ? Monitor([&](int it, double r) { table(it, r / scale); }) : Monitor{});
  progress.clear();
  ctx.synchronise();
  outcome.report.setup_seconds = ready - begin;
  outcome.report.solve_seconds = wall_seconds() - ready;
  copy_to_host(ctx, x.cview(), host.data());
  for (const T value : host) outcome.x.push_back(static_cast<double>(value) / scale);
  if (std::is_same_v<T, float>)
    judge_single_precision(outcome.report, settings.stop, scale, true_residual(ctx, system, outcome.x),
                           "use double precision outside");
  if (system.solution_is_one) {
    outcome.error = 0;
    for (const double value : outcome.x) outcome.error = std::max(*outcome.error, std::abs(value - 1));
  }
  return outcome;
}

// --- printing and writing -----------------------------------------------------------------------------------------------

/// Where every row sums to zero, up to this part of its entries: what the matrix is, and what becomes of b; else empty.
std::string why_singular(const System& system) {
  constexpr double digits_of_files = 1e-8;
  double largest = 0, sum_of_b = 0, magnitudes = 0;
  for (int i = 0; i < system.a.rows; ++i) {
    double sum = 0, entries = 0;
    for (auto k = static_cast<std::size_t>(system.a.start[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(system.a.start[static_cast<std::size_t>(i) + 1]); ++k) {
      sum += system.a.value[k];
      entries += std::abs(system.a.value[k]);
    }
    if (!(std::abs(sum) <= digits_of_files * entries)) return "";
    largest = std::max(largest, entries > 0 ? std::abs(sum) / entries : 0);
  }
  for (const double value : system.b) {
    sum_of_b += value;
    magnitudes += std::abs(value);
  }
  const std::string what =
      message("the matrix is singular: its rows sum to zero, up to ", largest, " of their entries");
  if (std::abs(sum_of_b) > Compatibility::negligible * magnitudes)
    return message(what, ", and b sums to ", sum_of_b, ", ", 100 * std::abs(sum_of_b) / magnitudes,
                   " % of the sum of its magnitudes: there is no solution; subtract the mean of b");
  return message(what, "; if that is the rounding of its file, write it with 17 digits");
}

/// What to try where a method for definite matrices broke down; empty where the matrix is not to blame. A direction of negative
/// curvature and a positive entry of the diagonal, which is another one's curvature, say that it is indefinite.
std::string advice(const System& system, const Plan& plan, const SolveReport& report) {
  const bool wants_definite = plan.method == "cg" || plan.method == "fcg" || plan.method == "cr";
  const bool failed = report.status == Status::breakdown || report.status == Status::stagnated ||
                      report.status == Status::diverged || report.status == Status::max_iterations;
  if (!failed || !system.symmetric) return "";
  if (std::string singular = why_singular(system); !singular.empty()) return singular;
  if (report.status != Status::breakdown || !wants_definite) return "";
  const auto diagonal = system.a.diagonal();
  const auto negative = std::count_if(diagonal.begin(), diagonal.end(), [](double d) { return d < 0; });
  const bool by_preconditioner = report.reason.find("preconditioner") != std::string::npos;
  if (by_preconditioner && negative == 0) return "";
  const std::string others = plan.method == "cr" ? "--method gmres" : "--method cr or gmres";
  if (negative < system.a.rows) return "the matrix is symmetric and indefinite: try " + others;
  // Gershgorin: no eigenvalue is above the largest sum of a row's diagonal and the magnitudes beside it.
  bool dominated = true;
  for (int i = 0; i < system.a.rows; ++i) {
    double sum = 0;
    for (auto k = static_cast<std::size_t>(system.a.start[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(system.a.start[static_cast<std::size_t>(i) + 1]); ++k)
      sum += system.a.column[k] == i ? system.a.value[k] : std::abs(system.a.value[k]);
    dominated = dominated && sum <= 0;
  }
  if (dominated) return "the matrix is negative definite: solve -A x = -b, or try " + others;
  return "the diagonal of the matrix is negative: solve -A x = -b where it is negative definite, else try " + others;
}

void print_outcome(const Outcome& outcome) {
  const auto& report = outcome.report;
  print_end(report, report.inner_iterations > 0);
  if (outcome.error) std::printf("error       %.3e (largest; the solution is one everywhere)\n", *outcome.error);
  std::printf("time        %.3g s set-up, %.3g s solve\n", report.setup_seconds, report.solve_seconds);
}

std::string json_report(const CommandLine& options, const Context& ctx, const System& system, const Settings& settings,
                        const Plan& plan, const Outcome& outcome) {
  const auto& report = outcome.report;
  JsonObject json;
  json.add("program", "krylov").add("version", STRATUM_VERSION);
  add_end(json, report, exit_code_of(report, settings));
  json.add("advice", advice(system, plan, report));
  json.add("rtol", settings.stop.rtol).add("largest_error", outcome.error.value_or(std::nan("")));
  json.add("matrix", system.name).add("rows", system.a.rows).add("entries", system.a.entries());
  json.add("symmetric", system.symmetric);
  json.add("storage", plan.on_grid ? grid_storage(system) : plan.storage == Storage::band ? "band" : "csr");
  json.add("method", plan.method).add("restart", settings.restart);
  json.add("precision", settings.single ? "single" : "double");
  json.add("preconditioner", options.text("preconditioner"));
  json.add("block_size", settings.incomplete_cholesky.block_size).add("blocks", settings.incomplete_cholesky.blocks);
  json.add("ic_shift", settings.incomplete_cholesky.shift).add("ip_form", options.text("ip-form"));
  json.add("inner", settings.inner.empty() ? "none" : settings.inner);
  json.add("inner_tolerance", settings.inner_stop.rtol).add("inner_max", settings.inner_stop.max_iterations);
  json.add("inner_test", options.text("inner-test"))
      .add("inner_precision", settings.inner_single ? "single" : "double");
  add_machine(json, ctx);
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("history", report.history);
  return json.text();
}

int run(const Settings& settings, const CommandLine& options, OutputFiles outputs) {
  Context ctx = settings.machine.context();
  outputs.check();
  const auto system = make_system(ctx, options, settings);
  const auto plan = make_plan(system, settings);
  expects_a_solution(system, settings.stop);
  const auto outcome = settings.single         ? solve_in<float, float>(ctx, system, settings, plan)
                       : settings.inner_single ? solve_in<double, float>(ctx, system, settings, plan)
                                               : solve_in<double, double>(ctx, system, settings, plan);
  const auto& report = outcome.report;
  const int code = exit_code_of(report, settings);
  const std::string proposal = advice(system, plan, report);
  if (!settings.quiet)
    print_outcome(outcome);
  else if (code != 0)
    print_failure("krylov", report);
  if (!proposal.empty()) (void)std::fprintf(stderr, "krylov: %s\n", proposal.c_str());
  // First what is small: a full disk shall not lose it.
  outputs.write_text("report", json_report(options, ctx, system, settings, plan, outcome));
  outputs.write_text("history", csv_history({&report, 1}));
  outputs.write("save-matrix", [&](const std::string& path) { write_matrix_market(path, system.a); });
  if (code != 3)  // there is a solution to show
    outputs.write("solution", [&](const std::string& path) { write_matrix_market(path, outcome.x); });
  if (!settings.quiet) outputs.print_written();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Program program{"krylov",
                  before_options,
                  message(examples, about_outputs, about_exit_codes),
                  make_command_line(),
                  {{"list-methods", list_methods}, {"list-preconditioners", list_preconditioners}},
                  [](const CommandLine& options) -> std::function<int()> {
                    return [settings = parse_settings(options), outputs = OutputFiles(options), &options] {
                      return run(settings, options, outputs);
                    };
                  }};
  return run_program(program, argc, argv);
}
