#include <stratum/multigrid/structured/scaled_rows_findings.hpp>

#include <stratum/core/field/reduce.hpp>

namespace stratum {
namespace {

/// Calls of add<dx, dy>(i, j, sums) for the eight neighbours.
template <class Terms, class Sums>
STRATUM_HOST_DEVICE STRATUM_INLINE void add_neighbours(const Terms& terms, int i, int j, Sums& sums) {
  terms.template add<-1, -1>(i, j, sums);
  terms.template add<0, -1>(i, j, sums);
  terms.template add<1, -1>(i, j, sums);
  terms.template add<-1, 0>(i, j, sums);
  terms.template add<1, 0>(i, j, sums);
  terms.template add<-1, 1>(i, j, sums);
  terms.template add<0, 1>(i, j, sums);
  terms.template add<1, 1>(i, j, sums);
}

/// The largest d_i / d_j of a row and those that it is coupled to.
template <class View>
struct ScaleJump {
  static constexpr bool takes_maximum = true;
  View a;
  GridLayout<2> grid;
  FieldView<const double> d;
  template <int dx, int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE void add(int i, int j, double& largest) const {
    if (a.template coefficient<dx, dy>(i, j) == 0 || !couples(grid, i + dx, j + dy)) return;
    const double jump = d(i, j) / d(i + dx, j + dy);
    largest = jump > largest ? jump : largest;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    double largest = 1;
    add_neighbours(*this, i, j, largest);
    return largest;
  }
};

/// How far D A is from conserving, as above.
template <class View>
struct Loss {
  static constexpr bool takes_maximum = false;
  View a;
  FieldView<const double> d;
  Whole whole;
  struct Sums {
    double difference, magnitude;
  };
  template <int dx, int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE void add(int i, int j, Sums& sums) const {
    if (!whole.has(i + dx, j + dy)) return;
    const double v = d(i + dx, j + dy) * a.template coefficient<-dx, -dy>(i + dx, j + dy);
    sums.difference += v - d(i, j) * a.template coefficient<dx, dy>(i, j);
    sums.magnitude += magnitude(v);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    if (!whole.is_inner(i, j)) return 0;
    Sums sums{0, magnitude(d(i, j) * a.template coefficient<0, 0>(i, j))};
    add_neighbours(*this, i, j, sums);
    return sums.magnitude > 0 ? magnitude(sums.difference) / sums.magnitude : 0;
  }
};

}  // namespace

double largest_scale_jump(Context& ctx, const GridOperator<double>& a, FieldView<const double> d) {
  return a.visit([&]<class View>(const View& view) {
    return reduce(ctx, a.shape().nx, a.shape().ny, ScaleJump<View>{view, a.shape(), d});
  });
}

double loss_of(Context& ctx, const GridOperator<double>& a, FieldView<const double> d, const Whole& whole) {
  return a.visit([&]<class View>(const View& view) {
    return reduce(ctx, a.shape().nx, a.shape().ny, Loss<View>{view, d, whole});
  });
}

}  // namespace stratum
