// Load vectors (poisson_problem.hpp): integrals of f over cells, fluxes through boundaries, and what Dirichlet values take to
// the right-hand side.

#include <algorithm>
#include <array>
#include <iterator>

#include <stratum/assembly/expressions/gpu_integrals.hpp>
#include <stratum/assembly/host_loads.hpp>
#include <stratum/assembly/line_loads.hpp>
#include <stratum/assembly/mapped_operators.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/assembly/problem_boundary.hpp>
#include <stratum/assembly/rectangle_fields.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

using detail::add_load;
using detail::all_boundaries;
using detail::BoundaryOf;
using detail::HostGrid;

void add_polynomial_load(Context& ctx, const TensorMesh<2>& mesh, HostGrid& b) {
  const auto x = at_unknowns(mesh.x(), parabola_loads(mesh.x())), y = at_unknowns(mesh.y(), parabola_loads(mesh.y()));
  const auto hat_x = at_unknowns(mesh.x(), hat_integrals(mesh.x())),
             hat_y = at_unknowns(mesh.y(), hat_integrals(mesh.y()));
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (int j = b.first; j < b.end(); ++j)
    for (int i = 0; i < b.nx; ++i) {
      const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
      b(i, j) = 2 * (y[q] * hat_x[p] + x[p] * hat_y[q]);
    }
}

/// b_i += the integral over these cells of (mean of f - f) phi_i, that of f phi_i by `rule`.
template <class Rule>
void add_means(const Geometry& mesh, const Rule& rule, const ScalarFunction& f, const std::vector<std::size_t>& cells,
               HostGrid& b) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  const auto columns = static_cast<std::size_t>(x.size());
  for (const std::size_t k : cells) {
    const int cell_x = static_cast<int>(k % columns), cell_y = static_cast<int>(k / columns);
    const int rows[2] = {unknown_at(y, cell_y), unknown_at(y, cell_y + 1)};
    if (!std::any_of(std::begin(rows), std::end(rows), [&](int j) { return j >= 0 && b.has(j); })) continue;
    const CellPoints cell = mesh.cell(cell_x, cell_y);
    double mean = 0, area = 0, hats[2][2] = {}, given[2][2] = {};  // by y and x
    const auto visit = [](const auto& points, const auto& use) {
      for (const auto& [s, weight_y] : points)
        for (const auto& [t, weight_x] : points) use(t, s, weight_x * weight_y);
    };
    const auto add_to = [](double(&to)[2][2], double t, double s, double value) {
      to[0][0] += value * (1 - s) * (1 - t);
      to[0][1] += value * (1 - s) * t;
      to[1][0] += value * s * (1 - t);
      to[1][1] += value * s * t;
    };
    visit(gauss4, [&](double t, double s, double weight) {
      const double part = weight * cell.measure(t, s);
      mean += part * evaluate(f, cell.at(t, s), "right-hand side");
      area += part;
      add_to(hats, t, s, part);
    });
    mean /= area;
    visit(rule, [&](double t, double s, double weight) {
      add_to(given, t, s, weight * cell.measure(t, s) * evaluate(f, cell.at(t, s), "right-hand side"));
    });
    for (int upper = 0; upper < 2; ++upper)
      for (int right = 0; right < 2; ++right) {
        const int i = unknown_at(x, cell_x + right), j = rows[upper];
        if (i >= 0 && j >= 0 && b.has(j)) b(i, j) += mean * hats[upper][right] - given[upper][right];
      }
  }
}

/// Integrals of g phi_i over a Neumann or Robin boundary.
template <class Loads>
void add_flux(const Geometry& mesh, const BoundaryOf& boundary, Loads& b) {
  const ScalarFunction g = flux_function(boundary.condition);
  if (!g) return;
  const Axis& along = mesh.along(boundary.place);
  const auto loads =
      at_unknowns(along, line_loads(
                             along.size(), [](int /*k*/) { return 1.0; },
                             [&](int k, double t) {
                               return mesh.measure_on_side(boundary.place, k, t) *
                                      evaluate(g, mesh.on_boundary(boundary.place, k, t), "value of a boundary");
                             }));
  const int line = boundary.place.last ? mesh.across(boundary.place).unknowns() - 1 : 0;
  for (std::size_t k = 0; k < loads.size(); ++k) {
    const int i = static_cast<int>(k);
    const bool row = boundary.place.along == Direction::x;
    if (b.has(row ? line : i)) b(row ? i : line, row ? line : i) += loads[k];
  }
}

/// What Dirichlet nodes give their neighbours goes to the right-hand side.
template <class Loads>
void subtract_boundary(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const CellCoefficients* cells,
                       Loads& b) {
  if (!has_boundary_values(problem)) return;
  const auto own = cells == nullptr ? cell_coefficients(ctx, mesh, problem) : std::nullopt;
  if (own) cells = &*own;
  const auto values = dirichlet_values(mesh, problem);
  for (const DirichletEntry& entry : dirichlet_entries(mesh, problem, cells, problem.reaction))
    if (b.has(entry.j)) b(entry.i, entry.j) -= entry.times(values);
}

/// b less A g for the values g of nodes that bodies hold, and nothing at nodes that are no unknowns.
void subtract_bodies(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const CellCoefficients& cells,
                     const GridFunction<double>& b) {
  const BodyMap& map = *cells.bodies;
  const TensorMesh<2>& logical = mesh.logical();
  const auto is_zero = [](double value) { return value == 0; };
  if (!std::all_of(map.value.begin(), map.value.end(), is_zero)) {
    const GridLayout<2> layout = layout_of(logical, b);
    const OperatorTerms terms = operator_terms(mesh, problem);
    const int first_row = first_row_of(ctx, "the load vector", logical, b);
    std::vector<double> given(static_cast<std::size_t>(layout.nodes()));
    for (int j = 0; j < layout.ny; ++j)
      for (int i = 0; i < layout.nx; ++i)
        given[static_cast<std::size_t>(j) * static_cast<std::size_t>(layout.nx) + static_cast<std::size_t>(i)] =
            map.value_at(i + logical.x().first_unknown(), j + first_row + logical.y().first_unknown());
    Field<double> g(ctx, layout), product(ctx, layout);
    copy_from_host(ctx, given.data(), g.view());
    exchange(ctx, g);
    if (mesh.mapped() != nullptr) {
      const MappedCells fields(ctx, *mesh.mapped(), &cells, terms.reaction);
      assemble_diffusion(ctx, *mesh.mapped(), fields, terms, layout).apply(ctx, g.cview(), product.view());
    } else {
      const CellFields fields(ctx, logical, cells, terms.reaction);
      const StorageFormat format = terms.varies() ? StorageFormat::symmetric : StorageFormat::cell;
      assemble_cells(ctx, logical, fields, terms, cell_tensor(logical, cells), format, layout)
          .apply(ctx, g.cview(), product.view());
    }
    axpy(ctx, -1.0, product.cview(), b.view);
    ctx.synchronise();  // the fields may be gone before the stream is here
  }
  clear_fixed_nodes(ctx, mesh, map, b);
}

}  // namespace

double& BoundaryLoads::operator()(int i, int j) {
  const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j - first);
  if (i == 0) return left[q];
  if (i == shape.nx - 1) return right[q];
  return j == 0 ? bottom[p] : top[p];
}

BoundaryLoads::BoundaryLoads(const GridLayout<2>& unknowns, int first_row)
    : shape(unknowns), first(first_row), left(static_cast<std::size_t>(unknowns.ny), 0.0), right(left),
      bottom(static_cast<std::size_t>(unknowns.nx), 0.0), top(bottom) {}

void add(Context& ctx, const BoundaryLoads& boundaries, std::array<Field<double>, 2>& through, FieldView<double> b) {
  if (b.nodes() == 0) return;
  const auto add_part = [&](const std::vector<double>& numbers, Field<double>& line, int i, int j) {
    if (std::all_of(numbers.begin(), numbers.end(), [](double value) { return value == 0; })) return;
    FieldView<double> part = b;
    part.data = &b(i, j);
    part.nx = line.view().nx;
    part.ny = line.view().ny;
    // One number after the other, in a column too: a GPU takes thousands of rows of one number one by one.
    const int n = static_cast<int>(numbers.size());
    copy_from_host(ctx, numbers.data(), FieldView<double>{line.view().data, n, 1, n});
    axpy(ctx, 1, FieldView<const double>{line.view().data, part.nx, part.ny, part.nx}, part);
  };
  add_part(boundaries.left, through[0], 0, 0);
  add_part(boundaries.right, through[0], b.nx - 1, 0);
  add_part(boundaries.bottom, through[1], 0, 0);
  add_part(boundaries.top, through[1], 0, b.ny - 1);
}

void add_fluxes(const Geometry& mesh, const PoissonProblem& problem, BoundaryLoads& b) {
  for (const BoundaryOf& boundary : all_boundaries(problem.boundaries)) add_flux(mesh, boundary, b);
}

void assemble_load(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const GridFunction<double>& b,
                   const CellCoefficients* cells) {
  if (!problem.bodies.empty()) {
    const auto own = cells == nullptr ? cell_coefficients(ctx, mesh, problem) : std::nullopt;
    const CellCoefficients& k = own ? *own : *cells;
    PoissonProblem masked = in_live_cells(problem, k.bodies);
    masked.rhs = rhs_function(masked);
    masked.bodies.clear();
    assemble_load(ctx, mesh, masked, b, &k);
    if (k.bodies->has_solids()) subtract_bodies(ctx, mesh, problem, k, b);
    return;
  }
  const TensorMesh<2>& logical = mesh.logical();
  const int first_row = first_row_of(ctx, "the load vector", logical, b);
  expects(logical.unknowns() == with_boundaries(logical, problem.boundaries).unknowns(),
          "the mesh has not the ends of the problem's boundaries; with_boundaries gives them");
  expects(mesh.mapped() == nullptr || !problem.is_polynomial(),
          "the problem without functions is one of rectangles; a deformed mesh needs a right-hand side");
  const auto averaged = cells != nullptr ? cells->averaged : averaged_cells(ctx, mesh, problem.reaction_of_cells);
  if (mesh.mapped() == nullptr && load_on_gpu(ctx, logical, rhs_function(problem), b)) {
    add_averaged_load(ctx, mesh, rhs_function(problem), static_cast<int>(gauss4.size()), averaged, b);
    BoundaryLoads boundaries(layout_of(logical, b), first_row);
    add_fluxes(mesh, problem, boundaries);
    subtract_boundary(ctx, mesh, problem, cells, boundaries);
    std::array<Field<double>, 2> through{Field<double>(ctx, {1, b.view.ny}), Field<double>(ctx, {b.view.nx, 1})};
    return add(ctx, boundaries, through, b.view);
  }
  HostGrid load(b.view.nx, b.view.ny, first_row);
  if (problem.is_polynomial())
    add_polynomial_load(ctx, logical, load);
  else
    add_load(ctx, mesh, gauss4, problem.rhs, load);
  add_means(mesh, gauss4, rhs_function(problem), averaged, load);
  for (const BoundaryOf& boundary : all_boundaries(problem.boundaries)) add_flux(mesh, boundary, load);
  subtract_boundary(ctx, mesh, problem, cells, load);
  copy_from_host(ctx, load.values.data(), b.view);
}

void add_averaged_load(Context& ctx, const Geometry& mesh, const ScalarFunction& f, int points,
                       const std::vector<std::size_t>& averaged, const GridFunction<double>& b) {
  if (averaged.empty()) return;
  HostGrid more(b.view.nx, b.view.ny, first_row_of(ctx, "the load vector", mesh.logical(), b));
  if (points == static_cast<int>(gauss2.size()))
    add_means(mesh, gauss2, f, averaged, more);
  else
    add_means(mesh, gauss4, f, averaged, more);
  Field<double> there(ctx, {b.view.nx, b.view.ny});
  copy_from_host(ctx, more.values.data(), there.view());
  axpy(ctx, 1.0, there.cview(), b.view);
}

}  // namespace stratum
