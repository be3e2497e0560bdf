#include <stratum/assembly/rectangle_fields.hpp>

#include <cmath>
#include <limits>
#include <numeric>

#include <stratum/assembly/points.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/field_functors.hpp>
#include <stratum/core/field/reduce.hpp>

namespace stratum {

namespace {

struct HatsOfLines {
  const double *x, *y;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return x[i] * y[j]; }
};

struct SumOfMagnitudes {
  static constexpr bool takes_maximum = false;
  FieldView<const double> b;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return b(i, j) < 0 ? -b(i, j) : b(i, j); }
};

/// By hats.
template <class Hats>
struct WeightedSum {
  static constexpr bool takes_maximum = false;
  FieldView<const double> u;
  Hats hats;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return u(i, j) * hats(i, j); }
};

/// Largest |b| / hat.
template <class Hats>
struct LargestMean {
  static constexpr bool takes_maximum = true;
  FieldView<const double> b;
  Hats hats;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return (b(i, j) < 0 ? -b(i, j) : b(i, j)) / hats(i, j);
  }
};

template <class Hats>
struct SubtractHats {
  FieldView<double> b;
  Hats hats;
  double constant;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const { return b(i, j) - constant * hats(i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double value) const { b(i, j) = value; }
};

struct Subtract {
  FieldView<double> u;
  double constant;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const { return u(i, j) - constant; }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double value) const { u(i, j) = value; }
};

struct CoonsPatch {
  FieldView<double> u;
  const double *left, *right, *bottom, *top, *t, *s;
  double c00, c01, c10, c11;  // corners by x, by y
  bool in_x, in_y;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const {
    const double p = t[i], q = s[j];
    const double along_x = (1 - p) * left[j] + p * right[j], along_y = (1 - q) * bottom[i] + q * top[i];
    const double corners = (1 - q) * ((1 - p) * c00 + p * c10) + q * ((1 - p) * c01 + p * c11);
    return in_x && in_y ? along_x + along_y - corners : in_x ? along_x : in_y ? along_y : 0;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double value) const { u(i, j) = value; }
};

}  // namespace

double HatIntegrals::area() const {
  return std::accumulate(x.begin(), x.end(), 0.0) * std::accumulate(y.begin(), y.end(), 0.0);
}

Compatibility compatibility(Context& ctx, FieldView<const double> b) {
  return {sum_of(ctx, b), reduce(ctx, b.nx, b.ny, SumOfMagnitudes{b})};
}

namespace {

/// `area`: the sum of all hats.
template <class Hats>
Compatibility make_compatible_by(Context& ctx, const Hats& hats, double area, FieldView<double> b) {
  const auto subtract = [&](double constant) {
    for_each_node(ctx, all_nodes(b), SubtractHats<Hats>{b, hats, constant});
  };
  Compatibility found = compatibility(ctx, b);
  const double mean = found.mean = found.sum / area;
  subtract(mean);
  subtract(sum_of(ctx, b) / area);                                          // what rounding left
  constexpr double rounding = 16 * std::numeric_limits<double>::epsilon();  // of integrals over four cells
  if (reduce(ctx, b.nx, b.ny, LargestMean<Hats>{b, hats}) <= rounding * std::abs(mean)) set(ctx, 0.0, b);
  return found;
}

template <class Hats>
void subtract_mean_by(Context& ctx, const Hats& hats, double area, FieldView<double> u) {
  const double integral = reduce(ctx, u.nx, u.ny, WeightedSum<Hats>{u, hats});
  for_each_node(ctx, all_nodes(u), Subtract{u, integral / area});
}

}  // namespace

Compatibility make_compatible(Context& ctx, const HatIntegrals& of_lines, FieldView<double> b) {
  const auto x = vector_from_host(ctx, of_lines.x), y = vector_from_host(ctx, of_lines.y);
  return make_compatible_by(ctx, HatsOfLines{x.cview().data, y.cview().data + of_lines.first_row}, of_lines.area(), b);
}
Compatibility make_compatible(Context& ctx, FieldView<const double> hats, FieldView<double> b) {
  return make_compatible_by(ctx, hats, sum_of(ctx, hats), b);
}

void subtract_integral_mean(Context& ctx, const HatIntegrals& of_lines, FieldView<double> u) {
  const auto x = vector_from_host(ctx, of_lines.x), y = vector_from_host(ctx, of_lines.y);
  subtract_mean_by(ctx, HatsOfLines{x.cview().data, y.cview().data + of_lines.first_row}, of_lines.area(), u);
}
void subtract_integral_mean(Context& ctx, FieldView<const double> hats, FieldView<double> u) {
  subtract_mean_by(ctx, hats, sum_of(ctx, hats), u);
}

double sum_of(Context& ctx, FieldView<const double> u) { return reduce(ctx, u.nx, u.ny, Value<double>{u}); }

double integral(Context& ctx, const TensorMesh<2>& mesh, const PoissonProblem& problem,
                const GridFunction<const double>& of_u) {
  const FieldView<const double> u = of_u.view;
  const auto hat_x = hat_integrals(mesh.x()), hat_y = hat_integrals(mesh.y());
  double sum = 0;
  if (u.nodes() > 0) {
    const auto x = vector_from_host(ctx, at_unknowns(mesh.x(), hat_x)),
               y = vector_from_host(ctx, at_unknowns(mesh.y(), hat_y));
    const int first_row = first_row_of(ctx, "the solution", mesh, of_u);
    sum = reduce(ctx, u.nx, u.ny, WeightedSum<HatsOfLines>{u, {x.cview().data, y.cview().data + first_row}});
  }
  // Dirichlet boundaries; the left and right one have the corners.
  const BoundaryValues boundaries = boundary_values_of_nodes(mesh, problem);
  const bool on_left = mesh.x().first_boundary() == BoundaryType::dirichlet,
             on_right = mesh.x().last_boundary() == BoundaryType::dirichlet;
  for (std::size_t j = 0; j < hat_y.size(); ++j) {
    if (on_left) sum += hat_y[j] * hat_x.front() * boundaries.left[j];
    if (on_right) sum += hat_y[j] * hat_x.back() * boundaries.right[j];
  }
  for (std::size_t i = on_left ? 1 : 0; i + (on_right ? 1 : 0) < hat_x.size(); ++i) {
    if (mesh.y().first_boundary() == BoundaryType::dirichlet) sum += hat_x[i] * hat_y.front() * boundaries.bottom[i];
    if (mesh.y().last_boundary() == BoundaryType::dirichlet) sum += hat_x[i] * hat_y.back() * boundaries.top[i];
  }
  return sum;
}

void set_coons_patch(Context& ctx, const CoonsBoundary& of, FieldView<double> u) {
  const auto left = vector_from_host(ctx, of.left), right = vector_from_host(ctx, of.right),
             bottom = vector_from_host(ctx, of.bottom), top = vector_from_host(ctx, of.top),
             t = vector_from_host(ctx, of.t), s = vector_from_host(ctx, of.s);
  for_each_node(ctx, all_nodes(u),
                CoonsPatch{u, left.cview().data, right.cview().data, bottom.cview().data, top.cview().data,
                           t.cview().data, s.cview().data, of.corner[0][0], of.corner[0][1], of.corner[1][0],
                           of.corner[1][1], of.in_x, of.in_y});
}

}  // namespace stratum
