#include <stratum/assembly/poisson_problem.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include <stratum/core/blas.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

/// Gauss rules on [0, 1].
struct GaussPoint {
  double t;
  double weight;
};

constexpr std::array<GaussPoint, 3> gauss3{
    {{0.1127016653792583, 5.0 / 18}, {0.5, 8.0 / 18}, {0.8872983346207417, 5.0 / 18}}};
constexpr std::array<GaussPoint, 4> gauss4{{{0.0694318442029737, 0.1739274225687269},
                                            {0.3300094782075719, 0.3260725774312731},
                                            {0.6699905217924281, 0.3260725774312731},
                                            {0.9305681557970263, 0.1739274225687269}}};

/// The point at fraction t of interval i, by its distances to both ends.
struct LinePoint {
  double from_begin;
  double from_end;
};

LinePoint at(const Intervals& line, int i, double t) {
  const auto k = static_cast<std::size_t>(i);
  const double h = line.widths()[k], length = line.length();
  // Rounding must not carry a point of the thinnest cell beyond the side that it touches.
  return {std::min(line.from_begin()[k] + t * h, length), std::min(line.from_end()[k + 1] + (1 - t) * h, length)};
}

Point make_point(const LinePoint& x, const LinePoint& y) {
  return {x.from_begin, y.from_begin, x.from_end, y.from_end};
}

Point node(const TensorMesh& mesh, int i, int j) {
  const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
  return {mesh.x().from_begin()[p], mesh.y().from_begin()[q], mesh.x().from_end()[p], mesh.y().from_end()[q]};
}

/// Runs body(j, functions...) for rows j = 0 .. rows-1 on the Context's threads, each with its own copies of the functions,
/// and hands the first exception to the caller.
template <class Body, class... Functions>
void for_each_row(Context& ctx, int rows, const Body& body, const Functions&... functions) {
  std::exception_ptr failure;
#pragma omp parallel num_threads(ctx.threads())
  {
    const auto run = [&](const Functions... own) {
#pragma omp for schedule(static)
      for (int j = 0; j < rows; ++j) {
        try {
          body(j, own...);
        } catch (...) {
#pragma omp critical(stratum_for_each_row)
          failure = std::current_exception();
        }
      }
    };
    run(functions...);
  }
  if (failure) std::rethrow_exception(failure);
}

double evaluate(const ScalarFunction& function, const Point& p, const char* what) {
  const double value = function(p);
  expects(std::isfinite(value), "the ", what, " is ", value, " at (", p.x, ", ", p.y, "); it must be finite");
  return value;
}

/// Integrals of s (length - s) phi_i over the line, exact by the 4-point rule.
std::vector<double> parabola_loads(const Intervals& line) {
  std::vector<double> loads(line.widths().size() + 1, 0.0);
  for (int i = 0; i < line.size(); ++i)
    for (const auto& [t, weight] : gauss4) {
      const auto p = at(line, i, t);
      const auto k = static_cast<std::size_t>(i);
      const double value = weight * line.widths()[k] * p.from_begin * p.from_end;
      loads[k] += value * (1 - t);
      loads[k + 1] += value * t;
    }
  return loads;
}

/// Integral of phi_i for interior node i + 1.
double hat_integral(const Intervals& line, int i) {
  const auto k = static_cast<std::size_t>(i);
  return (line.widths()[k] + line.widths()[k + 1]) / 2;
}

/// The unknowns of a rectangle of the host's: row j, x fastest.
struct HostGrid {
  int nx, ny;
  std::vector<double> values;
  HostGrid(int nx_, int ny_)
      : nx(nx_), ny(ny_), values(static_cast<std::size_t>(nx_) * static_cast<std::size_t>(ny_), 0.0) {}
  double& operator()(int i, int j) {
    return values[static_cast<std::size_t>(j) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i)];
  }
};

void add_polynomial_load(Context& ctx, const TensorMesh& mesh, HostGrid& b) {
  const auto x = parabola_loads(mesh.x()), y = parabola_loads(mesh.y());
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (int j = 0; j < b.ny; ++j)
    for (int i = 0; i < b.nx; ++i)
      b(i, j) = 2 * (y[static_cast<std::size_t>(j) + 1] * hat_integral(mesh.x(), i) +
                     x[static_cast<std::size_t>(i) + 1] * hat_integral(mesh.y(), j));
}

/// Row j of unknowns gathers from cell rows j and j + 1, so that rows are independent and sums have one order.
void add_load(Context& ctx, const TensorMesh& mesh, const ScalarFunction& f, HostGrid& b) {
  for_each_row(
      ctx, b.ny,
      [&](int j, const ScalarFunction& own) {
        for (int upper = 0; upper < 2; ++upper) {
          const int cell_y = j + upper;
          const double hy = mesh.y().widths()[static_cast<std::size_t>(cell_y)];
          for (int cell_x = 0; cell_x < mesh.x().size(); ++cell_x) {
            const double hx = mesh.x().widths()[static_cast<std::size_t>(cell_x)];
            double left = 0, right = 0;
            for (const auto& [s, weight_y] : gauss4) {
              const auto y = at(mesh.y(), cell_y, s);
              const double phi_y = weight_y * hy * (upper == 1 ? 1 - s : s);
              for (const auto& [t, weight_x] : gauss4) {
                const double value =
                    phi_y * weight_x * hx * evaluate(own, make_point(at(mesh.x(), cell_x, t), y), "right-hand side");
                left += value * (1 - t);
                right += value * t;
              }
            }
            if (cell_x > 0) b(cell_x - 1, j) += left;
            if (cell_x < b.nx) b(cell_x, j) += right;
          }
        }
      },
      f);
}

/// Entry of A between interior node (i, j), global, and its neighbour (i + dx, j + dy).
double laplace_entry(const TensorMesh& mesh, int i, int j, int dx, int dy) {
  const auto factor = [](const Intervals& line, int node_index, int d, bool stiffness) {
    const double l = line.widths()[static_cast<std::size_t>(node_index) - 1];
    const double r = line.widths()[static_cast<std::size_t>(node_index)];
    if (d == 0) return stiffness ? 1 / l + 1 / r : (l + r) / 3;
    const double h = d < 0 ? l : r;
    return stiffness ? -1 / h : h / 6;
  };
  return factor(mesh.x(), i, dx, true) * factor(mesh.y(), j, dy, false) +
         factor(mesh.x(), i, dx, false) * factor(mesh.y(), j, dy, true);
}

void subtract_boundary(const TensorMesh& mesh, const ScalarFunction& g, HostGrid& b) {
  const int cells_x = mesh.x().size(), cells_y = mesh.y().size();
  const auto visit_neighbours = [&](int i, int j) {  // a boundary node
    const double value = evaluate(g, node(mesh, i, j), "boundary value");
    if (value == 0) return;
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int p = i + dx, q = j + dy;
        if (p < 1 || p >= cells_x || q < 1 || q >= cells_y) continue;
        b(p - 1, q - 1) -= laplace_entry(mesh, p, q, -dx, -dy) * value;
      }
  };
  for (int i = 0; i <= cells_x; ++i) {
    visit_neighbours(i, 0);
    visit_neighbours(i, cells_y);
  }
  for (int j = 1; j < cells_y; ++j) {
    visit_neighbours(0, j);
    visit_neighbours(cells_x, j);
  }
}

}  // namespace

ScalarFunction rhs_function(const PoissonProblem& problem) {
  if (problem.rhs) return problem.rhs;
  return [](const Point& p) { return 2 * (p.y * p.to_top + p.x * p.to_right); };
}

ScalarFunction exact_function(const PoissonProblem& problem) {
  expects(problem.has_exact(), "the exact solution of this problem is not known");
  if (problem.exact) return problem.exact;
  return [](const Point& p) { return p.x * p.to_right * p.y * p.to_top; };
}

ScalarFunction boundary_function(const PoissonProblem& problem) {
  if (problem.boundary) return problem.boundary;
  if (problem.exact) return problem.exact;
  return [](const Point&) { return 0.0; };
}

std::vector<double> at_nodes(Context& ctx, const TensorMesh& mesh, const ScalarFunction& function) {
  HostGrid values(mesh.x().size() + 1, mesh.y().size() + 1);
  for_each_row(
      ctx, values.ny,
      [&](int j, const ScalarFunction& own) {
        for (int i = 0; i < values.nx; ++i) values(i, j) = own(node(mesh, i, j));
      },
      function);
  return std::move(values.values);
}

void assemble_load(Context& ctx, const TensorMesh& mesh, const PoissonProblem& problem, GridView<double> b) {
  expects_fit(ctx, "the load vector", b, mesh.unknowns());
  HostGrid load(b.nx, b.ny);
  if (problem.is_polynomial())
    add_polynomial_load(ctx, mesh, load);
  else
    add_load(ctx, mesh, problem.rhs, load);
  if (problem.boundary || problem.exact) subtract_boundary(mesh, boundary_function(problem), load);
  copy_from_host(ctx, load.values.data(), b);
}

std::vector<double> nodal_solution(Context& ctx, const TensorMesh& mesh, const PoissonProblem& problem,
                                   GridView<const double> u) {
  expects_fit(ctx, "the solution", u, mesh.unknowns());
  std::vector<double> interior(static_cast<std::size_t>(u.nodes()));
  copy_to_host(ctx, u, interior.data());
  HostGrid values(mesh.x().size() + 1, mesh.y().size() + 1);
  const auto g = boundary_function(problem);
  for (int j = 0; j < values.ny; ++j) {
    const bool boundary_row = j == 0 || j == values.ny - 1;
    for (int i = 0; i < values.nx; ++i)
      if (boundary_row || i == 0 || i == values.nx - 1)
        values(i, j) = evaluate(g, node(mesh, i, j), "boundary value");
      else
        values(i, j) = interior[(static_cast<std::size_t>(j) - 1) * static_cast<std::size_t>(u.nx) +
                                static_cast<std::size_t>(i) - 1];
  }
  return std::move(values.values);
}

std::optional<double> relative_l2_error(Context& ctx, const TensorMesh& mesh, const PoissonProblem& problem,
                                        GridView<const double> u) {
  if (!problem.has_exact()) return std::nullopt;
  const auto values = nodal_solution(ctx, mesh, problem, u);
  const auto nodes_x = static_cast<std::size_t>(mesh.x().size()) + 1;
  const int cells_y = mesh.y().size();
  std::vector<double> error(static_cast<std::size_t>(cells_y)), norm(error);
  for_each_row(
      ctx, cells_y,
      [&](int j, const ScalarFunction& exact) {
        const auto q = static_cast<std::size_t>(j);
        double row_error = 0, row_norm = 0;
        for (int i = 0; i < mesh.x().size(); ++i) {
          const double* south = &values[q * nodes_x + static_cast<std::size_t>(i)];
          const double* north = south + nodes_x;
          const double area = mesh.x().widths()[static_cast<std::size_t>(i)] * mesh.y().widths()[q];
          for (const auto& [s, weight_y] : gauss3) {
            const auto y = at(mesh.y(), j, s);
            for (const auto& [t, weight_x] : gauss3) {
              const double uh = (1 - s) * ((1 - t) * south[0] + t * south[1]) + s * ((1 - t) * north[0] + t * north[1]);
              const double ue = evaluate(exact, make_point(at(mesh.x(), i, t), y), "exact solution");
              const double weight = weight_x * weight_y * area;
              row_error += weight * (uh - ue) * (uh - ue);
              row_norm += weight * ue * ue;
            }
          }
        }
        error[q] = row_error;
        norm[q] = row_norm;
      },
      exact_function(problem));
  double error_sum = 0, norm_sum = 0;
  for (std::size_t j = 0; j < error.size(); ++j) {
    error_sum += error[j];
    norm_sum += norm[j];
  }
  return std::sqrt(norm_sum > 0 ? error_sum / norm_sum : error_sum);
}

}  // namespace stratum
