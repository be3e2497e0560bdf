#include <stratum/assembly/box_discretization.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/expressions/expression_source.hpp>
#include <stratum/assembly/expressions/gpu_box_integrals.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/line_loads.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas_3d.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

std::size_t cells_of(const Axis& axis) { return static_cast<std::size_t>(axis.size()); }

/// Rounding alone is left of a right-hand side without its mean, its magnitudes adding up to so much: a solver would take that
/// for a right-hand side.
bool is_rounding(double magnitudes, const Compatibility& found) {
  constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();
  return magnitudes <= rounding * found.sum_of_magnitudes;
}

/// The points of an axis's intervals, one after the other.
std::vector<LinePoint> points_of(const Axis& axis, std::span<const GaussPoint> rule) {
  std::vector<LinePoint> points;
  for (int i = 0; i < axis.size(); ++i)
    for (const auto& [t, weight] : rule) points.push_back(LineInterval(axis, i).at(t));
  return points;
}

/// Distances of a face's nodes, the first direction along it fastest, along the directions of the box.
std::array<std::int64_t, 3> apart_on_face(const FacePlace& place, std::int64_t row) {
  std::array<std::int64_t, 3> apart{};
  apart[static_cast<std::size_t>(place.first)] = 1;
  apart[static_cast<std::size_t>(place.second)] = row;
  return apart;
}

/// A term of a load: factor f(x) g(y) h(z), by the integrals of f phi_i and so on.
struct LoadTerm {
  double factor;
  std::array<const Values*, 3> of;
};

}  // namespace

AxisFactors axis_factors(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, const BoxMaterial& material,
                         std::size_t d) {
  const Axis& axis = mesh.axis(static_cast<int>(d));
  const AxisProducts products{axis, material.k[d], material.w[d]};
  AxisFactors factors;
  factors.periodic = axis.is_periodic();
  const auto put = [&](double k, double m) {
    factors.k.push_back(k);
    factors.m.push_back(m);
  };
  const auto alpha = [&](std::size_t end) { return face_alpha(mesh, problem, all_box_faces[2 * d + end]); };
  const std::size_t cells = cells_of(axis);
  if (factors.periodic) put(products.stiffness(cells - 1), products.mass(cells - 1));
  if (axis.first_boundary() == BoundaryType::neumann) put(alpha(0), 0);
  for (std::size_t i = 0; i < cells; ++i) {
    expects(std::isfinite(products.stiffness(i)), "K / h = ", material.k[d][i], " / ", axis.widths()[i],
            " overflows in interval ", i, " of ", axis_names[d]);
    put(products.stiffness(i), products.mass(i));
  }
  if (axis.last_boundary() == BoundaryType::neumann) put(alpha(1), 0);
  return factors;
}

BoxDiscretization::BoxDiscretization(Context& ctx, TensorMesh<3> mesh, PoissonProblem3D problem,
                                     std::shared_ptr<const BoxMaterial> material, int points)
    : mesh_(std::move(mesh)), problem_(std::move(problem)), points_(points), material_(std::move(material)),
      k_(material_->k), w_(material_->w), kept_(std::make_shared<KeptBoxKernel>()) {
  expects(points >= 1 && points <= 4, "loads are integrated by 1 to 4 points a direction, not ", points);
  expects(std::isfinite(problem_.reaction) && problem_.reaction >= 0,
          "the reaction coefficient c must be finite and not negative, not ", problem_.reaction);
  for (const BoxFace face : all_box_faces) {
    const BoundaryCondition3D& condition = problem_.boundaries[face];
    expects(has_alpha(condition.kind) || !condition.alpha, "the ", to_string(face), " face is ",
            to_string(condition.kind), " and has an alpha, which belongs to Robin faces");
    alpha_[static_cast<std::size_t>(face)] = face_alpha(mesh_, problem_, face);
  }
  for (std::size_t d = 0; d < 3; ++d) nodes_[d] = cells_of(mesh_.axis(static_cast<int>(d))) + 1;
  for (std::size_t d = 0; d < 3; ++d) factors_[d] = axis_factors(mesh_, problem_, *material_, d);
  singular_ = stratum::is_singular(mesh_, problem_);
  integrate_face_data(ctx);
}

BoxDiscretization::BoxDiscretization(Context& ctx, const BoxDiscretization& whole, int axis, int first, int end)
    : BoxDiscretization(whole) {
  const auto d = static_cast<std::size_t>(axis);
  const Axis& all = whole.mesh_.axis(axis);
  std::array<Axis, 3> axes{mesh_.x(), mesh_.y(), mesh_.z()};
  axes[d] = all.part(first, end);
  mesh_ = TensorMesh<3>(axes, mesh_.name());
  nodes_[d] = cells_of(axes[d]) + 1;
  first_node_[d] = first;
  if (!material_->is_separable()) {
    expects(axis == 2, "a box whose K is no product is cut across z, not ", axis_names[d]);
    const auto layer = static_cast<std::ptrdiff_t>(cells_of(mesh_.x()) * cells_of(mesh_.y()));
    auto own = std::make_shared<BoxMaterial>();
    own->why_not_separable = material_->why_not_separable;
    own->bodies = material_->bodies;
    own->contrast = material_->contrast;
    own->jump = material_->jump;
    own->steepness = material_->steepness;
    for (Values BoxMaterial::*const k : {&BoxMaterial::xx, &BoxMaterial::yy, &BoxMaterial::zz}) {
      const Values& of_all = (*material_).*k;
      if (!of_all.empty()) (*own).*k = {of_all.begin() + first * layer, of_all.begin() + end * layer};
    }
    own->k = material_->k;
    own->w = material_->w;
    material_ = std::move(own);
  }
  for (Values* const factors : {&k_[d], &w_[d]}) *factors = {factors->begin() + first, factors->begin() + end};
  cut_[2 * d] = first > 0;
  cut_[2 * d + 1] = end < all.size();
  clear_cuts();
  integrate_face_data(ctx);
}

void BoxDiscretization::clear_cuts() {
  if (std::none_of(cut_.begin(), cut_.end(), [](bool cut) { return cut; })) return;
  // The functions of faces without their own, and a solution that is known, which cuts must not change.
  const ScalarFunction3D exact = problem_.has_exact() ? exact_function(problem_) : ScalarFunction3D{};
  problem_.boundary = boundary_function(problem_);
  problem_.exact = exact;
  for (const BoxFace face : all_box_faces) {
    if (!is_cut(face)) continue;
    problem_.boundaries[face] = {.kind = BoundaryConditionType::neumann};
    alpha_[static_cast<std::size_t>(face)] = 0;
  }
}

std::array<int, 3> BoxDiscretization::unknowns() const {
  return {mesh_.x().unknowns(), mesh_.y().unknowns(), mesh_.z().unknowns()};
}

BoxCoefficients BoxDiscretization::coefficients(const Context& ctx, const BoxSlab& slab, int planes) const {
  BoxCoefficients c{factors_, {}, {}, {}, problem_.reaction, slab};
  expects(!material_->is_separable(), "a separable K has no cells");
  // Of a slab those of its stored planes.
  std::vector<std::size_t> layers(factors_[2].k.size());
  std::iota(layers.begin(), layers.end(), 0U);
  if (slab.planes > 0) {
    layers = intervals_of(slab, planes);
    c.axes[2] = of_slab(factors_[2], slab, planes);
  }
  const auto intervals = [&](std::size_t d) { return c.axes[d].k.size(); };
  // Cells before the unknowns of a direction; numbers beyond the last one are outside the box, and have nothing of their own.
  const auto cell_of = [&](std::size_t d, std::size_t interval) {
    const Axis& axis = mesh_.axis(static_cast<int>(d));
    const std::size_t cells = cells_of(axis);
    if (axis.is_periodic()) return (interval + cells - 1) % cells;
    return axis.first_boundary() == BoundaryType::neumann ? interval - 1 : interval;
  };
  // Of every interval of a direction its cell, none of those outside.
  constexpr auto none = static_cast<std::size_t>(-1);
  std::array<std::vector<std::size_t>, 3> cell;
  bool as_they_are = true;
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t i = 0; i < intervals(d); ++i) {
      const std::size_t of = cell_of(d, d == 2 ? layers[i] : i);
      cell[d].push_back(of < nodes_[d] - 1 ? of : none);
      as_they_are = as_they_are && of == i && intervals(d) == nodes_[d] - 1;
    }
  const auto spread = [&](const Values& of_cells) {
    if (of_cells.empty() || as_they_are) return of_cells;
    Values all(intervals(0) * intervals(1) * intervals(2), 1.0);
    const auto rows = static_cast<std::int64_t>(intervals(1) * intervals(2));
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const std::size_t y = cell[1][r % intervals(1)], z = cell[2][r / intervals(1)];
      if (y == none || z == none) continue;
      const double* const from = &of_cells[(z * (nodes_[1] - 1) + y) * (nodes_[0] - 1)];
      double* const to = &all[r * intervals(0)];
      for (std::size_t i = 0; i < intervals(0); ++i)
        if (cell[0][i] != none) to[i] = from[cell[0][i]];
    }
    return all;
  };
  c.xx = spread(material_->xx);
  c.yy = spread(material_->yy);
  c.zz = spread(material_->zz);
  return c;
}

void BoxDiscretization::integrate_face_data(Context& ctx) {
  const auto rule = gauss_rule(points_);
  for (const BoxFace face : all_box_faces) {
    const BoundaryCondition3D& condition = problem_.boundaries[face];
    if (boundary_type(condition.kind) != BoundaryType::neumann) continue;
    const FacePlace place(face);
    const Axis &first = mesh_.axis(place.first), &second = mesh_.axis(place.second);
    Values& data = data_[static_cast<std::size_t>(face)];
    const std::size_t row = cells_of(first) + 1;
    data.assign(row * (cells_of(second) + 1), 0.0);
    const ScalarFunction3D g = flux_function(condition);
    if (!g) continue;
    const LinePoint across = node_of(mesh_.axis(place.across), place.node(mesh_));
    const auto add_row = [&](int j, const ScalarFunction3D& own) {
      for (int i = 0; i < first.size(); ++i) {
        const LineInterval a(first, i), b(second, j);
        double* const corner = &data[static_cast<std::size_t>(j) * row + static_cast<std::size_t>(i)];
        for (const auto& [s, weight_s] : rule)
          for (const auto& [t, weight_t] : rule) {
            const double value = weight_s * weight_t * a.width * b.width *
                                 evaluate(own, place.point(across, a.at(t), b.at(s)), "value of a face");
            corner[0] += value * (1 - t) * (1 - s);
            corner[1] += value * t * (1 - s);
            corner[row] += value * (1 - t) * s;
            corner[row + 1] += value * t * s;
          }
      }
    };
    // Rows of cells, even ones first: none of them has a row of nodes with another one in common.
    for (int parity = 0; parity < 2; ++parity)
      for_each_row(
          ctx, (second.size() + 1 - parity) / 2,
          [&](int n, const ScalarFunction3D& own) { add_row(2 * n + parity, own); }, g);
  }
}

void BoxDiscretization::set_data(Context& ctx, const PoissonProblem3D& problem) {
  problem_ = problem;
  clear_cuts();
  integrate_face_data(ctx);
}

BoxDiscretization::FaceLoads BoxDiscretization::load(Context& ctx, StoredBox<double> b) const {
  return load(ctx, rhs_function(problem_), b);
}

BoxDiscretization::FaceLoads BoxDiscretization::load(Context& ctx, const ScalarFunction3D& f,
                                                     StoredBox<double> b) const {
  expects(static_cast<bool>(f), "the right-hand side is an empty function");
  const auto text = expression_of(f);
  const bool is_constant = text && text->depends == std::array<bool, 3>{};
  if (is_constant || f.target<BoxPolynomialRhs>() != nullptr) return load_of_products(ctx, f, b);
  if (const auto on_gpu = load_on_gpu(ctx, f, b)) return *on_gpu;
  return take_load(ctx, host_load(ctx, f), b);
}

BoxDiscretization::FaceLoads BoxDiscretization::load_of_products(Context& ctx, const ScalarFunction3D& f,
                                                                 StoredBox<double> b) const {
  std::array<Values, 3> hats, parabolas, hats_there, parabolas_there;
  for (std::size_t d = 0; d < 3; ++d) {
    const Axis& axis = mesh_.axis(static_cast<int>(d));
    hats[d] = stratum::hat_integrals(axis);
    parabolas[d] = parabola_loads(axis);
    hats_there[d] = at_unknowns(axis, hats[d]);
    parabolas_there[d] = at_unknowns(axis, parabolas[d]);
  }
  const auto &h = hats, &p = parabolas;
  const BoxFactors h_there(ctx, hats_there), p_there(ctx, parabolas_there);
  std::vector<LoadTerm> terms;
  if (f.target<BoxPolynomialRhs>() != nullptr) {
    terms = {{2, {&h[0], &p[1], &p[2]}}, {2, {&p[0], &h[1], &p[2]}}, {2, {&p[0], &p[1], &h[2]}}};
    set_polynomial_load(ctx, h_there, p_there, b);
  } else {
    const double value = evaluate(f, node_point(mesh_, 0, 0, 0), "right-hand side");
    terms = {{value, {&h[0], &h[1], &h[2]}}};
    set_product(ctx, value, h_there, b);
  }
  ctx.synchronise();
  FaceLoads loads;
  const auto sum = [](const Values& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); };
  for (const auto& [factor, of] : terms) loads.sum += factor * sum(*of[0]) * sum(*of[1]) * sum(*of[2]);
  for (const BoxFace face : all_box_faces) {
    const FacePlace place(face);
    const auto across = static_cast<std::size_t>(place.across), first = static_cast<std::size_t>(place.first),
               second = static_cast<std::size_t>(place.second), node = static_cast<std::size_t>(place.node(mesh_));
    Values& numbers = loads.faces[static_cast<std::size_t>(face)];
    numbers.assign(nodes_[first] * nodes_[second], 0.0);
    for (const auto& [factor, of] : terms)
      for (std::size_t n = 0; n < numbers.size(); ++n)
        numbers[n] += factor * (*of[across])[node] * (*of[first])[n % nodes_[first]] * (*of[second])[n / nodes_[first]];
  }
  return loads;
}

std::optional<BoxDiscretization::FaceLoads> BoxDiscretization::load_on_gpu(Context& ctx, const ScalarFunction3D& f,
                                                                           StoredBox<double> b) const {
  if (!gpu_computes(ctx, f, static_cast<std::int64_t>(nodes()))) return std::nullopt;
  std::array<BoxLoadTarget::Nodes, 3> of_unknowns{}, of_all{};
  for (std::size_t d = 0; d < 3; ++d) {
    const Axis& axis = mesh_.axis(static_cast<int>(d));
    of_unknowns[d] = {axis.first_unknown(), axis.unknowns(), axis.is_periodic()};
    of_all[d] = {0, axis.size() + 1, false};
  }
  std::vector<BoxLoadTarget> targets{{b.stored(of_unknowns), b.view.data, b.stored(b.apart())}};
  FaceLoads loads;
  std::array<std::shared_ptr<void>, 6> memory;
  for (const BoxFace face : all_box_faces) {
    const FacePlace place(face);
    const auto f_at = static_cast<std::size_t>(face), row = nodes_[static_cast<std::size_t>(place.first)];
    loads.faces[f_at].resize(row * nodes_[static_cast<std::size_t>(place.second)]);
    memory[f_at] = allocate(ctx, loads.faces[f_at].size() * sizeof(double));
    auto of_face = of_all;
    of_face[static_cast<std::size_t>(place.across)] = {place.node(mesh_), 1, false};
    targets.push_back({b.stored(of_face), static_cast<double*>(memory[f_at].get()),
                       b.stored(apart_on_face(place, static_cast<std::int64_t>(row)))});
  }
  if (!box_loads_on_gpu(ctx, mesh_, b.order, f, points_, targets, *kept_)) return std::nullopt;
  for (std::size_t face = 0; face < memory.size(); ++face)
    copy_bytes(ctx, memory[face].get(), loads.faces[face].data(), loads.faces[face].size() * sizeof(double));
  ctx.synchronise();
  // Of the unknowns, and of the nodes that are none, once each.
  Context own = ctx.alone();
  const BoxSums of_unknowns_alone = box_sums(own, b.view);
  loads.sum = of_unknowns_alone.sum;
  loads.magnitudes = of_unknowns_alone.magnitudes;
  const auto is_dirichlet = [&](BoxFace face) {
    return problem_.boundaries[face].kind == BoundaryConditionType::dirichlet;
  };
  for (const BoxFace face : all_box_faces) {
    if (!is_dirichlet(face)) continue;
    const FacePlace place(face);
    const std::size_t row = nodes_[static_cast<std::size_t>(place.first)];
    const Values& numbers = loads.faces[static_cast<std::size_t>(face)];
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      std::array<int, 3> at{};
      at[static_cast<std::size_t>(place.first)] = static_cast<int>(n % row);
      at[static_cast<std::size_t>(place.second)] = static_cast<int>(n / row);
      const bool counted = std::any_of(all_box_faces.begin(), all_box_faces.end(), [&](BoxFace other) {
        const FacePlace there(other);
        return other < face && there.across != place.across && is_dirichlet(other) &&
               at[static_cast<std::size_t>(there.across)] == there.node(mesh_);
      });
      if (!counted) loads.sum += numbers[n];
    }
  }
  return loads;
}

std::vector<double> BoxDiscretization::host_load(Context& ctx, const ScalarFunction3D& f) const {
  const auto rule = gauss_rule(points_);
  const auto count = rule.size();
  const std::array<std::vector<LinePoint>, 3> at{points_of(mesh_.x(), rule), points_of(mesh_.y(), rule),
                                                 points_of(mesh_.z(), rule)};
  Values load(nodes(), 0.0);
  const auto add_layer = [&](std::size_t k, const ScalarFunction3D& own) {
    Values line(nodes_[0]);
    for (std::size_t j = 0; j + 1 < nodes_[1]; ++j)
      for (std::size_t r = 0; r < count; ++r)
        for (std::size_t s = 0; s < count; ++s) {
          // Of a line of points, and then of the four rows of nodes around it.
          const LinePoint &at_y = at[1][j * count + s], &at_z = at[2][k * count + r];
          std::fill(line.begin(), line.end(), 0.0);
          for (std::size_t i = 0; i + 1 < nodes_[0]; ++i) {
            double left = 0, right = 0;
            for (std::size_t p = 0; p < count; ++p) {
              const auto& [t, weight] = rule[p];
              const double value =
                  weight * evaluate(own, make_point(at[0][i * count + p], at_y, at_z), "right-hand side");
              left += value * (1 - t);
              right += value * t;
            }
            line[i] += mesh_.x().widths()[i] * left;
            line[i + 1] += mesh_.x().widths()[i] * right;
          }
          const double weight = rule[r].weight * rule[s].weight * mesh_.y().widths()[j] * mesh_.z().widths()[k];
          for (std::size_t c = 0; c < 2; ++c)
            for (std::size_t b = 0; b < 2; ++b) {
              const double factor =
                  weight * (c == 0 ? 1 - rule[r].t : rule[r].t) * (b == 0 ? 1 - rule[s].t : rule[s].t);
              double* const row = &load[number(0, j + b, k + c)];
              for (std::size_t i = 0; i < nodes_[0]; ++i) row[i] += factor * line[i];
            }
        }
  };
  // Layers of cells, even ones first: none of them has a plane of nodes with another one in common.
  for (int parity = 0; parity < 2; ++parity)
    for_each_row(
        ctx, (mesh_.z().size() + 1 - parity) / 2,
        [&](int layer, const ScalarFunction3D& own) { add_layer(static_cast<std::size_t>(2 * layer + parity), own); },
        f);
  return load;
}

BoxDiscretization::FaceLoads BoxDiscretization::load_of_nodal(Context& ctx, std::span<const double> f,
                                                              StoredBox<double> b) const {
  const Values ones_x(nodes_[0] - 1, 1.0), ones_y(nodes_[1] - 1, 1.0), ones_z(nodes_[2] - 1, 1.0);
  const AxisProducts x{mesh_.x(), ones_x, ones_x}, y{mesh_.y(), ones_y, ones_y}, z{mesh_.z(), ones_z, ones_z};
  Values load(nodes());
#pragma omp parallel num_threads(ctx.threads())
  {
    Values of_z(nodes_[0] * nodes_[1]), of_y(nodes_[0]);
#pragma omp for schedule(static)
    for (std::size_t k = 0; k < nodes_[2]; ++k) {
      for (std::size_t n = 0; n < of_z.size(); ++n)
        of_z[n] = z.times_mass(k, [&](std::size_t c) { return f[c * of_z.size() + n]; });
      for (std::size_t j = 0; j < nodes_[1]; ++j) {
        for (std::size_t i = 0; i < nodes_[0]; ++i)
          of_y[i] = y.times_mass(j, [&](std::size_t q) { return of_z[q * nodes_[0] + i]; });
        for (std::size_t i = 0; i < nodes_[0]; ++i)
          load[number(i, j, k)] = x.times_mass(i, [&](std::size_t a) { return of_y[a]; });
      }
    }
  }
  return take_load(ctx, load, b);
}

BoxDiscretization::FaceLoads BoxDiscretization::take_load(Context& ctx, std::span<const double> load,
                                                          StoredBox<double> b) const {
  FaceLoads loads;
  for (const double value : load) {
    loads.sum += value;
    loads.magnitudes += std::abs(value);
  }
  if (!std::isfinite(loads.sum))
    for (const double value : load)
      expects(std::isfinite(value), "the load vector has the entry ", value,
              "; the right-hand side and its integrals must be finite");
  for (const BoxFace face : all_box_faces) {
    const FacePlace place(face);
    std::array<std::size_t, 3> n{};
    n[static_cast<std::size_t>(place.across)] = static_cast<std::size_t>(place.node(mesh_));
    Values& numbers = loads.faces[static_cast<std::size_t>(face)];
    for (std::size_t q = 0; q < nodes_[static_cast<std::size_t>(place.second)]; ++q)
      for (std::size_t p = 0; p < nodes_[static_cast<std::size_t>(place.first)]; ++p) {
        n[static_cast<std::size_t>(place.first)] = p;
        n[static_cast<std::size_t>(place.second)] = q;
        numbers.push_back(load[number(n[0], n[1], n[2])]);
      }
  }
  std::array<int, 3> first{}, other_end{};
  for (std::size_t d = 0; d < 3; ++d) {
    const Axis& axis = mesh_.axis(static_cast<int>(d));
    first[d] = axis.first_unknown();
    other_end[d] = axis.is_periodic() ? axis.size() : 0;
  }
  from_nodes(ctx, load.data(),
             {1, static_cast<std::int64_t>(nodes_[0]), static_cast<std::int64_t>(nodes_[0] * nodes_[1])}, first,
             other_end, b);
  return loads;
}

void BoxDiscretization::add_face_data(Context& ctx, StoredBox<double> b) const {
  for (const BoxFace face : all_box_faces) {
    const Values& data = data_[static_cast<std::size_t>(face)];
    if (data.empty()) continue;
    const FacePlace place(face);
    const Axis &first = mesh_.axis(place.first), &second = mesh_.axis(place.second);
    // Of the unknowns there.
    Values numbers(static_cast<std::size_t>(first.unknowns()) * static_cast<std::size_t>(second.unknowns()), 0.0);
    std::size_t next = 0;
    for (int q = 0; q <= second.size(); ++q)
      for (int p = 0; p <= first.size(); ++p, ++next) {
        const int i = unknown_at(first, p), j = unknown_at(second, q);
        if (i >= 0 && j >= 0)
          numbers[static_cast<std::size_t>(j) * static_cast<std::size_t>(first.unknowns()) +
                  static_cast<std::size_t>(i)] += data[next];
      }
    const Axis& across = mesh_.axis(place.across);
    from_host(ctx, numbers, apart_on_face(place, first.unknowns()), true,
              b.part(static_cast<std::size_t>(place.across), unknown_at(across, place.node(mesh_)), 1));
  }
}

Compatibility BoxDiscretization::balance(Context& ctx, const BoxFactors& hats, bool project, const char* what,
                                         StoredBox<double> b, FaceLoads* loads) const {
  const BoxSums sums = box_sums(ctx, b.view);
  const Compatibility found{sums.sum, sums.magnitudes, sums.sum / volume()};
  expect_compatible(found, project, what);
  if (found.sum == 0) return found;
  box_subtract(ctx, found.mean, b.stored(hats.begin()), b.view);
  if (is_rounding(box_sums(ctx, b.view).magnitudes, found)) set(ctx, 0, b.view);
  if (loads == nullptr) return found;
  std::array<Values, 3> of_nodes;
  double own = found.mean;  // and the integral of 1 over these cells
  for (std::size_t d = 0; d < 3; ++d) {
    of_nodes[d] = stratum::hat_integrals(mesh_.axis(static_cast<int>(d)));
    own *= std::accumulate(of_nodes[d].begin(), of_nodes[d].end(), 0.0);
  }
  loads->sum -= own;
  for (const BoxFace face : all_box_faces) {
    const FacePlace place(face);
    const double across =
        found.mean * of_nodes[static_cast<std::size_t>(place.across)][static_cast<std::size_t>(place.node(mesh_))];
    const Values &first = of_nodes[static_cast<std::size_t>(place.first)],
                 &second = of_nodes[static_cast<std::size_t>(place.second)];
    Values& numbers = loads->faces[static_cast<std::size_t>(face)];
    for (std::size_t n = 0; n < numbers.size(); ++n)
      numbers[n] -= across * first[n % first.size()] * second[n / first.size()];
  }
  return found;
}

bool BoxDiscretization::set_dirichlet_values(Context& ctx, StoredBox<double> u) const {
  const ScalarFunction3D g = boundary_function(problem_);
  bool any = false;
  // The faces that come first are set last.
  for (std::size_t f = all_box_faces.size(); f-- > 0;) {
    const BoundaryCondition3D& condition = problem_.boundaries.faces[f];
    if (condition.kind != BoundaryConditionType::dirichlet) continue;
    const FacePlace place(all_box_faces[f]);
    const Axis &first = mesh_.axis(place.first), &second = mesh_.axis(place.second);
    const std::size_t row = cells_of(first) + 1;
    Values numbers(row * (cells_of(second) + 1));
    for_each_row(
        ctx, second.size() + 1,
        [&](int q, const ScalarFunction3D& own) {
          for (int p = 0; p <= first.size(); ++p) {
            std::array<int, 3> at{};
            at[static_cast<std::size_t>(place.across)] = place.node(mesh_);
            // What a periodic direction has at its end is what it has at its beginning.
            at[static_cast<std::size_t>(place.first)] = first.is_periodic() && p == first.size() ? 0 : p;
            at[static_cast<std::size_t>(place.second)] = second.is_periodic() && q == second.size() ? 0 : q;
            numbers[static_cast<std::size_t>(q) * row + static_cast<std::size_t>(p)] =
                evaluate(own, node_point(mesh_, at[0], at[1], at[2]), "boundary value");
          }
        },
        condition.value ? condition.value : g);
    any = any || std::any_of(numbers.begin(), numbers.end(), [](double value) { return value != 0; });
    if (any)
      from_host(ctx, numbers, apart_on_face(place, static_cast<std::int64_t>(row)), false,
                u.part(static_cast<std::size_t>(place.across), place.node(mesh_), 1));
  }
  return any;
}

std::vector<double> BoxDiscretization::hat_integrals(int axis) const {
  return at_unknowns(mesh_.axis(axis), stratum::hat_integrals(mesh_.axis(axis)));
}

}  // namespace stratum
