// What is asked of a solution in a box: errors, fluxes, extremes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <stratum/assembly/box_bodies.hpp>
#include <stratum/assembly/box_discretization.hpp>
#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/error_sums.hpp>
#include <stratum/assembly/expressions/box_kernels.hpp>
#include <stratum/assembly/expressions/gpu_box_integrals.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/line_loads.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/core/device/simd.hpp>
#include <stratum/core/operators/box_operator.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

/// The 3-point rule on an axis, and K on its intervals.
struct ErrorLine {
  std::vector<LinePoint> at;
  const Values *widths, *k, *w;

  ErrorLine(const Axis& axis, const Values& k_of, const Values& w_of) : widths(&axis.widths()), k(&k_of), w(&w_of) {
    for (int i = 0; i < axis.size(); ++i)
      for (const auto& [t, weight] : gauss3) at.push_back(LineInterval(axis, i).at(t));
  }
  [[nodiscard]] std::size_t cells() const { return widths->size(); }
};

/// The sums of one row of cells, in packs of them. Directions are those of storage.
template <class F>
struct ErrorsOfRow {
  const F& exact;
  const std::array<ErrorLine, 3>& lines;
  const std::array<std::size_t, 3>& order;
  const BoxMaterial* cells;  // of a K that is not separable, in the order of the box; else null
  FieldView<const double, 3> u;
  double reaction;
  std::size_t j, k;
  ErrorSums& sums;

  template <int bytes>
  STRATUM_INLINE void run() const {
    using V = simd::Pack<double, bytes>;
    constexpr std::size_t lanes = static_cast<std::size_t>(bytes) / sizeof(double);
    const auto filled = [](double value) { return simd::filled<double, bytes>(value); };
    const auto nothing = [&]() -> FieldSumsOf<V> {
      const FieldSums none = no_field_sums();
      return {filled(0), filled(0), filled(0), filled(none.smallest), filled(none.largest)};
    };
    const auto &x = lines[0], &y = lines[1], &z = lines[2];
    const double hy = (*y.widths)[j], hz = (*z.widths)[k];
    const double materials[3] = {(*y.w)[j] * (*z.w)[k], (*y.k)[j] * (*z.w)[k], (*y.w)[j] * (*z.k)[k]};
    FieldSumsOf<V> error = nothing(), known = nothing();
    V area = filled(0);
    for (std::size_t first = 0; first < x.cells(); first += lanes) {
      // Lanes behind the last cell have that one, of no volume.
      double numbers[3][3][3][lanes], of_corners[2][2][2][lanes], widths[lanes], there[lanes], of_k[3][lanes];
      for (std::size_t l = 0; l < lanes; ++l) {
        const std::size_t i = std::min(first + l, x.cells() - 1);
        there[l] = first + l < x.cells() ? 1 : 0;
        widths[l] = (*x.widths)[i];
        const double factors[3] = {(*x.k)[i], (*x.w)[i], (*x.w)[i]};
        const auto of_cell =
            cells == nullptr ? std::array<double, 3>{} : cells->at((k * y.cells() + j) * x.cells() + i);
        for (std::size_t d = 0; d < 3; ++d) of_k[d][l] = cells == nullptr ? factors[d] * materials[d] : of_cell[d];
        for (std::size_t c = 0; c < 2; ++c)
          for (std::size_t b = 0; b < 2; ++b)
            for (std::size_t a = 0; a < 2; ++a)
              of_corners[c][b][a][l] = u.row(static_cast<int>(j + b), static_cast<int>(k + c))[i + a];
        for (std::size_t r = 0; r < 3; ++r)
          for (std::size_t q = 0; q < 3; ++q)
            for (std::size_t p = 0; p < 3; ++p) {
              std::array<LinePoint, 3> point;
              point[order[0]] = x.at[3 * i + p];
              point[order[1]] = y.at[3 * j + q];
              point[order[2]] = z.at[3 * k + r];
              numbers[r][q][p][l] = evaluate(exact, make_point(point[0], point[1], point[2]), "exact solution");
            }
      }
      V values[3][3][3], corners[2][2][2];
      for (int n = 0; n < 27; ++n) (&values[0][0][0])[n] = simd::pack<bytes>((&numbers[0][0][0])[n]);
      for (int n = 0; n < 8; ++n) (&corners[0][0][0])[n] = simd::pack<bytes>((&of_corners[0][0][0])[n]);
      const V hx = simd::pack<bytes>(widths), volume = hx * hy * hz * simd::pack<bytes>(there);
      const V by[3] = {filled(1) / hx, filled(1 / hy), filled(1 / hz)};
      const V material[3] = {simd::pack<bytes>(of_k[0]), simd::pack<bytes>(of_k[1]), simd::pack<bytes>(of_k[2])};
      add_box_cell(values, by, volume, material, reaction, known);
      for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t q = 0; q < 3; ++q)
          for (std::size_t p = 0; p < 3; ++p)
            values[r][q][p] = trilinear(corners, filled(gauss3[p].t), gauss3[q].t, gauss3[r].t) - values[r][q][p];
      add_box_cell(values, by, volume, material, reaction, error);
      area += volume;
    }
    for (std::size_t l = 0; l < lanes; ++l) {
      const auto lane = [l](const FieldSumsOf<V>& of) {
        return FieldSums{of.square[l], of.integral[l], of.energy[l], of.smallest[l], of.largest[l]};
      };
      add(ErrorSums{lane(error), lane(known), area[l]}, sums);
    }
  }
};

/// Calls use(f) with what f is, where that is known: calls of it are inlined then.
template <class Use>
void with_known(const ScalarFunction3D& f, const Use& use) {
  if (const auto* const polynomial = f.target<BoxPolynomialSolution>())
    use(*polynomial);
  else
    use(f);
}

}  // namespace

std::optional<RelativeErrors> BoxDiscretization::relative_errors(const Context& ranks, Context& ctx,
                                                                 StoredBox<const double> u) const {
  if (!problem_.has_exact()) return std::nullopt;
  const ScalarFunction3D exact = exact_function(problem_);
  const auto of_all = [&](ErrorSums all) {
    if (ranks.subdomains() > 1) {
      const auto parts = ranks.communicator()->gather_on_host(std::exchange(all, no_error_sums()));
      for (const ErrorSums& part : parts) add(part, all);
    }
    return relative(all, singular_);
  };
  const BoxMaterial* const cells = material_->is_separable() ? nullptr : material_.get();
  if (ctx.on_gpu() || (cells != nullptr && u.order != std::array<std::size_t, 3>{0, 1, 2})) {
    const bool is_product = ctx.on_gpu() && cells == nullptr;
    if (const auto sums = !is_product ? std::nullopt
                                      : box_errors_on_gpu(ctx, mesh_, u.order, exact, u.view, u.stored(k_),
                                                          u.stored(w_), problem_.reaction))
      return of_all(*sums);
    const Values nodal = to_host(ctx, u);
    Context host(Backend::cpu, ctx.threads());
    return relative_errors(ranks, host, nodes_on_host(nodal));
  }
  const auto line = [&](std::size_t s) {
    const std::size_t d = u.order[s];
    return ErrorLine(mesh_.axis(static_cast<int>(d)), k_[d], w_[d]);
  };
  const std::array<ErrorLine, 3> lines{line(0), line(1), line(2)};
  std::vector<ErrorSums> layers(lines[2].cells());
  for_each_row(
      ctx, static_cast<int>(layers.size()),
      [&](int layer, const ScalarFunction3D& own) {
        ErrorSums sums = no_error_sums();
        with_known(own, [&](const auto& f) {
          for (std::size_t j = 0; j < lines[1].cells(); ++j)
            simd::run_widest(ErrorsOfRow<std::decay_t<decltype(f)>>{f, lines, u.order, cells, u.view, problem_.reaction,
                                                                    j, static_cast<std::size_t>(layer), sums});
        });
        layers[static_cast<std::size_t>(layer)] = sums;
      },
      exact);
  ErrorSums all = no_error_sums();
  for (const ErrorSums& layer : layers) add(layer, all);
  return of_all(all);
}

std::array<double, 3> BoxDiscretization::material_at(const std::array<std::size_t, 3>& cell) const {
  const auto& [i, j, k] = cell;
  if (!material_->is_separable()) return material_->at((k * (nodes_[1] - 1) + j) * (nodes_[0] - 1) + i);
  return {k_[0][i] * w_[1][j] * w_[2][k], w_[0][i] * k_[1][j] * w_[2][k], w_[0][i] * w_[1][j] * k_[2][k]};
}

StoredBox<const double> BoxDiscretization::nodes_on_host(std::span<const double> nodal) const {
  const auto n = [&](std::size_t d) { return static_cast<int>(nodes_[d]); };
  return {{nodal.data(), {n(0), n(1), n(2)}, {n(0), std::int64_t{n(0)} * n(1)}}};
}

BoundaryFluxes3D BoxDiscretization::fluxes(Context& ctx, StoredBox<const double> u, const FaceLoads& loads) const {
  // Natural faces have no weights.
  std::array<Values, 3> ones;
  for (std::size_t d = 0; d < 3; ++d) ones[d].assign(nodes_[d] - 1, 1.0);
  const std::array<AxisProducts, 3> plain{
      {{mesh_.x(), ones[0], ones[0]}, {mesh_.y(), ones[1], ones[1]}, {mesh_.z(), ones[2], ones[2]}}};
  BoundaryFluxes3D fluxes;
  fluxes.load = loads.sum;
  fluxes.magnitudes = loads.magnitudes;

  /// What a node of a face has, by the two directions along it.
  struct FaceFields {
    Values here, beside;         // u_h there, and at the next nodes inside
    Values residual, own, data;  // of the natural equations; of K grad u_h; of the data
    double rounding = 0, magnitudes = 0;
  };
  std::array<FaceFields, 6> faces;
  const auto plain_product = [&](const FacePlace& place, const Values& v) {
    const auto &a = plain[static_cast<std::size_t>(place.first)], &b = plain[static_cast<std::size_t>(place.second)];
    const std::size_t row = a.nodes(), rows = b.nodes();
    Values through(v.size()), result(v.size());
    for (std::size_t q = 0; q < rows; ++q)
      for (std::size_t p = 0; p < row; ++p)
        through[q * row + p] = a.times_mass(p, [&](std::size_t n) { return v[q * row + n]; });
    for (std::size_t q = 0; q < rows; ++q)
      for (std::size_t p = 0; p < row; ++p)
        result[q * row + p] = b.times_mass(q, [&](std::size_t n) { return through[n * row + p]; });
    return result;
  };
  for (const BoxFace face : all_box_faces) {
    const FacePlace place(face);
    const auto plane = [&](int node) { return to_host(ctx, u.part(static_cast<std::size_t>(place.across), node, 1)); };
    const int outer = place.node(mesh_);
    faces[static_cast<std::size_t>(face)].here = plane(outer);
    faces[static_cast<std::size_t>(face)].beside = plane(place.last ? outer - 1 : 1);
  }
  const auto add_face = [&](BoxFace face) {
    const FacePlace place(face);
    FaceFields& fields = faces[static_cast<std::size_t>(face)];
    const auto across = static_cast<std::size_t>(place.across);
    const auto first = static_cast<std::size_t>(place.first), second = static_cast<std::size_t>(place.second);
    const Values& of_u = fields.here;
    const std::size_t row = nodes_[first];
    fields.own.assign(of_u.size(), 0);
    fields.residual = fields.own;
    double sizes = 0;
    // The cells of the face, by their element matrices from differences: those of their four nodes on the face.
    for (std::size_t q = 0; q + 1 < nodes_[second]; ++q)
      for (std::size_t p = 0; p + 1 < row; ++p) {
        std::array<std::size_t, 3> cell{};
        cell[across] = place.last ? nodes_[across] - 2 : 0;
        cell[first] = p;
        cell[second] = q;
        const auto k = material_at(cell);
        const auto width = [&](std::size_t d) { return mesh_.axis(static_cast<int>(d)).widths()[cell[d]]; };
        const double a = width(across), f = width(first), s = width(second);
        const double along = k[across] * (f / 6) * (s / 6) / a, in_first = k[first] * (a / 6) * (s / 6) / f,
                     in_second = k[second] * (a / 6) * (f / 6) / s,
                     mass = problem_.reaction * (a / 6) * (f / 6) * (s / 6);
        double on[2][2], in[2][2];  // at the face and beside it, by second and first
        for (std::size_t y = 0; y < 2; ++y)
          for (std::size_t x = 0; x < 2; ++x) {
            on[y][x] = fields.here[(q + y) * row + p + x];
            in[y][x] = fields.beside[(q + y) * row + p + x];
            sizes += 9 * along * std::max(std::abs(on[y][x]), std::abs(in[y][x]));
          }
        for (std::size_t y = 0; y < 2; ++y)
          for (std::size_t x = 0; x < 2; ++x) {
            const std::size_t y2 = 1 - y, x2 = 1 - x, n = (q + y) * row + p + x;
            const auto jump = [&](std::size_t r, std::size_t c) { return on[r][c] - in[r][c]; };
            const double flux = along * (4 * jump(y, x) + 2 * (jump(y2, x) + jump(y, x2)) + jump(y2, x2));
            const auto difference = [&](const double(&v)[2][2]) {
              return in_first * (2 * (v[y][x] - v[y][x2]) + (v[y2][x] - v[y2][x2])) +
                     in_second * (2 * (v[y][x] - v[y2][x]) + (v[y][x2] - v[y2][x2])) +
                     mass * (4 * v[y][x] + 2 * (v[y2][x] + v[y][x2]) + v[y2][x2]);
            };
            fields.own[n] += flux;
            fields.residual[n] += flux + 2 * difference(on) + difference(in);
          }
      }
    for (std::size_t n = 0; n < of_u.size(); ++n) fields.residual[n] -= loads.faces[static_cast<std::size_t>(face)][n];
    const BoundaryConditionType kind = problem_.boundaries[face].kind;
    if (boundary_type(kind) == BoundaryType::neumann) {
      fields.data = data_[static_cast<std::size_t>(face)];
      const Values mass_of_u = plain_product(place, of_u);
      for (std::size_t n = 0; n < of_u.size(); ++n) {
        fields.data[n] -= alpha_[static_cast<std::size_t>(face)] * mass_of_u[n];
        fluxes.faces[static_cast<std::size_t>(face)] -= fields.data[n];
        fields.magnitudes += std::abs(fields.data[n]);
      }
    }
    constexpr double eps = std::numeric_limits<double>::epsilon();
    if (boundary_type(kind) != BoundaryType::neumann) {
      fields.rounding = eps * sizes;
      for (const double residual : fields.residual) fields.magnitudes += std::abs(residual);
    }
  };
#pragma omp parallel for schedule(dynamic) num_threads(ctx.threads())
  for (std::size_t f = 0; f < all_box_faces.size(); ++f) add_face(all_box_faces[f]);
  for (const FaceFields& fields : faces) {
    fluxes.rounding += fields.rounding;
    fluxes.magnitudes += fields.magnitudes;
  }

  // What nodes have that bodies hold is the bodies' flux, but for those of Dirichlet faces.
  const BoxBodies* const bodies = material_->bodies.get();
  const auto is_held = [&](const std::array<std::size_t, 3>& n) {
    const auto place = [&](std::size_t d) { return n[d] + static_cast<std::size_t>(first_node_[d]); };
    return bodies != nullptr && bodies->node[bodies->node_number(place(0), place(1), place(2))] == BoxBodies::given;
  };
  // The parts of Dirichlet and periodic faces, node by node.
  for (const BoxFace face : all_box_faces) {
    const BoundaryConditionType kind = problem_.boundaries[face].kind;
    if (boundary_type(kind) == BoundaryType::neumann) continue;
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
        } else if (dirichlet > 0 || !is_held(n)) {
          sum += rest;
        }
      }
    fluxes.faces[static_cast<std::size_t>(face)] -= sum;
  }
  if (problem_.reaction > 0) fluxes.reaction = problem_.reaction * integral(ctx, u);
  return fluxes;
}

double BoxDiscretization::integral(Context& ctx, StoredBox<const double> u) const {
  const BoxFactors hats(
      ctx, {stratum::hat_integrals(mesh_.x()), stratum::hat_integrals(mesh_.y()), stratum::hat_integrals(mesh_.z())});
  return box_sum(ctx, u.stored(hats.begin()), u.view);
}

double BoxDiscretization::volume() const { return mesh_.x().length() * mesh_.y().length() * mesh_.z().length(); }

BoxDiscretization::FluxesOfEdge BoxDiscretization::fluxes_of_edge(Context& ctx, StoredBox<const double> u,
                                                                  const SolutionRange3D::Edge& edge) const {
  const auto d = static_cast<std::size_t>(edge.axis);
  const Axis& axis = mesh_.axis(edge.axis);
  std::array<int, 3> node = edge.node;
  bool on_line = true;
  for (std::size_t e = 0; e < 3; ++e) {
    node[e] -= first_node_[e];
    if (e != d) on_line = on_line && node[e] >= 0 && node[e] <= mesh_.axis(static_cast<int>(e)).size();
  }
  // Along the line other factors of a separable K are the same; else K is the mean of the cells around the edge.
  const auto k_of = [&](int interval) {
    const auto i = static_cast<std::size_t>(interval);
    if (material_->is_separable()) return k_[d][i];
    double sum = 0, count = 0;
    for (int b = -1; b <= 0; ++b)
      for (int c = -1; c <= 0; ++c) {
        std::array<int, 3> cell = node;
        cell[d] = interval;
        cell[(d + 1) % 3] += b;
        cell[(d + 2) % 3] += c;
        const auto is_cell = [&](std::size_t e) {
          return cell[e] >= 0 && cell[e] < mesh_.axis(static_cast<int>(e)).size();
        };
        if (!is_cell((d + 1) % 3) || !is_cell((d + 2) % 3)) continue;
        sum += material_at({static_cast<std::size_t>(cell[0]), static_cast<std::size_t>(cell[1]),
                            static_cast<std::size_t>(cell[2])})[d];
        ++count;
      }
    return sum / count;
  };
  const auto flux = [&](int interval) {
    if (!on_line || interval < 0 || interval >= axis.size()) return std::nan("");
    const auto i = static_cast<std::size_t>(interval);
    std::array<int, 3> begin = node, end = node;
    begin[d] = interval;
    end[d] = interval + 1;
    return k_of(interval) * (value_of(ctx, u, end) - value_of(ctx, u, begin)) / axis.widths()[i];
  };
  return {flux(node[d] - 1), flux(node[d]), flux(node[d] + 1)};
}

double change_of_flux(const BoxDiscretization::FluxesOfEdge& fluxes) {
  if (fluxes.own == 0) return 0;
  double change = -1;
  for (const double beside : {fluxes.before, fluxes.behind})
    if (!std::isnan(beside)) change = std::max(change, std::abs(fluxes.own - beside));
  return change < 0 ? HUGE_VAL : change / std::abs(fluxes.own);
}

SolutionRange3D BoxDiscretization::range(Context& ctx, StoredBox<const double> u) const {
  const auto place_of = [&](double value, const std::array<int, 3>& at) {
    const Point3D p = node_point(mesh_, at[0], at[1], at[2]);
    return NodalValue3D{value, p.x, p.y, p.z};
  };
  const BoxNode smallest = smallest_node(ctx, u), largest = largest_node(ctx, u);
  SolutionRange3D range{place_of(smallest.value, smallest.at),
                        place_of(largest.value, largest.at),
                        std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity(),
                        {},
                        {}};
  for (const BoxFace face : all_box_faces) {
    if (is_cut(face)) continue;
    const FacePlace place(face);
    const auto of_face = u.part(static_cast<std::size_t>(place.across), place.node(mesh_), 1);
    range.smallest_on_boundary = std::min(range.smallest_on_boundary, smallest_node(ctx, of_face).value);
    range.largest_on_boundary = std::max(range.largest_on_boundary, largest_node(ctx, of_face).value);
  }
  // Edges within a face are left out. Of equal steps the one counts whose first node comes first.
  double step = -1;
  int axis = -1;
  std::array<int, 3> from{}, to{};
  for (std::size_t d = 0; d < 3; ++d) {
    StoredBox<const double> inner = u.part(d, 0, mesh_.axis(static_cast<int>(d)).size());
    std::array<int, 3> first{};
    for (const std::size_t other : {(d + 1) % 3, (d + 2) % 3}) {
      first[other] = cut_[2 * other] ? 0 : 1;
      const int end = mesh_.axis(static_cast<int>(other)).size() + (cut_[2 * other + 1] ? 1 : 0);
      inner = inner.part(other, first[other], end - first[other]);
    }
    if (inner.view.nodes() == 0) continue;
    BoxNode found = largest_step(ctx, inner, d);
    for (std::size_t e = 0; e < 3; ++e) found.at[e] += first[e];
    const auto reversed = [](const std::array<int, 3>& n) { return std::array{n[2], n[1], n[0]}; };
    if (found.value < step || (found.value == step && reversed(found.at) >= reversed(from))) continue;
    step = found.value;
    axis = static_cast<int>(d);
    from = to = found.at;
    ++to[d];
  }
  if (step >= 0) {
    range.step_from = place_of(value_of(ctx, u, from), from);
    range.step_to = place_of(value_of(ctx, u, to), to);
    range.edge = {from, axis};
    for (std::size_t d = 0; d < 3; ++d) range.edge.node[d] += first_node_[d];
    range.change_of_flux = change_of_flux(fluxes_of_edge(ctx, u, range.edge));
  }
  return range;
}

namespace {

/// Of equal values the first in the order of nodes, as on one rank.
bool is_before(const NodalValue3D& a, const NodalValue3D& b) {
  return std::array{a.z, a.y, a.x} < std::array{b.z, b.y, b.x};
}

}  // namespace

SolutionRange3D joined(const std::vector<SolutionRange3D>& parts) {
  SolutionRange3D all = parts.front();
  const auto step = [](const SolutionRange3D& part) { return std::abs(part.step_to.value - part.step_from.value); };
  for (const SolutionRange3D& part : parts) {
    const auto take = [](NodalValue3D& value, const NodalValue3D& other, bool beyond) {
      if (beyond || (other.value == value.value && is_before(other, value))) value = other;
    };
    take(all.smallest, part.smallest, part.smallest.value < all.smallest.value);
    take(all.largest, part.largest, part.largest.value > all.largest.value);
    all.smallest_on_boundary = std::min(all.smallest_on_boundary, part.smallest_on_boundary);
    all.largest_on_boundary = std::max(all.largest_on_boundary, part.largest_on_boundary);
    const auto place = [](const SolutionRange3D::Edge& edge) {
      return std::array{edge.node[2], edge.node[1], edge.node[0], edge.axis};
    };
    if (part.edge.axis < 0) continue;
    const bool later = step(part) < step(all) || (step(part) == step(all) && place(part.edge) >= place(all.edge));
    if (all.edge.axis >= 0 && later) continue;
    all.step_from = part.step_from;
    all.step_to = part.step_to;
    all.edge = part.edge;
    all.change_of_flux = part.change_of_flux;
  }
  return all;
}

}  // namespace stratum
