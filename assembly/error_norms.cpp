#include <stratum/assembly/error_norms.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include <stratum/assembly/error_sums.hpp>
#include <stratum/assembly/expressions/gpu_integrals.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/core/device/simd.hpp>

namespace stratum {

namespace {

/// Of one cell of a mapped mesh.
struct CellSlopes {
  PointSlopes points[3][3];  // by height first

  CellSlopes(const Geometry& mesh, int i, int j) {
    const auto weight = [](std::size_t p, std::size_t q) { return gauss3[p].weight * gauss3[q].weight; };
    if (mesh.mapped() == nullptr || !mesh.mapped()->is_cartesian()) {
      const CellPoints cell = mesh.cell(i, j);
      const double hx = mesh.logical().x().widths()[static_cast<std::size_t>(i)],
                   hy = mesh.logical().y().widths()[static_cast<std::size_t>(j)];
      for (std::size_t q = 0; q < 3; ++q)
        for (std::size_t p = 0; p < 3; ++p) {
          const Scales scales = cell.scales(gauss3[p].t, gauss3[q].t);
          points[q][p] = {1 / (hx * scales.x), 0, 0, 1 / (hy * scales.y), weight(p, q) * hx * hy * scales.volume()};
        }
      return;
    }
    const Quadrilateral cell = mesh.mapped()->cell(i, j);
    for (std::size_t q = 0; q < 3; ++q)
      for (std::size_t p = 0; p < 3; ++p) {
        const Jacobian at = cell.derivatives(gauss3[p].t, gauss3[q].t);
        const double det = at.determinant();
        points[q][p] = {at.ys / det, -at.xs / det, -at.yt / det, at.xt / det, weight(p, q) * det};
      }
  }
  PointSlopes operator()(int p, int q) const { return points[q][p]; }
};

/// The points of the rule in the intervals of a line, in order.
std::vector<LinePoint> gauss_points(const Axis& line) {
  std::vector<LinePoint> points;
  points.reserve(3 * line.widths().size());
  for (int i = 0; i < line.size(); ++i)
    for (const auto& [t, weight] : gauss3) points.push_back(LineInterval(line, i).at(t));
  return points;
}

/// The sums of a row of a rectangle's cells, in packs of cells.
template <class F>
struct ErrorsOfRow {
  const F& exact;
  const TensorMesh<2>& mesh;
  std::span<const LinePoint> x, y;  // of all intervals; of this row
  const double *south, *north;      // nodal values below and above the row
  const CellCoefficients* k;
  double reaction;
  int j;
  ErrorSums& sums;

  template <int bytes>
  STRATUM_INLINE void run() const {
    using V = simd::Pack<double, bytes>;
    constexpr int lanes = bytes / static_cast<int>(sizeof(double));
    const auto filled = [](double value) { return simd::filled<double, bytes>(value); };
    const auto nothing = [&]() -> FieldSumsOf<V> {
      const FieldSums none = no_field_sums();
      return {filled(0), filled(0), filled(0), filled(none.smallest), filled(none.largest)};
    };
    const double* const widths = mesh.x().widths().data();
    const int cells = mesh.x().size();
    const double hy = mesh.y().widths()[static_cast<std::size_t>(j)];
    FieldSumsOf<V> error = nothing(), known = nothing();
    V area = filled(0);
    PointMaterialOf<V> material{filled(1), filled(0), filled(1), filled(reaction)};
    for (int first = 0; first < cells; first += lanes) {
      // Lanes behind the last cell have that one, of no area.
      double numbers[3][3][lanes], corners[4][lanes], of_x[lanes], there[lanes], of_k[4][lanes];
      for (int l = 0; l < lanes; ++l) {
        const int i = std::min(first + l, cells - 1);
        there[l] = first + l < cells ? 1 : 0;
        of_x[l] = widths[i];
        corners[0][l] = south[i];
        corners[1][l] = south[i + 1];
        corners[2][l] = north[i];
        corners[3][l] = north[i + 1];
        if (k != nullptr) {
          of_k[0][l] = k->kxx(i, j);
          of_k[1][l] = k->kxy(i, j);
          of_k[2][l] = k->kyy(i, j);
          of_k[3][l] = reaction + k->reaction(i, j);
        }
        for (std::size_t q = 0; q < 3; ++q)
          for (std::size_t p = 0; p < 3; ++p)
            numbers[q][p][l] =
                evaluate(exact, make_point(x[3 * static_cast<std::size_t>(i) + p], y[q]), "exact solution");
      }
      if (k != nullptr)
        material = {simd::pack<bytes>(of_k[0]), simd::pack<bytes>(of_k[1]), simd::pack<bytes>(of_k[2]),
                    simd::pack<bytes>(of_k[3])};
      V u[3][3], e[3][3];  // by height first
      for (std::size_t q = 0; q < 3; ++q)
        for (std::size_t p = 0; p < 3; ++p) {
          u[q][p] = simd::pack<bytes>(numbers[q][p]);
          e[q][p] = bilinear(simd::pack<bytes>(corners[0]), simd::pack<bytes>(corners[1]),
                             simd::pack<bytes>(corners[2]), simd::pack<bytes>(corners[3]), gauss3[p].t, gauss3[q].t) -
                    u[q][p];
        }
      const V hx = simd::pack<bytes>(of_x), size = hx * hy * simd::pack<bytes>(there);
      const PointSlopesOf<V> middle{filled(1) / hx, filled(0), filled(0), filled(1 / hy), size};
      const auto slopes = [&](int p, int q) {
        PointSlopesOf<V> at = middle;
        at.weight = gauss3[static_cast<std::size_t>(p)].weight * gauss3[static_cast<std::size_t>(q)].weight * size;
        return at;
      };
      add_cell(e, slopes, material, error);
      add_cell(u, slopes, material, known);
      area += size;
    }
    for (int l = 0; l < lanes; ++l) {
      const auto lane = [l](const FieldSumsOf<V>& of) {
        return FieldSums{of.square[l], of.integral[l], of.energy[l], of.smallest[l], of.largest[l]};
      };
      add(ErrorSums{lane(error), lane(known), area[l]}, sums);
    }
  }
};

/// The same of a mesh that is no rectangle, or that bodies leave cells of, cell by cell.
void add_row(const Geometry& mesh, const PoissonProblem& problem, const ScalarFunction& exact, const double* south,
             const double* north, const CellCoefficients* k, const BodyMap* bodies, int j, ErrorSums& row) {
  for (int i = 0; i < mesh.logical().x().size(); ++i, ++south, ++north) {
    if (bodies != nullptr && bodies->cell_at(i, j) != BodyMap::live) continue;
    const CellPoints cell = mesh.cell(i, j);
    double e[3][3], u[3][3];  // by height first
    for (std::size_t q = 0; q < 3; ++q)
      for (std::size_t p = 0; p < 3; ++p) {
        const double t = gauss3[p].t, s = gauss3[q].t;
        u[q][p] = evaluate(exact, cell.at(t, s), "exact solution");
        e[q][p] = bilinear(south[0], south[1], north[0], north[1], t, s) - u[q][p];
      }
    const PointMaterial material{k ? k->kxx(i, j) : 1, k ? k->kxy(i, j) : 0, k ? k->kyy(i, j) : 1,
                                 problem.reaction + (k ? k->reaction(i, j) : 0)};
    const CellSlopes slopes(mesh, i, j);
    add_cell(e, slopes, material, row.error);
    add_cell(u, slopes, material, row.exact);
    for (const auto& of_height : slopes.points)
      for (const PointSlopes& point : of_height) row.area += point.weight;
  }
}

/// In cells between rows of nodes, whose values are on the host; cell rows in order. `k`: null where K = 1.
ErrorSums errors_on_host(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, NodeRows nodes,
                         std::span<const double> nodal, const CellCoefficients* k) {
  const TensorMesh<2>& logical = mesh.logical();
  const auto nodes_x = static_cast<std::size_t>(logical.x().size()) + 1;
  const bool is_rectangle = mesh.mapped() == nullptr;
  const auto x = is_rectangle ? gauss_points(logical.x()) : std::vector<LinePoint>(),
             y = is_rectangle ? gauss_points(logical.y()) : std::vector<LinePoint>();
  const auto map = bodies_on(ctx, mesh, problem);
  std::vector<ErrorSums> rows(static_cast<std::size_t>(nodes.last - nodes.first));
  for_each_row(
      ctx, nodes.last - nodes.first,
      [&](int own_row, const ScalarFunction& exact) {
        const int j = nodes.first + own_row;
        const double* const south = &nodal[static_cast<std::size_t>(own_row) * nodes_x];
        ErrorSums row = no_error_sums();
        const auto add_known = [&](const auto& f) {
          simd::run_widest(ErrorsOfRow<std::decay_t<decltype(f)>>{
              f, logical, x, std::span(y).subspan(3 * static_cast<std::size_t>(j), 3), south, south + nodes_x, k,
              problem.reaction, j, row});
        };
        if (!is_rectangle || map)
          add_row(mesh, problem, exact, south, south + nodes_x, k, map.get(), j, row);
        else if (const auto* const polynomial = exact.target<PolynomialSolution>())
          add_known(*polynomial);  // inlined
        else
          add_known(exact);
        rows[static_cast<std::size_t>(own_row)] = row;
      },
      exact_function(problem));
  ErrorSums all = no_error_sums();
  for (const ErrorSums& row : rows) add(row, all);
  return all;
}

/// On a GPU where it can be, which all subdomains have to say.
ErrorSums errors_of(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                    const GridFunction<const double>& u, const CellCoefficients* k) {
  // Nothing where a subdomain has none.
  const auto all_of = [&](std::optional<ErrorSums> own) {
    if (!u.is_part()) return own;
    std::optional<ErrorSums> all = no_error_sums();
    for (const auto& part : ctx.communicator()->gather_on_host(own)) {
      if (all && part) add(*part, *all);
      if (!part) all.reset();
    }
    return all;
  };
  if (ctx.on_gpu() && mesh.mapped() == nullptr && problem.bodies.empty())
    if (const auto all = all_of(errors_on_gpu(ctx, mesh.logical(), exact_function(problem), u,
                                              boundary_values_of_nodes(mesh, problem), problem.reaction, k)))
      return *all;
  return *all_of(errors_on_host(ctx, mesh, problem, node_rows(mesh.logical(), layout_of(mesh.logical(), u)),
                                nodal_solution(ctx, mesh, problem, u), k));
}

/// `sums`: of K and c on the cells that it is given.
template <class Sums>
std::optional<RelativeErrors> relative_errors_by(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                                 const CellCoefficients* cells, const Sums& sums) {
  if (!problem.has_exact()) return std::nullopt;
  const auto own = cells == nullptr ? cell_coefficients(ctx, mesh, problem) : std::nullopt;
  const CellCoefficients* const k = own ? &*own : cells;
  return relative(sums(k), is_singular(ctx, mesh, problem, k));
}

}  // namespace

RelativeErrors relative(const ErrorSums& sums, bool singular) {
  const auto mean = [&](const FieldSums& field) { return singular ? field.integral / sums.area : 0; };
  // Of squares that rounding leaves below zero; NaN stays.
  const auto root = [](double square) { return square < 0 ? 0 : std::sqrt(square); };
  // Extremes do not see a NaN.
  const auto farthest = [&](const FieldSums& field) {
    return std::isnan(field.square) ? field.square
                                    : std::max(field.largest - mean(field), mean(field) - field.smallest);
  };
  // Beside a large mean the difference of squares has no digits; the farthest value bounds it.
  const auto norm = [&](const FieldSums& field) {
    const double rest = field.square - mean(field) * field.integral;
    return singular && rest <= 1e-12 * field.square ? farthest(field) * std::sqrt(sums.area) : root(rest);
  };
  const auto &error = sums.error, &exact = sums.exact;
  // A constant less its mean is round-off, by which nothing is measured.
  const bool is_zero = singular && farthest(exact) <= 1e-12 * std::max(-exact.smallest, exact.largest);
  const auto ratio = [=](double e, double whole) { return whole > 0 && !is_zero ? e / whole : e; };
  return {ratio(norm(error), norm(exact)), ratio(farthest(error), farthest(exact)),
          ratio(root(error.energy), root(exact.energy))};
}

std::optional<RelativeErrors> relative_errors(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                              std::span<const double> nodal, const CellCoefficients* cells) {
  expects_nodal(mesh, nodal);
  return relative_errors_by(ctx, mesh, problem, cells, [&](const CellCoefficients* k) {
    return errors_on_host(ctx, mesh, problem, {0, mesh.logical().y().size()}, nodal, k);
  });
}

std::optional<RelativeErrors> relative_errors(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                              const GridFunction<const double>& u, const CellCoefficients* cells) {
  return relative_errors_by(ctx, mesh, problem, cells,
                            [&](const CellCoefficients* k) { return errors_of(ctx, mesh, problem, u, k); });
}

std::optional<double> relative_l2_error(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                        const GridFunction<const double>& u, const CellCoefficients* cells) {
  if (!problem.has_exact()) return std::nullopt;
  return relative(errors_of(ctx, mesh, problem, u, nullptr), is_singular(ctx, mesh, problem, cells)).l2;
}

LevelDifference level_difference(const Geometry& coarse_mesh, std::span<const double> coarse,
                                 std::span<const double> fine) {
  expects_nodal(coarse_mesh, coarse);
  expects_nodal(coarse_mesh, fine, 2);
  const int cells_x = coarse_mesh.logical().x().size(), cells_y = coarse_mesh.logical().y().size();
  const auto coarse_at = [&](int i, int j) {
    return coarse[static_cast<std::size_t>(j) * (static_cast<std::size_t>(cells_x) + 1) + static_cast<std::size_t>(i)];
  };
  const auto fine_at = [&](int i, int j) {
    return fine[static_cast<std::size_t>(2 * j) * (static_cast<std::size_t>(2 * cells_x) + 1) +
                static_cast<std::size_t>(2 * i)];
  };
  double difference = 0, norm = 0, largest = 0, largest_value = 0;
  for (int j = 0; j < cells_y; ++j)
    for (int i = 0; i < cells_x; ++i) {
      const double area = coarse_mesh.cell(i, j).measure(0.5, 0.5);  // linear in t and in s
      for (const auto& [p, q] : {std::pair{i, j}, {i + 1, j}, {i, j + 1}, {i + 1, j + 1}}) {
        const double value = fine_at(p, q), d = coarse_at(p, q) - value;
        if (std::isnan(d)) continue;  // a node of a solid has no value
        difference += area / 4 * d * d;
        norm += area / 4 * value * value;
        largest = std::max(largest, std::abs(d));
        largest_value = std::max(largest_value, std::abs(value));
      }
    }
  return {std::sqrt(norm > 0 ? difference / norm : difference), largest_value > 0 ? largest / largest_value : largest};
}

}  // namespace stratum
