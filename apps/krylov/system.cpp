#include "system.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <stratum/assembly/operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/io/matrix_market.hpp>
#include <stratum/core/operators/band_matrix.hpp>
#include <stratum/core/operators/both_triangles.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/row_scales.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/solvers/solver.hpp>

#include "support/solve_output.hpp"

namespace stratum::apps::krylov {

namespace {

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

/// Of a square matrix that has entries on one side of its diagonal alone which side that is; else empty.
std::string only_triangle(const SparseRows& a) {
  bool lower = false, upper = false;
  for (int i = 0; i < a.rows; ++i)
    for (auto k = static_cast<std::size_t>(a.start[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.start[static_cast<std::size_t>(i) + 1]); ++k) {
      lower = lower || (a.column[k] < i && a.value[k] != 0);
      upper = upper || (a.column[k] > i && a.value[k] != 0);
    }
  return lower == upper ? "" : lower ? "lower" : "upper";
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

}  // namespace

System make_system(const Context& ctx, const CommandLine& options, const Settings& settings) {
  System system;
  if (!settings.matrix.empty()) {
    system.name = settings.matrix;
    auto read = read_matrix_market_system(settings.matrix);
    system.a = std::move(read.a);
    system.b = std::move(read.rhs);
    expects(system.a.rows == system.a.columns, "--matrix: a system needs a square matrix, and '", settings.matrix,
            "' has ", system.a.rows, " rows and ", system.a.columns, " columns");
    if (options.has("grid")) {
      const auto [x, y] = parse_sizes<2>("--grid", options.text("grid"));
      system.grid =
          GridLayout<2>{parse_integer("--grid", x, 1, system.a.rows), parse_integer("--grid", y, 1, system.a.rows)};
      expects(system.grid->nodes() == system.a.rows, "--grid: ", x, " x ", y, " unknowns, and the matrix has ",
              system.a.rows, " rows");
    }
    if (const auto half = only_triangle(system.a); !half.empty()) {
      expects(!settings.triangle.empty(), "--matrix: '", settings.matrix, "' has the ", half,
              " triangle alone, and is not said to be symmetric; --triangle symmetric takes it for half of a symmetric "
              "matrix, --triangle general for all there is");
      if (settings.triangle == "symmetric")
        system.a = with_both_triangles<int>(system.a.start, system.a.column, system.a.value);
    } else {
      expects(settings.triangle.empty(), "--triangle: '", settings.matrix,
              "' has entries on both sides of its diagonal, "
              "or on none; leave it out");
    }
  } else if (settings.problem == "toeplitz") {
    const double gamma = options.number("gamma", {-10, 10});
    const int n = options.integer("n", 1, 100'000'000);
    system.name = message("toeplitz, gamma ", gamma);
    expect_room_for(ctx, settings, system.name, n, gamma == 0 ? 2 : 3);
    system.a = toeplitz_rows(n, gamma);
  } else if (settings.problem == "laplacian") {
    const auto [x, y] = parse_sizes<2>("--unknowns", options.text("unknowns"));
    const int nx = parse_integer("--unknowns", x, 1, 46340), ny = parse_integer("--unknowns", y, 1, 46340);
    expects(5 * std::int64_t{nx} * ny < std::numeric_limits<int>::max(), "--unknowns: ", nx, " x ", ny,
            " make more than 2^31 entries");
    const double epsilon = options.number("epsilon", positive);
    system.grid = GridLayout<2>{nx, ny};
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
  if (!settings.rhs.empty()) {
    system.b = read_matrix_market_vector(settings.rhs, system.a.rows);
  } else if (!system.b.empty()) {  // behind the matrix
  } else if (system.mesh) {
    // Ones are no solution to try on a stretched mesh: nearly all of A 1 would belong to its thinnest cells.
    Context host;
    Field<double> load(host, *system.grid);
    assemble_load(host, *system.mesh, {}, load);
    system.b.resize(rows);
    copy_to_host(host, load.cview(), system.b.data());
  } else {
    system.solution_is_one = true;
    system.b.resize(rows);
    for (std::size_t i = 0; i < rows; ++i)
      for (auto k = static_cast<std::size_t>(system.a.start[i]); k < static_cast<std::size_t>(system.a.start[i + 1]);
           ++k)
        system.b[i] += system.a.value[k];
  }
  // What is negative definite has a negative diagonal; of what is not, methods for definite matrices say so of -A, too.
  const auto diagonal = system.a.diagonal();
  system.negated = system.symmetric && std::all_of(diagonal.begin(), diagonal.end(), [](double d) { return d < 0; });
  if (system.negated)
    for (auto* numbers : {&system.a.value, &system.b})
      for (double& value : *numbers) value = -value;
  return system;
}

SparseRows given_matrix(const System& system) {
  SparseRows a = system.a;
  for (double& value : a.value) value = system.negated ? -value : value;
  return a;
}

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
          " is coupled to sum to zero, and the right-hand side there sums to ", worst == nullptr ? 0 : worst->sum,
          " (its absolute values to ", worst == nullptr ? 0 : worst->magnitude, "); ||b - A x|| cannot fall below ",
          std::sqrt(least), ", and ", target, " is asked for");
}

}  // namespace stratum::apps::krylov
