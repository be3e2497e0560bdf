#include <stratum/multigrid/scaled_rows.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/grid/reduce.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/row_scales.hpp>

namespace stratum {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// The largest d_i / d_j of rows that are coupled.
double largest_jump(const SparseRows& a, const std::vector<double>& d) {
  double largest = 1;
  for (int i = 0; i < a.rows; ++i)
    for (auto k = at(a.start[at(i)]); k < at(a.start[at(i) + 1]); ++k)
      if (a.value[k] != 0) largest = std::max(largest, d[at(i)] / d[at(a.column[k])]);
  return largest;
}

/// How far the couplings of (i, j) and the nodes behind it are apart: the larger by the smaller, in x or in y.
template <class View>
struct Apart {
  static constexpr bool takes_maximum = true;
  View a;
  int nx, ny;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static double ratio(double there, double back) {
    const double r = there / back;
    return r > 0 ? (r > 1 ? r : 1 / r) : 0;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    double largest = 0;
    if (i + 1 < nx) largest = ratio(a.template coefficient<1, 0>(i, j), a.template coefficient<-1, 0>(i + 1, j));
    if (j + 1 < ny) {
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
    double sum = 0, magnitude = 0;
    for (const double entry : entries) {
      sum += entry;
      magnitude += entry < 0 ? -entry : entry;
    }
    return (sum < 0 ? -sum : sum) / magnitude;
  }
};

/// log p of `nodes` along one direction, between nodes `step` apart; lines of them are `next` apart.
std::vector<double> along(const SparseRows& a, int nodes, int step, int lines, int next) {
  std::vector<double> p(at(nodes));
  // What couples node k of line l to the node before or behind it; nothing beyond the ends.
  const auto link = [&](int k, int to, int l) {
    return to < 0 || to >= nodes ? 0.0 : -a.at(k * step + l * next, to * step + l * next);
  };
  for (int k = 0; k + 1 < nodes; ++k) {
    double sum = 0;
    int count = 0;
    for (int l = 0; l < lines; ++l) {
      const double there = link(k, k + 1, l), back = link(k + 1, k, l);
      if (!(there > 0 && back > 0)) continue;
      const double alike = std::log((std::abs(link(k, k - 1, l)) + there) / (back + std::abs(link(k + 1, k + 2, l))));
      sum += std::clamp(std::log(there / back), std::min(0.0, alike), std::max(0.0, alike));
      ++count;
    }
    p[at(k + 1)] = p[at(k)] + (count > 0 ? sum / count : 0);
  }
  return p;
}

/// d(i, j) = p_i q_j, the largest of them one.
std::vector<double> estimated(const SparseRows& a, int nx, int ny) {
  const auto p = along(a, nx, 1, ny, nx), q = along(a, ny, nx, nx, 1);
  const double top = *std::max_element(p.begin(), p.end()) + *std::max_element(q.begin(), q.end());
  std::vector<double> d;
  d.reserve(at(nx) * at(ny));
  for (const double y : q)
    for (const double x : p) d.push_back(std::exp(x + y - top));
  return d;
}

/// How far D A is from conserving, as above.
double loss(const SparseRows& a, int nx, int ny, const std::vector<double>& d) {
  std::vector<double> difference(at(a.rows)), magnitude(at(a.rows));
  for (int i = 0; i < a.rows; ++i)
    for (auto k = at(a.start[at(i)]); k < at(a.start[at(i) + 1]); ++k) {
      const auto j = at(a.column[k]);
      const double v = d[at(i)] * a.value[k];
      difference[j] += v;
      magnitude[j] += std::abs(v);
      difference[at(i)] -= v;
    }
  const auto is_inner = [](int i, int n) { return n < 3 || (i > 0 && i < n - 1); };
  double sum = 0;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const auto k = at(j) * at(nx) + at(i);
      if (is_inner(i, nx) && is_inner(j, ny) && magnitude[k] > 0) sum += std::abs(difference[k]) / magnitude[k];
    }
  return sum;
}

}  // namespace

std::optional<ScaledRows> scaled_rows(Context& ctx, const GridOperator<double>& a) {
  const auto [nx, ny] = std::pair(a.shape().nx, a.shape().ny);
  const double apart = a.visit([&, nx = nx, ny = ny]<class View>(const View& view) {
    return reduce(ctx, nx, ny, Apart<View>{view, nx, ny});
  });
  const double sum =
      a.visit([&, nx = nx, ny = ny]<class View>(const View& view) { return reduce(ctx, nx, ny, RowSum<View>{view}); });
  const bool zero_sums = sum <= 32 * std::numeric_limits<double>::epsilon();
  if (apart < least_scale_jump && !zero_sums) return {};

  const SparseRows given = sparse_rows(ctx, a);
  ScaledRows scaled{{}, given, true};
  scaled.d = scale_to_symmetry(scaled.a);
  if (!scaled.d.empty()) {
    if (largest_jump(given, scaled.d) < least_scale_jump && !zero_sums) return {};
    return scaled;
  }
  scaled.symmetric = false;
  scaled.d = estimated(given, nx, ny);
  if (largest_jump(given, scaled.d) < least_scale_jump) return {};
  constexpr double gain = 0.8;
  const std::vector<double> ones(scaled.d.size(), 1.0);
  if (!(loss(given, nx, ny, scaled.d) < gain * loss(given, nx, ny, ones))) return {};
  for (int i = 0; i < given.rows; ++i)
    for (auto k = at(given.start[at(i)]); k < at(given.start[at(i) + 1]); ++k) scaled.a.value[k] *= scaled.d[at(i)];
  return scaled;
}

}  // namespace stratum
