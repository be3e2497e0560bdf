#include "system.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <stratum/assembly/operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/io/matrix_market.hpp>
#include <stratum/core/operators/band_matrix.hpp>
#include <stratum/core/operators/both_triangles.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/row_scales.hpp>
#include <stratum/mesh/grid_lines.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/solvers/solver.hpp>

#include "support/solve_output.hpp"

namespace stratum::apps::krylov {

namespace {

/// Of five points, seven in a box; `epsilon` is the weight of the last direction.
SparseRows laplacian(const std::array<int, 3>& n, double epsilon) {
  const auto [nx, ny, nz] = n;
  const bool in_box = nz > 1;
  const double of_y = in_box ? 1 : epsilon, diagonal = 2 + 2 * epsilon + (in_box ? 2 : 0);
  SparseRows a;
  a.rows = a.columns = nx * ny * nz;
  a.start.reserve(static_cast<std::size_t>(a.rows) + 1);
  const std::size_t entries = (in_box ? 7 : 5) * static_cast<std::size_t>(a.rows);
  a.column.reserve(entries);
  a.value.reserve(entries);
  const auto add = [&a](int column, double value) {
    a.column.push_back(column);
    a.value.push_back(value);
  };
  int row = 0;
  for (int k = 0; k < nz; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i, ++row) {
        if (k > 0) add(row - nx * ny, -epsilon);
        if (j > 0) add(row - nx, -of_y);
        if (i > 0) add(row - 1, -1);
        add(row, diagonal);
        if (i + 1 < nx) add(row + 1, -1);
        if (j + 1 < ny) add(row + nx, -of_y);
        if (k + 1 < nz) add(row + nx * ny, -epsilon);
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

/// Rows by their coordinates, x, y and z or x and y, which are all nodes of a tensor-product grid.
RowsInBox rows_at(const std::string& path, int rows) {
  const SparseRows points = read_matrix_market(path);
  expects(points.rows == rows && (points.columns == 2 || points.columns == 3), "--coordinates: '", path, "' is ",
          points.rows, " x ", points.columns, ", and x, y and z, or x and y, of ", rows, " rows are asked for");
  RowsInBox box;
  box.numbering.assign(static_cast<std::size_t>(rows), 0);
  double nodes = 1;
  std::vector<double> of_rows(static_cast<std::size_t>(rows));
  for (int d = 2; d >= 0; --d) {
    for (int k = 0; k < rows; ++k) {
      double& s = of_rows[static_cast<std::size_t>(k)];
      s = d < points.columns ? points.at(k, d) : 0;
      expects(std::isfinite(s), "--coordinates: row ", k + 1, " of '", path, "' holds ", s);
    }
    const GridLines lines(of_rows);
    const int n = box.n[static_cast<std::size_t>(d)] = lines.size();
    nodes *= n;
    if (nodes <= rows)
      for (std::size_t k = 0; k < of_rows.size(); ++k)
        box.numbering[k] = box.numbering[k] * n + lines.index(of_rows[k]);
  }
  expects(nodes == rows, "--coordinates: '", path, "' has ", box.n[0], " different x, ", box.n[1], " y and ", box.n[2],
          " z, which make ", nodes, " nodes of a grid, and the matrix has ", rows,
          " rows: multigrid is for all nodes of a tensor-product grid");
  return box;
}

/// Where rows of a file lie, if that is said.
void place_rows(System& system, const Settings& settings) {
  const int rows = system.a.rows;
  if (!settings.coordinates.empty()) {
    system.box = rows_at(settings.coordinates, rows);
  } else if (settings.in_box) {
    const auto sizes = parse_sizes<3>("--grid", settings.grid);
    RowsInBox box;
    double nodes = 1;
    for (std::size_t d = 0; d < 3; ++d) nodes *= box.n[d] = parse_integer("--grid", sizes[d], 1, rows);
    expects(nodes == rows, "--grid: ", sizes[0], " x ", sizes[1], " x ", sizes[2], " unknowns, and the matrix has ",
            rows, " rows");
    system.box = std::move(box);
  } else if (!settings.grid.empty()) {
    const auto [x, y] = parse_sizes<2>("--grid", settings.grid);
    system.grid = GridLayout<2>{parse_integer("--grid", x, 1, rows), parse_integer("--grid", y, 1, rows)};
    expects(system.grid->nodes() == rows, "--grid: ", x, " x ", y, " unknowns, and the matrix has ", rows, " rows");
  }
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
    place_rows(system, settings);
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
    const auto text = options.text("unknowns");
    const bool in_box = Settings::are_of_box(text);
    std::array<int, 3> n{1, 1, 1};
    double entries = in_box ? 7 : 5;
    const auto take = [&](const auto& sizes) {
      for (std::size_t d = 0; d < sizes.size(); ++d) entries *= n[d] = parse_integer("--unknowns", sizes[d], 1, 46340);
    };
    in_box ? take(parse_sizes<3>("--unknowns", text)) : take(parse_sizes<2>("--unknowns", text));
    const std::string size = message(n[0], " x ", n[1], in_box ? message(" x ", n[2]) : "");
    expects(entries < std::numeric_limits<int>::max(), "--unknowns: ", size, " make more than 2^31 entries");
    expects(!in_box || n[2] > 1, "--unknowns: a box has at least two unknowns in z; ", n[0], ",", n[1],
            " makes a rectangle");
    const double epsilon = options.number("epsilon", positive);
    const int rows = n[0] * n[1] * n[2];
    if (in_box)
      system.box = RowsInBox{n, {}};
    else
      system.grid = GridLayout<2>{n[0], n[1]};
    system.name = message("laplacian, ", size, ", epsilon ", epsilon);
    expect_room_for(ctx, settings, system.name, rows, in_box ? 7 : 5);
    system.a = laplacian(n, epsilon);
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
