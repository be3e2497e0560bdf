// What is asked of a solution in a box: errors, fluxes, extremes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/assembly/box_discretization.hpp>
#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/error_sums.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/line_loads.hpp>
#include <stratum/assembly/points.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

/// Values at the 3 x 3 x 3 points of a cell, by z, y and x.
using CellValues3D = double[3][3][3];

/// Adds those of one cell with these edges; K and c there.
void add_cell(const CellValues3D& v, const std::array<double, 3>& widths, const std::array<double, 3>& k, double c,
              FieldSums& sums) {
  const double volume = widths[0] * widths[1] * widths[2];
  for (int r = 0; r < 3; ++r)
    for (int q = 0; q < 3; ++q)
      for (int p = 0; p < 3; ++p) {
        const auto weight_at = [](int at) { return gauss3[static_cast<std::size_t>(at)].weight; };
        const double weight = weight_at(p) * weight_at(q) * weight_at(r) * volume, value = v[r][q][p];
        const double gx = slope_at(p, v[r][q]) / widths[0],
                     gy = slope_at(q, {v[r][0][p], v[r][1][p], v[r][2][p]}) / widths[1],
                     gz = slope_at(r, {v[0][q][p], v[1][q][p], v[2][q][p]}) / widths[2], square = value * value;
        add({weight * square, weight * value, weight * (k[0] * gx * gx + k[1] * gy * gy + k[2] * gz * gz + c * square),
             value, value},
            sums);
      }
}

}  // namespace

std::optional<RelativeErrors> BoxDiscretization::relative_errors(Context& ctx, std::span<const double> nodal) const {
  if (!problem_.has_exact()) return std::nullopt;
  std::vector<ErrorSums> layers(nodes_[2] - 1);
  for_each_row(
      ctx, mesh_.z().size(),
      [&](int layer, const ScalarFunction3D& own) {
        const auto k = static_cast<std::size_t>(layer);
        ErrorSums sums = no_error_sums();
        const LineInterval z(mesh_.z(), layer);
        for (std::size_t j = 0; j + 1 < nodes_[1]; ++j) {
          const LineInterval y(mesh_.y(), static_cast<int>(j));
          for (std::size_t i = 0; i + 1 < nodes_[0]; ++i) {
            const LineInterval x(mesh_.x(), static_cast<int>(i));
            double corners[2][2][2];
            for (std::size_t c = 0; c < 2; ++c)
              for (std::size_t b = 0; b < 2; ++b)
                for (std::size_t a = 0; a < 2; ++a) corners[c][b][a] = nodal[number(i + a, j + b, k + c)];
            CellValues3D u, e;
            for (std::size_t r = 0; r < 3; ++r)
              for (std::size_t q = 0; q < 3; ++q)
                for (std::size_t p = 0; p < 3; ++p) {
                  const double t = gauss3[p].t, s = gauss3[q].t, v = gauss3[r].t;
                  u[r][q][p] = evaluate(own, make_point(x.at(t), y.at(s), z.at(v)), "exact solution");
                  const auto along_x = [&](std::size_t c, std::size_t b) {
                    return (1 - t) * corners[c][b][0] + t * corners[c][b][1];
                  };
                  const auto along_y = [&](std::size_t c) { return (1 - s) * along_x(c, 0) + s * along_x(c, 1); };
                  e[r][q][p] = (1 - v) * along_y(0) + v * along_y(1) - u[r][q][p];
                }
            const std::array<double, 3> widths{x.width, y.width, z.width};
            const std::array<double, 3> material{k_[0][i] * w_[1][j] * w_[2][k], w_[0][i] * k_[1][j] * w_[2][k],
                                                 w_[0][i] * w_[1][j] * k_[2][k]};
            add_cell(e, widths, material, problem_.reaction, sums.error);
            add_cell(u, widths, material, problem_.reaction, sums.exact);
            sums.area += x.width * y.width * z.width;
          }
        }
        layers[k] = sums;
      },
      exact_function(problem_));
  ErrorSums all = no_error_sums();
  for (const ErrorSums& layer : layers) add(layer, all);
  if (ctx.subdomains() > 1) {
    const auto parts = ctx.communicator()->gather_on_host(std::exchange(all, no_error_sums()));
    for (const ErrorSums& part : parts) add(part, all);
  }
  return relative(all, singular_);
}

BoundaryFluxes3D BoxDiscretization::fluxes(Context& ctx, std::span<const double> nodal, const FaceLoads& loads) const {
  const std::array<AxisProducts, 3> axes{
      {{mesh_.x(), k_[0], w_[0]}, {mesh_.y(), k_[1], w_[1]}, {mesh_.z(), k_[2], w_[2]}}};
  // Natural faces have no weights.
  std::array<Values, 3> ones;
  for (std::size_t d = 0; d < 3; ++d) ones[d].assign(nodes_[d] - 1, 1.0);
  const std::array<AxisProducts, 3> plain{
      {{mesh_.x(), ones[0], ones[0]}, {mesh_.y(), ones[1], ones[1]}, {mesh_.z(), ones[2], ones[2]}}};
  const std::array<std::size_t, 3> stride{1, nodes_[0], nodes_[0] * nodes_[1]};
  BoundaryFluxes3D fluxes;
  fluxes.load = loads.sum;

  /// What a node of a face has, by the two directions along it.
  struct FaceFields {
    Values residual, own, data;  // of the natural equations; of K grad u_h; of the data
  };
  std::array<FaceFields, 6> faces;
  const auto product = [&](const std::array<AxisProducts, 3>& of, const FacePlace& place, const Values& v, bool k_first,
                           bool k_second) {
    const auto &a = of[static_cast<std::size_t>(place.first)], &b = of[static_cast<std::size_t>(place.second)];
    const std::size_t row = a.nodes(), rows = b.nodes();
    Values through(v.size()), result(v.size());
    for (std::size_t q = 0; q < rows; ++q)
      for (std::size_t p = 0; p < row; ++p) {
        const auto at = [&](std::size_t n) { return v[q * row + n]; };
        through[q * row + p] = k_first ? a.times_stiffness(p, at) : a.times_mass(p, at);
      }
    for (std::size_t q = 0; q < rows; ++q)
      for (std::size_t p = 0; p < row; ++p) {
        const auto at = [&](std::size_t n) { return through[n * row + p]; };
        result[q * row + p] = k_second ? b.times_stiffness(q, at) : b.times_mass(q, at);
      }
    return result;
  };
  for (const BoxFace face : all_box_faces) {
    const FacePlace place(face);
    FaceFields& fields = faces[static_cast<std::size_t>(face)];
    const auto across = static_cast<std::size_t>(place.across), first = static_cast<std::size_t>(place.first),
               second = static_cast<std::size_t>(place.second);
    const std::size_t cell = place.last ? nodes_[across] - 2 : 0, outer = place.last ? nodes_[across] - 1 : 0,
                      inner = place.last ? outer - 1 : 1;
    const double k = axes[across].stiffness(cell), m = axes[across].mass(cell);
    Values jump, mass, u, magnitude;
    for (std::size_t q = 0; q < nodes_[second]; ++q)
      for (std::size_t p = 0; p < nodes_[first]; ++p) {
        const double* const at = &nodal[p * stride[first] + q * stride[second]];
        const double here = at[outer * stride[across]], beside = at[inner * stride[across]];
        jump.push_back(k * (here - beside));
        magnitude.push_back(k * std::max(std::abs(here), std::abs(beside)));
        mass.push_back(m * (2 * here + beside));
        u.push_back(here);
      }
    fields.own = product(axes, place, jump, false, false);
    const Values stiff_first = product(axes, place, mass, true, false),
                 stiff_second = product(axes, place, mass, false, true);
    const Values plain_mass = product(axes, place, mass, false, false);
    fields.residual = fields.own;
    for (std::size_t n = 0; n < u.size(); ++n)
      fields.residual[n] += stiff_first[n] + stiff_second[n] + problem_.reaction * plain_mass[n] -
                            loads.faces[static_cast<std::size_t>(face)][n];
    const BoundaryConditionType kind = problem_.boundaries[face].kind;
    if (kind == BoundaryConditionType::neumann || kind == BoundaryConditionType::robin) {
      fields.data = data_[static_cast<std::size_t>(face)];
      const Values of_u = product(plain, place, u, false, false);
      for (std::size_t n = 0; n < u.size(); ++n) {
        fields.data[n] -= alpha_[static_cast<std::size_t>(face)] * of_u[n];
        fluxes.faces[static_cast<std::size_t>(face)] -= fields.data[n];
      }
    }
    constexpr double eps = std::numeric_limits<double>::epsilon();
    if (kind == BoundaryConditionType::dirichlet || kind == BoundaryConditionType::periodic)
      for (const double value : product(axes, place, magnitude, false, false)) fluxes.rounding += eps * value;
  }

  // The parts of Dirichlet and periodic faces, node by node.
  for (const BoxFace face : all_box_faces) {
    const BoundaryConditionType kind = problem_.boundaries[face].kind;
    if (kind != BoundaryConditionType::dirichlet && kind != BoundaryConditionType::periodic) continue;
    const FacePlace place(face);
    const FaceFields& fields = faces[static_cast<std::size_t>(face)];
    std::array<std::size_t, 3> n{};
    n[static_cast<std::size_t>(place.across)] = static_cast<std::size_t>(place.node(mesh_));
    double sum = 0;
    std::size_t next = 0;
    for (std::size_t q = 0; q < nodes_[static_cast<std::size_t>(place.second)]; ++q)
      for (std::size_t p = 0; p < nodes_[static_cast<std::size_t>(place.first)]; ++p, ++next) {
        n[static_cast<std::size_t>(place.first)] = p;
        n[static_cast<std::size_t>(place.second)] = q;
        double rest = fields.residual[next], of_dirichlet = 0;
        int dirichlet = 0;
        for (const BoxFace other : all_box_faces) {
          const FacePlace there(other);
          const auto across = static_cast<std::size_t>(there.across);
          if (n[across] != static_cast<std::size_t>(there.node(mesh_))) continue;
          const std::size_t at =
              n[static_cast<std::size_t>(there.second)] * nodes_[static_cast<std::size_t>(there.first)] +
              n[static_cast<std::size_t>(there.first)];
          const FaceFields& others = faces[static_cast<std::size_t>(other)];
          const BoundaryConditionType other_kind = problem_.boundaries[other].kind;
          if (!others.data.empty()) rest -= others.data[at];
          if (other_kind == BoundaryConditionType::dirichlet) {
            ++dirichlet;
            of_dirichlet += others.own[at];
          }
        }
        if (kind == BoundaryConditionType::periodic && dirichlet > 0) {
          const auto opposite = static_cast<std::size_t>(face) ^ 1U;
          sum += fields.own[next] / 2;
          fluxes.faces[opposite] += fields.own[next] / 2;
        } else if (dirichlet > 1) {
          sum += fields.own[next] + (rest - of_dirichlet) / dirichlet;
        } else {
          sum += rest;
        }
      }
    fluxes.faces[static_cast<std::size_t>(face)] -= sum;
  }
  if (problem_.reaction > 0) fluxes.reaction = problem_.reaction * integral(ctx, nodal);
  return fluxes;
}

double BoxDiscretization::integral(Context& ctx, std::span<const double> nodal) const {
  const Values x = stratum::hat_integrals(mesh_.x()), y = stratum::hat_integrals(mesh_.y()),
               z = stratum::hat_integrals(mesh_.z());
  Values planes(nodes_[2], 0.0);
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (std::size_t k = 0; k < nodes_[2]; ++k)
    for (std::size_t j = 0; j < nodes_[1]; ++j) {
      double row = 0;
      for (std::size_t i = 0; i < nodes_[0]; ++i) row += x[i] * nodal[number(i, j, k)];
      planes[k] += y[j] * row;
    }
  double sum = 0;
  for (std::size_t k = 0; k < nodes_[2]; ++k) sum += z[k] * planes[k];
  return sum;
}

double BoxDiscretization::volume() const { return mesh_.x().length() * mesh_.y().length() * mesh_.z().length(); }

SolutionRange3D BoxDiscretization::range(Context& ctx, std::span<const double> nodal) const {
  using Node = std::array<std::size_t, 3>;
  /// Of a plane of nodes, and of the edges from it on.
  struct Found {
    double smallest = std::numeric_limits<double>::infinity(), largest = -smallest;
    double low = smallest, high = largest, step = -1;
    Node at_smallest{}, at_largest{}, from{}, to{};

    void take(double value, const Node& here) {
      if (value < smallest) smallest = value, at_smallest = here;
      if (value > largest) largest = value, at_largest = here;
    }
    void take_step(double change, const Node& begin, const Node& end) {
      if (change > step) step = change, from = begin, to = end;
    }
  };
  const auto value_of = [&](const Node& n) { return nodal[number(n[0], n[1], n[2])]; };
  const auto is_last = [&](const Node& n, std::size_t d) { return n[d] + 1 == nodes_[d]; };
  const auto is_outer = [&](const Node& n, std::size_t d) {
    return (n[d] == 0 && !cut_[2 * d]) || (is_last(n, d) && !cut_[2 * d + 1]);
  };
  std::vector<Found> planes(nodes_[2]);
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (std::size_t k = 0; k < nodes_[2]; ++k) {
    Found found;
    for (std::size_t j = 0; j < nodes_[1]; ++j)
      for (std::size_t i = 0; i < nodes_[0]; ++i) {
        const Node here{i, j, k};
        const double value = value_of(here);
        found.take(value, here);
        if (is_outer(here, 0) || is_outer(here, 1) || is_outer(here, 2)) {
          found.low = std::min(found.low, value);
          found.high = std::max(found.high, value);
        }
        for (std::size_t d = 0; d < 3; ++d) {
          // Edges within a face are left out.
          if (is_last(here, d) || is_outer(here, (d + 1) % 3) || is_outer(here, (d + 2) % 3)) continue;
          Node next = here;
          ++next[d];
          found.take_step(std::abs(value_of(next) - value), here, next);
        }
      }
    planes[k] = found;
  }
  Found all;
  for (const Found& plane : planes) {
    all.take(plane.smallest, plane.at_smallest);
    all.take(plane.largest, plane.at_largest);
    all.take_step(plane.step, plane.from, plane.to);
    all.low = std::min(all.low, plane.low);
    all.high = std::max(all.high, plane.high);
  }
  const auto at = [&](const Node& n) {
    const Point3D p = node_point(mesh_, static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2]));
    return NodalValue3D{value_of(n), p.x, p.y, p.z};
  };
  SolutionRange3D range{at(all.at_smallest), at(all.at_largest), all.low, all.high, {}, {}};
  if (all.step >= 0) {
    range.step_from = at(all.from);
    range.step_to = at(all.to);
  }
  return range;
}

}  // namespace stratum
