#include <stratum/assembly/box_discretization.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/line_loads.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

constexpr double separable = 1e-12;  // relative, of products of K on cells

std::span<const GaussPoint> gauss_rule(int points) {
  static constexpr std::array<GaussPoint, 1> gauss1{{{0.5, 1}}};
  switch (points) {
    case 1: return gauss1;
    case 2: return gauss2;
    case 3: return gauss3;
    default: return gauss4;
  }
}

std::size_t cells_of(const Axis& axis) { return static_cast<std::size_t>(axis.size()); }

bool same(double a, double b) { return std::abs(a - b) <= separable * std::max(std::abs(a), std::abs(b)); }

/// A function on the cells as a product, in the first cell of y and of z one.
std::array<Values, 3> separated(Context& ctx, const TensorMesh<3>& mesh, const ScalarFunction3D& f, const char* name) {
  std::array<std::vector<LinePoint>, 3> at;
  for (int d = 0; d < 3; ++d)
    for (int i = 0; i < mesh.axis(d).size(); ++i)
      at[static_cast<std::size_t>(d)].push_back(LineInterval(mesh.axis(d), i).at(0.5));
  const auto value = [&](const ScalarFunction3D& own, std::size_t i, std::size_t j, std::size_t k) {
    const Point3D p = make_point(at[0][i], at[1][j], at[2][k]);
    const double v = own(p);
    expects(std::isfinite(v) && v > 0, name, " is ", v, " at (", p.x, ", ", p.y, ", ", p.z,
            "); it must be finite and positive");
    return v;
  };
  const double first = value(f, 0, 0, 0);
  std::array<Values, 3> parts;
  for (std::size_t i = 0; i < at[0].size(); ++i) parts[0].push_back(value(f, i, 0, 0));
  for (std::size_t j = 0; j < at[1].size(); ++j) parts[1].push_back(value(f, 0, j, 0) / first);
  for (std::size_t k = 0; k < at[2].size(); ++k) parts[2].push_back(value(f, 0, 0, k) / first);
  const auto ranks = static_cast<std::size_t>(ctx.subdomains());
  const std::size_t rank = ranks > 1 ? static_cast<std::size_t>(ctx.communicator()->rank()) : 0;
  const std::size_t begin = at[2].size() * rank / ranks, end = at[2].size() * (rank + 1) / ranks;
  for_each_row(
      ctx, static_cast<int>(end - begin),
      [&](int row, const ScalarFunction3D& own) {
        const std::size_t k = begin + static_cast<std::size_t>(row);
        for (std::size_t j = 0; j < at[1].size(); ++j)
          for (std::size_t i = 0; i < at[0].size(); ++i) {
            const double v = value(own, i, j, k), product = parts[0][i] * parts[1][j] * parts[2][k];
            expects(same(v, product), name, " is not a product of functions of x, y and z: at (", at[0][i].at, ", ",
                    at[1][j].at, ", ", at[2][k].at, ") it is ", v, ", and the product of its values along the axes is ",
                    product, ". The direct solver in three dimensions needs a separable K");
          }
      },
      f);
  return parts;
}

/// w of a direction, as two of the three entries of K have it. Scaled to be one in the first interval.
Values common_weight(Values a, Values b, int axis, const char* of_a, const char* of_b) {
  const double first_a = a.front(), first_b = b.front();
  for (double& v : a) v /= first_a;
  for (double& v : b) v /= first_b;
  for (std::size_t i = 0; i < a.size(); ++i)
    expects(same(a[i], b[i]), "K is not separable: along ", axis_names[static_cast<std::size_t>(axis)], ", ", of_a,
            " and ", of_b, " vary by different factors, ", a[i], " and ", b[i], " in interval ", i,
            ". The direct solver in three dimensions needs kxx = kx(x) wy(y) wz(z), kyy = wx ky wz, kzz = wx wy kz");
  return a;
}

double of_all_ranks(const Context& ctx, double own) {
  if (ctx.subdomains() == 1) return own;
  const auto all = ctx.communicator()->gather_on_host(own);
  return std::accumulate(all.begin(), all.end(), 0.0);
}

bool is_one(const Values& weights) {
  return std::all_of(weights.begin(), weights.end(), [](double w) { return same(w, 1); });
}

}  // namespace

bool is_rounding(double magnitudes, const Compatibility& found) {
  constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();
  return magnitudes <= rounding * found.sum_of_magnitudes;
}

BoxDiscretization::BoxDiscretization(Context& ctx, TensorMesh<3> mesh, PoissonProblem3D problem, int points)
    : mesh_(std::move(mesh)), problem_(std::move(problem)), points_(points) {
  expects(points >= 1 && points <= 4, "loads are integrated by 1 to 4 points a direction, not ", points);
  expects(std::isfinite(problem_.reaction) && problem_.reaction >= 0,
          "the reaction coefficient c must be finite and not negative, not ", problem_.reaction);
  for (const BoxFace face : all_box_faces) {
    const BoundaryCondition3D& condition = problem_.boundaries[face];
    const bool is_robin = condition.kind == BoundaryConditionType::robin;
    expects(is_robin || !condition.alpha, "the ", to_string(face), " face is ", to_string(condition.kind),
            " and has an alpha, which belongs to Robin faces");
    alpha_[static_cast<std::size_t>(face)] = face_alpha(mesh_, problem_, face);
  }
  for (std::size_t d = 0; d < 3; ++d) nodes_[d] = cells_of(mesh_.axis(static_cast<int>(d))) + 1;
  separate(ctx);
  for (std::size_t d = 0; d < 3; ++d) {
    const Axis& axis = mesh_.axis(static_cast<int>(d));
    const AxisProducts products{axis, k_[d], w_[d]};
    AxisFactors& factors = factors_[d];
    factors.periodic = axis.is_periodic();
    const auto put = [&](double k, double m) {
      factors.k.push_back(k);
      factors.m.push_back(m);
    };
    const std::size_t cells = cells_of(axis);
    if (factors.periodic) put(products.stiffness(cells - 1), products.mass(cells - 1));
    if (axis.first_boundary() == BoundaryType::neumann) put(alpha_[2 * d], 0);
    for (std::size_t i = 0; i < cells; ++i) {
      expects(std::isfinite(products.stiffness(i)), "K / h = ", k_[d][i], " / ", axis.widths()[i],
              " overflows in interval ", i, " of ", axis_names[d]);
      put(products.stiffness(i), products.mass(i));
    }
    if (axis.last_boundary() == BoundaryType::neumann) put(alpha_[2 * d + 1], 0);
  }
  singular_ = stratum::is_singular(mesh_, problem_);
  integrate_face_data();
}

BoxDiscretization::BoxDiscretization(const BoxDiscretization& whole, int axis, int first, int end)
    : BoxDiscretization(whole) {
  const auto d = static_cast<std::size_t>(axis);
  const Axis& all = whole.mesh_.axis(axis);
  std::array<Axis, 3> axes{mesh_.x(), mesh_.y(), mesh_.z()};
  axes[d] = all.part(first, end);
  mesh_ = TensorMesh<3>(axes, mesh_.name());
  nodes_[d] = cells_of(axes[d]) + 1;
  for (Values* const factors : {&k_[d], &w_[d]}) *factors = {factors->begin() + first, factors->begin() + end};
  // The functions of faces without their own, which cuts must not change.
  problem_.boundary = boundary_function(whole.problem_);
  if (whole.problem_.has_exact()) problem_.exact = exact_function(whole.problem_);
  cut_[2 * d] = first > 0;
  cut_[2 * d + 1] = end < all.size();
  for (const BoxFace face : all_box_faces) {
    if (!is_cut(face)) continue;
    problem_.boundaries[face] = {.kind = BoundaryConditionType::neumann};
    alpha_[static_cast<std::size_t>(face)] = 0;
  }
  integrate_face_data();
}

std::array<int, 3> BoxDiscretization::unknowns() const {
  return {mesh_.x().unknowns(), mesh_.y().unknowns(), mesh_.z().unknowns()};
}

void BoxDiscretization::separate(Context& ctx) {
  const Diffusion3D& diffusion = problem_.diffusion;
  for (std::size_t d = 0; d < 3; ++d) {
    k_[d].assign(nodes_[d] - 1, 1.0);
    w_[d] = k_[d];
  }
  if (!diffusion.is_given()) return;
  expects(static_cast<bool>(diffusion.xx),
          "K is given without kxx; give kxx alone for a scalar K, or kxx, kyy and kzz");
  const auto xx = separated(ctx, mesh_, diffusion.xx, "kxx");
  const auto yy = diffusion.yy ? separated(ctx, mesh_, diffusion.yy, "kyy") : xx;
  const auto zz = diffusion.zz ? separated(ctx, mesh_, diffusion.zz, "kzz") : xx;
  w_[0] = common_weight(yy[0], zz[0], 0, "kyy", "kzz");
  w_[1] = common_weight(xx[1], zz[1], 1, "kxx", "kzz");
  w_[2] = common_weight(xx[2], yy[2], 2, "kxx", "kyy");
  // The first of these has the value itself in its first cell of y and z, the others that of their first cell of x.
  k_ = {xx[0], yy[1], zz[2]};
  for (double& k : k_[1]) k *= yy[0].front();
  for (double& k : k_[2]) k *= zz[0].front();
  const bool plain = is_one(w_[0]) && is_one(w_[1]) && is_one(w_[2]);
  expects(plain || problem_.reaction == 0, "a reaction c = ", problem_.reaction,
          " needs kxx to depend on x alone, kyy on y and kzz on z; with this K the problem is not separable");
  for (const BoxFace face : all_box_faces) {
    const double alpha = alpha_[static_cast<std::size_t>(face)];
    const FacePlace place(face);
    expects(alpha == 0 || (is_one(w_[static_cast<std::size_t>(place.first)]) &&
                           is_one(w_[static_cast<std::size_t>(place.second)])),
            "the ", to_string(face), " face has alpha = ", alpha,
            ", and K varies along it in the direction across; the ", "problem is not separable then");
  }
}

void BoxDiscretization::integrate_face_data() {
  const auto rule = gauss_rule(points_);
  for (const BoxFace face : all_box_faces) {
    const BoundaryCondition3D& condition = problem_.boundaries[face];
    if (condition.kind != BoundaryConditionType::neumann && condition.kind != BoundaryConditionType::robin) continue;
    const FacePlace place(face);
    const Axis &first = mesh_.axis(place.first), &second = mesh_.axis(place.second);
    Values& data = data_[static_cast<std::size_t>(face)];
    const std::size_t row = cells_of(first) + 1;
    data.assign(row * (cells_of(second) + 1), 0.0);
    if (!condition.value) continue;
    const LinePoint across = node_of(mesh_.axis(place.across), place.node(mesh_));
    for (int j = 0; j < second.size(); ++j)
      for (int i = 0; i < first.size(); ++i) {
        const LineInterval a(first, i), b(second, j);
        double* const corner = &data[static_cast<std::size_t>(j) * row + static_cast<std::size_t>(i)];
        for (const auto& [s, weight_s] : rule)
          for (const auto& [t, weight_t] : rule) {
            const double value = weight_s * weight_t * a.width * b.width *
                                 evaluate(condition.value, place.point(across, a.at(t), b.at(s)), "value of a face");
            corner[0] += value * (1 - t) * (1 - s);
            corner[1] += value * t * (1 - s);
            corner[row] += value * (1 - t) * s;
            corner[row + 1] += value * t * s;
          }
      }
  }
}

std::vector<double> BoxDiscretization::load(Context& ctx) const {
  if (!problem_.is_product()) return load(ctx, problem_.rhs);
  const Values x = parabola_loads(mesh_.x()), y = parabola_loads(mesh_.y()), z = parabola_loads(mesh_.z());
  const Values hat_x = stratum::hat_integrals(mesh_.x()), hat_y = stratum::hat_integrals(mesh_.y()),
               hat_z = stratum::hat_integrals(mesh_.z());
  Values load(nodes());
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (std::size_t k = 0; k < nodes_[2]; ++k)
    for (std::size_t j = 0; j < nodes_[1]; ++j)
      for (std::size_t i = 0; i < nodes_[0]; ++i)
        load[number(i, j, k)] = 2 * (hat_x[i] * y[j] * z[k] + x[i] * hat_y[j] * z[k] + x[i] * y[j] * hat_z[k]);
  return load;
}

std::vector<double> BoxDiscretization::load(Context& ctx, const ScalarFunction3D& f) const {
  expects(static_cast<bool>(f), "the right-hand side is an empty function");
  const auto rule = gauss_rule(points_);
  Values load(nodes(), 0.0);
  const std::size_t row = nodes_[0], plane = nodes_[0] * nodes_[1];
  const auto add_layer = [&](int k, const ScalarFunction3D& own) {
    const LineInterval z(mesh_.z(), k);
    for (int j = 0; j < mesh_.y().size(); ++j) {
      const LineInterval y(mesh_.y(), j);
      for (int i = 0; i < mesh_.x().size(); ++i) {
        const LineInterval x(mesh_.x(), i);
        double corners[2][2][2] = {};
        for (const auto& [r, weight_r] : rule) {
          const LinePoint at_z = z.at(r);
          for (const auto& [s, weight_s] : rule) {
            const LinePoint at_y = y.at(s);
            double left = 0, right = 0;
            for (const auto& [t, weight_t] : rule) {
              const double value = weight_t * evaluate(own, make_point(x.at(t), at_y, at_z), "right-hand side");
              left += value * (1 - t);
              right += value * t;
            }
            const double weight = weight_r * weight_s;
            const double of_y[2] = {weight * (1 - s), weight * s}, of_z[2] = {1 - r, r};
            for (int c = 0; c < 2; ++c)
              for (int b = 0; b < 2; ++b) {
                corners[c][b][0] += of_z[c] * of_y[b] * left;
                corners[c][b][1] += of_z[c] * of_y[b] * right;
              }
          }
        }
        const double volume = x.width * y.width * z.width;
        double* const first =
            &load[number(static_cast<std::size_t>(i), static_cast<std::size_t>(j), static_cast<std::size_t>(k))];
        for (std::size_t c = 0; c < 2; ++c)
          for (std::size_t b = 0; b < 2; ++b)
            for (std::size_t a = 0; a < 2; ++a) first[c * plane + b * row + a] += volume * corners[c][b][a];
      }
    }
  };
  // Layers of cells, even ones first: none of them has a plane of nodes with another one in common.
  for (int parity = 0; parity < 2; ++parity) {
    const int layers = (mesh_.z().size() + 1 - parity) / 2;
    for_each_row(
        ctx, layers, [&](int layer, const ScalarFunction3D& own) { add_layer(2 * layer + parity, own); }, f);
  }
  return load;
}

std::vector<double> BoxDiscretization::load_of_nodal(Context& ctx, std::span<const double> f) const {
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
          of_y[i] = y.times_mass(j, [&](std::size_t b) { return of_z[b * nodes_[0] + i]; });
        for (std::size_t i = 0; i < nodes_[0]; ++i)
          load[number(i, j, k)] = x.times_mass(i, [&](std::size_t a) { return of_y[a]; });
      }
    }
  }
  return load;
}

std::vector<double> BoxDiscretization::hat_integrals(int axis) const {
  return at_unknowns(mesh_.axis(axis), stratum::hat_integrals(mesh_.axis(axis)));
}

BoxDiscretization::RightHandSide BoxDiscretization::right_hand_side(Context& ctx, std::vector<double>& load,
                                                                    bool project) const {
  const int nx = unknowns()[0], ny = unknowns()[1], nz = unknowns()[2];
  const auto at = [nx, ny](int i, int j, int k) {
    return (static_cast<std::size_t>(k) * static_cast<std::size_t>(ny) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(nx) +
           static_cast<std::size_t>(i);
  };
  const auto rhs_of = [&] {
    Values b(static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny) * static_cast<std::size_t>(nz), 0.0);
    // Nodes of an unknown: one, or both ends of a periodic direction.
    const auto nodes_of = [this](int d, int unknown) {
      const Axis& axis = mesh_.axis(d);
      const auto node = static_cast<std::size_t>(unknown + axis.first_unknown());
      const bool both = axis.is_periodic() && unknown == 0;
      return std::array<std::size_t, 2>{node, both ? cells_of(axis) : node};
    };
    const auto add_row = [&](double* to, std::size_t j, std::size_t k) {
      const double* const from = &load[number(0, j, k)];
      const int first = mesh_.x().first_unknown();
      for (int i = 0; i < nx; ++i) to[i] += from[i + first];
      if (mesh_.x().is_periodic()) to[0] += from[nodes_[0] - 1];
    };
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
    for (int k = 0; k < nz; ++k)
      for (int j = 0; j < ny; ++j) {
        const auto of_z = nodes_of(2, k), of_y = nodes_of(1, j);
        for (std::size_t c = 0; c < (of_z[0] == of_z[1] ? 1U : 2U); ++c)
          for (std::size_t d = 0; d < (of_y[0] == of_y[1] ? 1U : 2U); ++d) add_row(&b[at(0, j, k)], of_y[d], of_z[c]);
      }
    for (const BoxFace face : all_box_faces) {
      const Values& data = data_[static_cast<std::size_t>(face)];
      if (data.empty()) continue;
      const FacePlace place(face);
      std::array<int, 3> n{};
      n[static_cast<std::size_t>(place.across)] = unknown_at(mesh_.axis(place.across), place.node(mesh_));
      const Axis &first = mesh_.axis(place.first), &second = mesh_.axis(place.second);
      std::size_t next = 0;
      for (int q = 0; q <= second.size(); ++q)
        for (int p = 0; p <= first.size(); ++p, ++next) {
          n[static_cast<std::size_t>(place.first)] = unknown_at(first, p);
          n[static_cast<std::size_t>(place.second)] = unknown_at(second, q);
          if (n[0] >= 0 && n[1] >= 0 && n[2] >= 0) b[at(n[0], n[1], n[2])] += data[next];
        }
    }
    return b;
  };
  RightHandSide rhs{rhs_of(), {}};
  for (const double value : rhs.b)
    expects(std::isfinite(value), "the load vector has the entry ", value,
            "; the right-hand side and its integrals must be "
            "finite");
  if (!singular_) return rhs;
  Compatibility found;
  for (const double value : rhs.b) {
    found.sum += value;
    found.sum_of_magnitudes += std::abs(value);
  }
  found.sum = of_all_ranks(ctx, found.sum);
  found.sum_of_magnitudes = of_all_ranks(ctx, found.sum_of_magnitudes);
  found.mean = found.sum / volume();
  expect_compatible(found, project, "the integral of f plus the boundary fluxes");
  rhs.compatibility = found;
  if (found.sum == 0) return rhs;
  const Values x = stratum::hat_integrals(mesh_.x()), y = stratum::hat_integrals(mesh_.y()),
               z = stratum::hat_integrals(mesh_.z());
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (std::size_t k = 0; k < nodes_[2]; ++k)
    for (std::size_t j = 0; j < nodes_[1]; ++j)
      for (std::size_t i = 0; i < nodes_[0]; ++i) load[number(i, j, k)] -= found.mean * x[i] * y[j] * z[k];
  rhs.b = rhs_of();
  double left = 0;
  for (const double value : rhs.b) left += std::abs(value);
  if (is_rounding(of_all_ranks(ctx, left), found)) std::fill(rhs.b.begin(), rhs.b.end(), 0.0);
  return rhs;
}

void BoxDiscretization::set_dirichlet_values(std::span<double> nodal) const {
  const ScalarFunction3D g = boundary_function(problem_);
  // The faces that come first are set last.
  for (std::size_t f = all_box_faces.size(); f-- > 0;) {
    const BoundaryCondition3D& condition = problem_.boundaries.faces[f];
    if (condition.kind != BoundaryConditionType::dirichlet) continue;
    const ScalarFunction3D& value = condition.value ? condition.value : g;
    const FacePlace place(all_box_faces[f]);
    const Axis &first = mesh_.axis(place.first), &second = mesh_.axis(place.second);
    std::array<int, 3> n{};
    n[static_cast<std::size_t>(place.across)] = place.node(mesh_);
    for (int q = 0; q <= second.size(); ++q)
      for (int p = 0; p <= first.size(); ++p) {
        n[static_cast<std::size_t>(place.first)] = p;
        n[static_cast<std::size_t>(place.second)] = q;
        // What a periodic direction has at its end is what it has at its beginning.
        std::array<int, 3> at = n;
        if (first.is_periodic() && p == first.size()) at[static_cast<std::size_t>(place.first)] = 0;
        if (second.is_periodic() && q == second.size()) at[static_cast<std::size_t>(place.second)] = 0;
        nodal[number(static_cast<std::size_t>(n[0]), static_cast<std::size_t>(n[1]), static_cast<std::size_t>(n[2]))] =
            evaluate(value, node_point(mesh_, at[0], at[1], at[2]), "boundary value");
      }
  }
}

BoxDiscretization::FaceLoads BoxDiscretization::face_loads(std::span<const double> load) const {
  FaceLoads loads;
  for (const double value : load) loads.sum += value;
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
  return loads;
}

}  // namespace stratum
