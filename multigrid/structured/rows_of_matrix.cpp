#include <stratum/multigrid/structured/scaled_rows_findings.hpp>

#include <stratum/core/field/reduce.hpp>

namespace stratum {
namespace {

/// How far the couplings of (i, j) and the nodes behind it are apart: the larger by the smaller, in x or in y.
template <class View>
struct Apart {
  static constexpr bool takes_maximum = true;
  View a;
  Whole whole;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static double ratio(double there, double back) {
    const double r = there / back;
    return r > 0 ? (r > 1 ? r : 1 / r) : 0;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    double largest = 0;
    if (whole.has(i + 1, j))
      largest = ratio(a.template coefficient<1, 0>(i, j), a.template coefficient<-1, 0>(i + 1, j));
    if (whole.has(i, j + 1)) {
      const double y = ratio(a.template coefficient<0, 1>(i, j), a.template coefficient<0, -1>(i, j + 1));
      largest = y > largest ? y : largest;
    }
    return largest;
  }
};

/// |sum of a row| by the sum of its magnitudes.
template <class View>
struct RowSum {
  static constexpr bool takes_maximum = true;
  View a;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const double entries[9] = {
        a.template coefficient<-1, -1>(i, j), a.template coefficient<0, -1>(i, j), a.template coefficient<1, -1>(i, j),
        a.template coefficient<-1, 0>(i, j),  a.template coefficient<0, 0>(i, j),  a.template coefficient<1, 0>(i, j),
        a.template coefficient<-1, 1>(i, j),  a.template coefficient<0, 1>(i, j),  a.template coefficient<1, 1>(i, j)};
    double sum = 0, magnitudes = 0;
    for (const double entry : entries) {
      sum += entry;
      magnitudes += magnitude(entry);
    }
    return magnitude(sum) / magnitudes;
  }
};

}  // namespace

double most_apart(Context& ctx, const GridOperator<double>& a, const Whole& whole) {
  return a.visit([&]<class View>(const View& view) {
    return reduce(ctx, a.shape().nx, a.shape().ny, Apart<View>{view, whole});
  });
}

double largest_row_sum(Context& ctx, const GridOperator<double>& a) {
  return a.visit(
      [&]<class View>(const View& view) { return reduce(ctx, a.shape().nx, a.shape().ny, RowSum<View>{view}); });
}

}  // namespace stratum
