#include <stratum/solvers/direct/jacobi_modes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <stratum/core/config.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/solvers/direct/fourier_modes.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

constexpr int max_sweeps = 40;

STRATUM_SIMD_CLONES void products(const double* x, const double* y, std::size_t n, double (&sums)[3]) {
  double xx = 0, xy = 0, yy = 0;
#pragma omp simd reduction(+ : xx, xy, yy)
  for (std::size_t i = 0; i < n; ++i) {
    xx += x[i] * x[i];
    xy += x[i] * y[i];
    yy += y[i] * y[i];
  }
  sums[0] = xx;
  sums[1] = xy;
  sums[2] = yy;
}

STRATUM_SIMD_CLONES void rotate(double* x, double* y, std::size_t n, double cosine, double sine) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    const double a = x[i], b = y[i];
    x[i] = cosine * a - sine * b;
    y[i] = sine * a + cosine * b;
  }
}

/// Columns of G, and below each its column of W.
class Columns {
 public:
  Columns(std::size_t n, std::size_t rows)
      : n_(n), rows_(rows), orthogonal_(std::numeric_limits<double>::epsilon() * std::sqrt(static_cast<double>(rows))),
        numbers_(n * (rows + n), 0.0) {}
  double* column(std::size_t j) { return &numbers_[j * (rows_ + n_)]; }
  double* rotation(std::size_t j) { return column(j) + rows_; }

  /// Makes columns p and q orthogonal; whether they were not. Columns of a norm below `nothing` are left as they are.
  bool make_orthogonal(std::size_t p, std::size_t q, double nothing) {
    double* const x = column(p);
    double* const y = column(q);
    double sums[3];
    products(x, y, rows_, sums);
    const auto [xx, xy, yy] = sums;
    if (std::min(xx, yy) <= nothing || std::abs(xy) <= orthogonal_ * std::sqrt(xx) * std::sqrt(yy)) return false;
    const double theta = (yy - xx) / (2 * xy);
    const double tangent = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
    const double cosine = 1 / std::sqrt(tangent * tangent + 1);
    rotate(x, y, rows_ + n_, cosine, cosine * tangent);
    return true;
  }
  /// All pairs once, in rounds of pairs that have nothing in common.
  bool sweep(double nothing, int threads) {
    const auto players = static_cast<int>(n_ + n_ % 2);
    bool rotated = false;
#pragma omp parallel num_threads(threads) reduction(|| : rotated) if (threads > 1 && n_ > 64)
    for (int round = 0; round < players - 1; ++round) {
#pragma omp for schedule(static)
      for (int pair = 0; pair < players / 2; ++pair) {
        const auto seat = [&](int k) { return k == 0 ? 0 : 1 + (k - 1 + round) % (players - 1); };
        const auto a = static_cast<std::size_t>(seat(pair)), b = static_cast<std::size_t>(seat(players - 1 - pair));
        if (std::max(a, b) < n_ && make_orthogonal(std::min(a, b), std::max(a, b), nothing)) rotated = true;
      }
    }
    return rotated;
  }

 private:
  std::size_t n_, rows_;
  double orthogonal_;  // as far as a product of two columns is known, beside their norms
  Values numbers_;
};

/// S M S = L L^T of a tridiagonal matrix that may be joined at its ends: diagonal, the entries before it, and the last row.
struct Factor {
  std::size_t n;
  Values diagonal, before, last;

  Factor(const Values& off, double corner) : n(off.size()), diagonal(n), before(n, 0.0), last(n, 0.0) {
    // off[i]: between i - 1 and i. Row n - 1 is full.
    double sum = 1;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      before[i] = i > 0 ? off[i] / diagonal[i - 1] : 0;
      diagonal[i] = std::sqrt(1 - before[i] * before[i]);
      const double entry = (i == 0 ? corner : 0) + (i + 2 == n ? off[n - 1] : 0);
      last[i] = (entry - (i > 0 ? last[i - 1] * before[i] : 0)) / diagonal[i];
      sum -= last[i] * last[i];
    }
    diagonal[n - 1] = std::sqrt(sum);
  }
  /// v = L^-T v
  void solve_transposed(double* v) const {
    v[n - 1] /= diagonal[n - 1];
    for (std::size_t i = n - 1; i-- > 0;) {
      const double behind = i + 2 < n ? before[i + 1] * v[i + 1] : 0;
      v[i] = (v[i] - behind - last[i] * v[n - 1]) / diagonal[i];
    }
  }
};

double mass_of(const AxisFactors& axis, std::size_t i) { return 2 * (axis.m[i] + axis.m[i + 1]); }

/// Constants are the kernel of K.
bool has_constants(const AxisFactors& axis) { return axis.periodic || (axis.k.front() == 0 && axis.k.back() == 0); }

void set_constant_mode(const AxisFactors& axis, LineModes& modes) {
  const std::size_t n = modes.values.size();
  double mass = 0;
  for (std::size_t i = 0; i < n; ++i) mass += 3 * (axis.m[i] + axis.m[i + 1]);
  modes.values[0] = 0;
  std::fill_n(modes.vectors.begin(), n, 1 / std::sqrt(mass));
  // What rounding has left of it in the others.
  for (std::size_t a = 1; a < n; ++a) {
    double* const v = &modes.vectors[a * n];
    double part = 0;
    for (std::size_t i = 0; i < n; ++i) part += 3 * (axis.m[i] + axis.m[i + 1]) * v[i];
    for (std::size_t i = 0; i < n; ++i) v[i] -= part / mass;
  }
}

}  // namespace

LineModes jacobi_modes(const AxisFactors& axis, int threads) {
  const std::size_t n = axis.k.size() - 1;
  Values scale(n), off(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) scale[i] = 1 / std::sqrt(mass_of(axis, i));
  for (std::size_t i = 1; i < n; ++i) off[i] = axis.m[i] * scale[i] * scale[i - 1];
  const Factor factor(off, axis.periodic ? axis.m[0] * scale[0] * scale[n - 1] : 0);

  // Row i of B is interval i, on the left of node i; of a periodic axis interval n is interval 0.
  const std::size_t rows = axis.periodic ? n : n + 1;
  Columns columns(n, rows);
  for (std::size_t j = 0; j < n; ++j) {
    double* const g = columns.column(j);
    const std::size_t behind = axis.periodic && j + 1 == n ? 0 : j + 1;
    g[j] += std::sqrt(axis.k[j]) * scale[j];
    g[behind] -= std::sqrt(axis.k[j + 1]) * scale[j];
    const auto subtract = [&](std::size_t other, double entry) {
      const double* const from = columns.column(other);
      for (std::size_t r = 0; r < rows; ++r) g[r] -= entry * from[r];
    };
    if (j + 1 < n && j > 0) subtract(j - 1, factor.before[j]);
    if (j + 1 == n)
      for (std::size_t i = 0; i < j; ++i) subtract(i, factor.last[i]);
    for (std::size_t r = 0; r < rows; ++r) g[r] /= factor.diagonal[j];
    columns.rotation(j)[j] = 1;
  }
  // The smallest eigenvalue but that of constants is about as large as one over resistance and mass of the whole axis.
  double resistance = 0, mass = 0;
  for (std::size_t i = 0; i <= n; ++i) resistance += axis.k[i] > 0 ? 1 / axis.k[i] : 0;
  for (std::size_t i = 0; i < n; ++i) mass += 3 * (axis.m[i] + axis.m[i + 1]);
  const double nothing = has_constants(axis) ? 1e-24 / (resistance * mass) : 0;
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < max_sweeps; ++sweep) rotated = columns.sweep(nothing, threads);

  Values squares(n);
  for (std::size_t j = 0; j < n; ++j) {
    double sums[3];
    products(columns.column(j), columns.column(j), rows, sums);
    squares[j] = sums[0];
    breaks_down_unless(std::isfinite(squares[j]), "the modes of an axis of ", n,
                       " unknowns are not finite: its widths, or "
                       "K on them, leave the range of double");
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return squares[a] < squares[b]; });
  LineModes modes{Values(n * n), Values(n)};
  for (std::size_t a = 0; a < n; ++a) {
    modes.values[a] = squares[order[a]];
    double* const v = &modes.vectors[a * n];
    std::copy_n(columns.rotation(order[a]), n, v);
    factor.solve_transposed(v);
    for (std::size_t i = 0; i < n; ++i) v[i] *= scale[i];
  }
  if (has_constants(axis)) set_constant_mode(axis, modes);
  return modes;
}

LineModes axis_modes(const AxisFactors& axis, int threads) {
  if (const auto uniform = uniform_axis(axis)) return fourier_modes(*uniform);
  if (axis.periodic) return jacobi_modes(axis, threads);
  LineModes modes = line_modes({axis.k, axis.m}, threads);
  if (modes.values.empty()) return jacobi_modes(axis, threads);
  if (has_constants(axis)) set_constant_mode(axis, modes);
  return modes;
}

}  // namespace stratum
