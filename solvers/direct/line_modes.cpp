#include <stratum/solvers/direct/line_modes.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <stratum/core/config.hpp>

namespace stratum {

namespace {

struct Pencil {
  const double *k, *m;
  std::size_t n;
};

/// A pivot, kept away from zero.
STRATUM_INLINE double apart_from_zero(double pivot, double beside) {
  constexpr double least = 1e-30, smallest = 1e-290;
  const double bound = least * std::abs(beside) + smallest;
  return std::abs(pivot) < bound ? bound : pivot;
}

constexpr int lanes = 32;

/// How many eigenvalues are below each of these shifts.
STRATUM_SIMD_CLONES void count_below(const Pencil& a, const double (&shift)[lanes], double (&count)[lanes]) {
  double left[lanes];
#pragma omp simd
  for (int l = 0; l < lanes; ++l) {
    left[l] = a.k[0] + shift[l] * a.m[0];
    count[l] = 0;
  }
  for (std::size_t i = 0; i < a.n; ++i) {
    const double mass = 3 * (a.m[i] + a.m[i + 1]), k_right = a.k[i + 1], m_right = a.m[i + 1];
#pragma omp simd
    for (int l = 0; l < lanes; ++l) {
      const double beside = k_right + shift[l] * m_right, rest = left[l] - shift[l] * mass;
      const double pivot = apart_from_zero(rest + beside, beside);
      count[l] += pivot < 0 ? 1.0 : 0.0;
      left[l] = beside * (rest / pivot);
    }
  }
}

/// Eigenvalues first .. first + lanes - 1, all of them between least and most.
void bisect(const Pencil& a, std::size_t first, double least, double most, double* values) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  std::uint64_t low[lanes], high[lanes];
  std::fill_n(low, lanes, bits(least));
  std::fill_n(high, lanes, bits(most));
  for (std::uint64_t apart = bits(most) - bits(least); apart > 1; apart -= apart / 2) {
    double shift[lanes], count[lanes];
    for (int l = 0; l < lanes; ++l) shift[l] = std::bit_cast<double>(low[l] + (high[l] - low[l]) / 2);
    count_below(a, shift, count);
    for (int l = 0; l < lanes; ++l) (count[l] > static_cast<double>(first) + l ? high[l] : low[l]) = bits(shift[l]);
  }
  for (std::size_t l = 0; l < lanes && first + l < a.n; ++l) values[l] = std::bit_cast<double>(low[l]);
}

/// K - lambda M, factored from both ends.
class Twisted {
 public:
  Twisted(const Pencil& a, double lambda) : a_(a), from_left_(a.n), from_right_(a.n), meeting_(a.n) {
    const auto beside = [&](std::size_t i) { return a.k[i] + lambda * a.m[i]; };
    const auto own = [&](std::size_t i) { return 3 * lambda * (a.m[i] + a.m[i + 1]); };
    double rest = 0, eliminated = beside(0);
    for (std::size_t i = 0; i < a.n; ++i) {
      meeting_[i] = rest = eliminated - own(i);
      const double coupling = beside(i + 1);
      from_left_[i] = coupling / apart_from_zero(rest + coupling, coupling);
      eliminated = from_left_[i] * rest;
    }
    eliminated = beside(a.n);
    for (std::size_t i = a.n; i-- > 0;) {
      rest = eliminated - own(i);
      meeting_[i] += eliminated;
      const double coupling = beside(i);
      from_right_[i] = coupling / apart_from_zero(rest + coupling, coupling);
      eliminated = from_right_[i] * rest;
    }
  }
  /// Diagonal entry i of the inverse.
  [[nodiscard]] double inverse(std::size_t i) const { return 1 / apart_from_zero(meeting_[i], 0); }
  /// The eigenvector that is 1 at node i.
  void vector(std::size_t i, double* v) const {
    v[i] = 1;
    for (std::size_t j = i; j-- > 0;) v[j] = from_left_[j] * v[j + 1];
    for (std::size_t j = i + 1; j < a_.n; ++j) v[j] = from_right_[j] * v[j - 1];
  }

 private:
  Pencil a_;
  std::vector<double> from_left_, from_right_;  // what is put in for the unknowns before and behind
  std::vector<double> meeting_;
};

STRATUM_SIMD_CLONES double dot(const double* x, const double* y, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

/// M v
void times_mass(const Pencil& a, const double* v, double* product) {
  for (std::size_t i = 0; i < a.n; ++i)
    product[i] =
        2 * (a.m[i] + a.m[i + 1]) * v[i] + (i > 0 ? a.m[i] * v[i - 1] : 0) + (i + 1 < a.n ? a.m[i + 1] * v[i + 1] : 0);
}

/// Takes from v what lies along `count` vectors of about the same eigenvalue, and makes its norm 1. Returns how much of v there
/// was left.
double make_orthogonal(const Pencil& a, const double* before, std::size_t count, double* v) {
  std::vector<double> product(a.n);
  double left = 1;
  for (int pass = 0; pass < 3; ++pass) {  // the first scales
    for (std::size_t b = 0; b < count && pass > 0; ++b) {
      const double* const other = before + b * a.n;
      times_mass(a, v, product.data());
      const double part = dot(product.data(), other, a.n);
      for (std::size_t i = 0; i < a.n; ++i) v[i] -= part * other[i];
    }
    times_mass(a, v, product.data());
    const double norm = std::sqrt(dot(product.data(), v, a.n));
    if (pass > 0) left *= norm;
    for (std::size_t i = 0; i < a.n; ++i) v[i] /= norm;
  }
  return left;
}

/// `before`: vectors of about the same eigenvalue, which this one is made orthogonal to.
void eigenvector(const Pencil& a, double lambda, const double* before, std::size_t count, double* v) {
  const auto mass = [&](std::size_t i) { return a.m[i] + a.m[i + 1]; };
  const auto largest = [&](const auto& size) {
    std::size_t at = 0;
    for (std::size_t i = 1; i < a.n; ++i)
      if (size(i) > size(at)) at = i;
    return at;
  };
  // The inverse is made of v_b v_b^T / (lambda_b - lambda).
  constexpr double enough = 0.1, beside = 4e-15;
  constexpr int most_trials = 4;
  std::vector<double> inverse(a.n), trial(a.n);
  double best = -1;
  for (int k = 0; k < most_trials && best < enough; ++k) {
    const Twisted factors(a, lambda * (1 + k * static_cast<double>(count) * beside));
    for (std::size_t i = 0; i < a.n; ++i) inverse[i] = factors.inverse(i);
    // Where eigenvalues agree to rounding any of their vectors may be the first. Beside them there is about as much of each:
    // the others are taken from the inverse.
    for (std::size_t b = 0; b < count && k > 0; ++b) {
      const double* const other = before + b * a.n;
      const std::size_t at = largest([&](std::size_t i) { return other[i] * other[i] * mass(i); });
      const double part = inverse[at] / (other[at] * other[at]);
      for (std::size_t i = 0; i < a.n; ++i) inverse[i] -= part * other[i] * other[i];
    }
    factors.vector(largest([&](std::size_t i) { return std::abs(inverse[i]) * mass(i); }), trial.data());
    const double left = make_orthogonal(a, before, count, trial.data());
    if (!(left > best)) continue;
    best = left;
    std::copy(trial.begin(), trial.end(), v);
  }
}

}  // namespace

LineModes line_modes(const LineFactors& line, int threads) {
  const auto& [k, m] = line;
  const std::size_t n = k.size() - 1;
  const Pencil a{k.data(), m.data(), n};
  const bool constants = k.front() == 0 && k.back() == 0;
  // K <= 2 (k_i + k_(i+1)) and M >= m_i + m_(i+1), diagonal matrices.
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double bound = 4 * (k[i] + k[i + 1]) / (m[i] + m[i + 1]);
    if (!std::isfinite(bound)) return {};
    most = std::max(most, bound);
  }
  constexpr double range = 1e-150;
  const double least = std::max(range * most, std::numeric_limits<double>::min());
  double shift[lanes], count[lanes];
  std::fill_n(shift, lanes, least);
  if (most <= 0) return {};
  count_below(a, shift, count);
  if (count[0] != (constants ? 1 : 0)) return {};

  LineModes modes{std::vector<double>(n * n), std::vector<double>(n)};
  const auto batches = static_cast<int>((n + lanes - 1) / lanes);
#pragma omp parallel for num_threads(std::min(threads, batches)) if (threads > 1)
  for (int b = 0; b < batches; ++b) {
    const auto first = static_cast<std::size_t>(b) * lanes;
    bisect(a, first, least, most, &modes.values[first]);
  }
  if (constants) modes.values[0] = 0;

  // Eigenvalues that cannot be told apart well enough for their vectors to be orthogonal are a group.
  constexpr double close = 1e-6;
  std::vector<std::size_t> begin(n, 0);
  for (std::size_t i = 1; i < n; ++i)
    begin[i] = modes.values[i] - modes.values[i - 1] < close * modes.values[i] ? begin[i - 1] : i;
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads) if (threads > 1)
  for (std::size_t i = 0; i < n; ++i) {
    if (begin[i] != i) continue;
    for (std::size_t v = i; v < n && begin[v] == i; ++v)
      eigenvector(a, modes.values[v], &modes.vectors[i * n], v - i, &modes.vectors[v * n]);
  }

  // Vectors of values that are apart are orthogonal, by a long way.
  constexpr double orthogonal = 1e-8, apart = 0.9;
  bool fails = false;
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads) reduction(|| : fails) if (threads > 1)
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> product(n);
    times_mass(a, &modes.vectors[i * n], product.data());
    for (std::size_t v = i + 1; v-- > 0 && modes.values[v] >= apart * modes.values[i];)
      if (!(std::abs(dot(product.data(), &modes.vectors[v * n], n) - (v == i ? 1 : 0)) < orthogonal)) fails = true;
  }
  if (fails) return {};
  return modes;
}

}  // namespace stratum
