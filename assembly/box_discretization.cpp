#include <stratum/assembly/box_discretization.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

constexpr std::array<char, 3> axis_names{'x', 'y', 'z'};
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
  for_each_row(
      ctx, static_cast<int>(at[2].size()),
      [&](int row, const ScalarFunction3D& own) {
        const auto k = static_cast<std::size_t>(row);
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

bool is_one(const Values& weights) {
  return std::all_of(weights.begin(), weights.end(), [](double w) { return same(w, 1); });
}

/// Of one direction on all nodes: K v and M v of natural ends.
struct AxisProducts {
  const Axis& axis;
  const Values &k, &w;

  [[nodiscard]] double stiffness(std::size_t i) const { return k[i] / axis.widths()[i]; }
  [[nodiscard]] double mass(std::size_t i) const { return w[i] * axis.widths()[i] / 6; }
  [[nodiscard]] std::size_t nodes() const { return cells_of(axis) + 1; }
  /// Entries of row i: to the node before, itself, the one behind.
  [[nodiscard]] std::array<double, 3> mass_row(std::size_t i) const {
    const double before = i > 0 ? mass(i - 1) : 0, behind = i + 1 < nodes() ? mass(i) : 0;
    return {before, 2 * (before + behind), behind};
  }
  /// v_i from v_(i-1), v_i, v_(i+1).
  template <class V>
  [[nodiscard]] double times_mass(std::size_t i, const V& v) const {
    const auto [before, here, behind] = mass_row(i);
    return (i > 0 ? before * v(i - 1) : 0) + here * v(i) + (i + 1 < nodes() ? behind * v(i + 1) : 0);
  }
  template <class V>
  [[nodiscard]] double times_stiffness(std::size_t i, const V& v) const {
    return (i > 0 ? stiffness(i - 1) * (v(i) - v(i - 1)) : 0) +
           (i + 1 < nodes() ? stiffness(i) * (v(i) - v(i + 1)) : 0);
  }
};

/// Integrals of s (length - s) phi_i of all nodes, exact; of phi_i where `constant`.
Values line_loads(const Axis& axis, bool constant) {
  Values loads(cells_of(axis) + 1, 0.0);
  for (int i = 0; i < axis.size(); ++i)
    for (const auto& [t, weight] : gauss4) {
      const LinePoint p = LineInterval(axis, i).at(t);
      const auto n = static_cast<std::size_t>(i);
      const double value = weight * axis.widths()[n] * (constant ? 1 : p.from_begin * p.from_end);
      loads[n] += value * (1 - t);
      loads[n + 1] += value * t;
    }
  return loads;
}

/// Slopes on [0, 1] at the points of the 3-point rule of the quadratic function through them.
std::array<std::array<double, 3>, 3> slopes_of_gauss3() {
  std::array<std::array<double, 3>, 3> d{};
  const auto t = [](std::size_t p) { return gauss3[p].t; };
  for (std::size_t p = 0; p < 3; ++p)
    for (std::size_t q = 0; q < 3; ++q) {
      const std::size_t a = (q + 1) % 3, b = (q + 2) % 3;
      d[p][q] = ((t(p) - t(a)) + (t(p) - t(b))) / ((t(q) - t(a)) * (t(q) - t(b)));
    }
  return d;
}

struct FieldSums3D {
  double integral = 0, square = 0, energy = 0;
  double smallest = std::numeric_limits<double>::infinity(), largest = -smallest;

  void add(const FieldSums3D& other) {
    integral += other.integral;
    square += other.square;
    energy += other.energy;
    smallest = std::min(smallest, other.smallest);
    largest = std::max(largest, other.largest);
  }
};

using CellValues3D = std::array<std::array<std::array<double, 3>, 3>, 3>;  // by z, y, x

/// `widths` and K of a cell, c.
void add_cell(const CellValues3D& v, const std::array<double, 3>& widths, const std::array<double, 3>& k, double c,
              FieldSums3D& sums) {
  static const auto slope = slopes_of_gauss3();
  const double volume = widths[0] * widths[1] * widths[2];
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t q = 0; q < 3; ++q)
      for (std::size_t p = 0; p < 3; ++p) {
        const double weight = gauss3[p].weight * gauss3[q].weight * gauss3[r].weight * volume, value = v[r][q][p];
        double gx = 0, gy = 0, gz = 0;
        for (std::size_t s = 0; s < 3; ++s) {
          gx += slope[p][s] * v[r][q][s];
          gy += slope[q][s] * v[r][s][p];
          gz += slope[r][s] * v[s][q][p];
        }
        gx /= widths[0];
        gy /= widths[1];
        gz /= widths[2];
        sums.integral += weight * value;
        sums.square += weight * value * value;
        sums.energy += weight * (k[0] * gx * gx + k[1] * gy * gy + k[2] * gz * gz + c * value * value);
        sums.smallest = std::min(sums.smallest, value);
        sums.largest = std::max(sums.largest, value);
      }
}

}  // namespace

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
  const Values x = line_loads(mesh_.x(), false), y = line_loads(mesh_.y(), false), z = line_loads(mesh_.z(), false);
  const Values hat_x = line_loads(mesh_.x(), true), hat_y = line_loads(mesh_.y(), true),
               hat_z = line_loads(mesh_.z(), true);
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
  const Axis& line = mesh_.axis(axis);
  Values hats(static_cast<std::size_t>(line.unknowns()), 0.0);
  for (int i = 0; i < line.size(); ++i)
    for (const int node : {i, i + 1})
      if (const int n = unknown_at(line, node); n >= 0)
        hats[static_cast<std::size_t>(n)] += line.widths()[static_cast<std::size_t>(i)] / 2;
  return hats;
}

BoxDiscretization::RightHandSide BoxDiscretization::right_hand_side(std::vector<double>& load, bool project) const {
  const auto [nx, ny, nz] = unknowns();
  const auto at = [nx = nx, ny = ny](int i, int j, int k) {
    return (static_cast<std::size_t>(k) * static_cast<std::size_t>(ny) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(nx) +
           static_cast<std::size_t>(i);
  };
  const auto rhs_of = [&] {
    Values b(static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny) * static_cast<std::size_t>(nz), 0.0);
    for (std::size_t k = 0; k < nodes_[2]; ++k)
      for (std::size_t j = 0; j < nodes_[1]; ++j) {
        const int row = unknown_at(mesh_.y(), static_cast<int>(j)), plane = unknown_at(mesh_.z(), static_cast<int>(k));
        if (row < 0 || plane < 0) continue;
        for (std::size_t i = 0; i < nodes_[0]; ++i)
          if (const int column = unknown_at(mesh_.x(), static_cast<int>(i)); column >= 0)
            b[at(column, row, plane)] += load[number(i, j, k)];
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
  found.mean = found.sum / volume();
  expects(found.holds() || project,
          "The problem is singular (only Neumann or periodic faces, no reaction), and the data do not balance: the "
          "integral of f "
          "plus that of the boundary data is ",
          found.sum, ", ", 100 * std::abs(found.sum) / found.sum_of_magnitudes,
          " % of their magnitudes. Use `project` (--project) to subtract the mean of f");
  rhs.compatibility = found;
  if (found.sum == 0) return rhs;
  const Values x = line_loads(mesh_.x(), true), y = line_loads(mesh_.y(), true), z = line_loads(mesh_.z(), true);
  for (std::size_t k = 0; k < nodes_[2]; ++k)
    for (std::size_t j = 0; j < nodes_[1]; ++j)
      for (std::size_t i = 0; i < nodes_[0]; ++i) load[number(i, j, k)] -= found.mean * x[i] * y[j] * z[k];
  rhs.b = rhs_of();
  // A solver would take what rounding has left for a right-hand side.
  double left = 0;
  for (const double value : rhs.b) left += std::abs(value);
  constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();
  if (left <= rounding * found.sum_of_magnitudes) std::fill(rhs.b.begin(), rhs.b.end(), 0.0);
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

std::optional<RelativeErrors> BoxDiscretization::relative_errors(Context& ctx, std::span<const double> nodal) const {
  if (!problem_.has_exact()) return std::nullopt;
  struct Sums {
    FieldSums3D error, exact;
  };
  std::vector<Sums> layers(nodes_[2] - 1);
  for_each_row(
      ctx, mesh_.z().size(),
      [&](int layer, const ScalarFunction3D& own) {
        const auto k = static_cast<std::size_t>(layer);
        Sums sums;
        const LineInterval z(mesh_.z(), layer);
        for (std::size_t j = 0; j + 1 < nodes_[1]; ++j) {
          const LineInterval y(mesh_.y(), static_cast<int>(j));
          for (std::size_t i = 0; i + 1 < nodes_[0]; ++i) {
            const LineInterval x(mesh_.x(), static_cast<int>(i));
            double corners[2][2][2];
            for (std::size_t c = 0; c < 2; ++c)
              for (std::size_t b = 0; b < 2; ++b)
                for (std::size_t a = 0; a < 2; ++a) corners[c][b][a] = nodal[number(i + a, j + b, k + c)];
            CellValues3D u{}, e{};
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
          }
        }
        layers[k] = sums;
      },
      exact_function(problem_));
  Sums all;
  for (const Sums& layer : layers) {
    all.error.add(layer.error);
    all.exact.add(layer.exact);
  }
  const auto mean = [&](const FieldSums3D& field) { return singular_ ? field.integral / volume() : 0; };
  const auto root = [](double square) { return square < 0 ? 0 : std::sqrt(square); };
  const auto norm = [&](const FieldSums3D& field) { return root(field.square - mean(field) * field.integral); };
  const auto farthest = [&](const FieldSums3D& field) {
    return std::isnan(field.square) ? field.square
                                    : std::max(field.largest - mean(field), mean(field) - field.smallest);
  };
  const auto ratio = [](double of_error, double of_exact) { return of_exact > 0 ? of_error / of_exact : of_error; };
  return RelativeErrors{ratio(norm(all.error), norm(all.exact)), ratio(farthest(all.error), farthest(all.exact)),
                        ratio(root(all.error.energy), root(all.exact.energy))};
}

BoundaryFluxes3D BoxDiscretization::fluxes(std::span<const double> nodal, const FaceLoads& loads) const {
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
          sum += (fields.own[next] - faces[opposite].own[next]) / 2;
        } else if (dirichlet > 1) {
          sum += fields.own[next] + (rest - of_dirichlet) / dirichlet;
        } else {
          sum += rest;
        }
      }
    fluxes.faces[static_cast<std::size_t>(face)] = -sum;
  }
  if (problem_.reaction > 0) fluxes.reaction = problem_.reaction * integral(nodal);
  return fluxes;
}

double BoxDiscretization::integral(std::span<const double> nodal) const {
  const Values x = line_loads(mesh_.x(), true), y = line_loads(mesh_.y(), true), z = line_loads(mesh_.z(), true);
  double sum = 0;
  for (std::size_t k = 0; k < nodes_[2]; ++k) {
    double plane = 0;
    for (std::size_t j = 0; j < nodes_[1]; ++j) {
      double row = 0;
      for (std::size_t i = 0; i < nodes_[0]; ++i) row += x[i] * nodal[number(i, j, k)];
      plane += y[j] * row;
    }
    sum += z[k] * plane;
  }
  return sum;
}

double BoxDiscretization::volume() const { return mesh_.x().length() * mesh_.y().length() * mesh_.z().length(); }

SolutionRange3D BoxDiscretization::range(std::span<const double> nodal) const {
  SolutionRange3D range;
  const auto value_at = [&](std::size_t i, std::size_t j, std::size_t k) {
    const Point3D p = node_point(mesh_, static_cast<int>(i), static_cast<int>(j), static_cast<int>(k));
    return NodalValue3D{nodal[number(i, j, k)], p.x, p.y, p.z};
  };
  double smallest = std::numeric_limits<double>::infinity(), largest = -smallest, step = -1;
  double low = smallest, high = largest;
  std::array<std::size_t, 3> at_smallest{}, at_largest{}, from{}, to{};
  for (std::size_t k = 0; k < nodes_[2]; ++k)
    for (std::size_t j = 0; j < nodes_[1]; ++j)
      for (std::size_t i = 0; i < nodes_[0]; ++i) {
        const double value = nodal[number(i, j, k)];
        const std::array<std::size_t, 3> here{i, j, k};
        if (value < smallest) smallest = value, at_smallest = here;
        if (value > largest) largest = value, at_largest = here;
        int boundaries = 0;
        for (std::size_t d = 0; d < 3; ++d) boundaries += here[d] == 0 || here[d] + 1 == nodes_[d] ? 1 : 0;
        if (boundaries > 0) {
          low = std::min(low, value);
          high = std::max(high, value);
        }
        for (std::size_t d = 0; d < 3; ++d) {
          if (here[d] + 1 == nodes_[d]) continue;
          // An edge of a face: its other directions have one at its boundary.
          bool within_face = false;
          for (std::size_t e = 0; e < 3; ++e)
            within_face = within_face || (e != d && (here[e] == 0 || here[e] + 1 == nodes_[e]));
          if (within_face) continue;
          std::array<std::size_t, 3> next = here;
          ++next[d];
          const double change = std::abs(nodal[number(next[0], next[1], next[2])] - value);
          if (change > step) step = change, from = here, to = next;
        }
      }
  range.smallest = value_at(at_smallest[0], at_smallest[1], at_smallest[2]);
  range.largest = value_at(at_largest[0], at_largest[1], at_largest[2]);
  range.smallest_on_boundary = low;
  range.largest_on_boundary = high;
  if (step >= 0) {
    range.step_from = value_at(from[0], from[1], from[2]);
    range.step_to = value_at(to[0], to[1], to[2]);
  }
  return range;
}

}  // namespace stratum
