#include <stratum/solvers/direct/rounded_modes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

template <class T>
std::vector<double> to_host(Context& ctx, const Field<T>& factor) {
  std::vector<T> numbers(static_cast<std::size_t>(factor.shape().nx));
  copy_to_host(ctx, factor.cview(), numbers.data());
  return {numbers.begin(), numbers.end()};
}

}  // namespace

template <class T>
LineFactors line_factors(Context& ctx, const TensorOperator<T>& a, Direction direction) {
  if (direction == Direction::x) return {to_host(ctx, a.kx), to_host(ctx, a.mx)};
  return {to_host(ctx, a.has_reaction() ? a.column_ky : a.ky), to_host(ctx, a.my)};
}

template <class T>
double reaction_of(Context& ctx, const TensorOperator<T>& a) {
  if (!a.has_reaction()) return 0;
  const auto e = to_host(ctx, a.e), m = to_host(ctx, a.my);
  const auto largest = std::max_element(e.begin(), e.end());
  const auto i = static_cast<std::size_t>(largest - e.begin());
  return *largest / (3 * (m[i] + m[i + 1]));
}

template <class T>
bool survive_rounding(const LineFactors& line, const LineModes& modes) {
  const auto& [k, m] = line;
  const std::size_t n = modes.values.size();
  const bool singular = modes.values.front() == 0;
  // Of a constant; of one that changes its sign half way, less its mean, where there must be none.
  std::vector<double> b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = 3 * (m[i] + m[i + 1]) * (singular && i < n / 2 ? -1 : 1);
  if (singular) {
    const double mean = std::accumulate(b.begin(), b.end(), 0.0) / static_cast<double>(n);
    for (double& number : b) number -= mean;
  }
  std::vector<T> x(n, T(0)), v(n);
  for (std::size_t a = singular ? 1 : 0; a < n; ++a) {
    T part = 0;
    for (std::size_t i = 0; i < n; ++i) {
      v[i] = static_cast<T>(modes.vectors[a * n + i]);
      part += v[i] * static_cast<T>(b[i]);
    }
    part /= static_cast<T>(modes.values[a]);
    for (std::size_t i = 0; i < n; ++i) x[i] += part * v[i];
  }
  constexpr double fall = 1e-2, roundings = 32 * static_cast<double>(std::numeric_limits<T>::epsilon());
  double residual = 0, norm = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto before = i > 0 ? static_cast<double>(x[i - 1]) : 0.0, here = static_cast<double>(x[i]);
    const auto behind = i + 1 < n ? static_cast<double>(x[i + 1]) : 0.0;
    const double rest = std::abs(b[i] - k[i] * (here - before) - k[i + 1] * (here - behind));
    const double size = k[i] * (std::abs(here) + std::abs(before)) + k[i + 1] * (std::abs(here) + std::abs(behind));
    const double beyond = rest - roundings * size;
    if (!(beyond <= 0)) residual += beyond * beyond;
    norm += b[i] * b[i];
  }
  return residual <= fall * fall * norm;
}

template <class T>
double lost_to_rounding(const LineFactors& line) {
  const auto& [k, m] = line;
  // K x = M 1 from interval to interval: k (x_i - x_(i-1)) is the flow at the beginning less the load before it. Where neither
  // end is tied down x is some constant.
  const std::size_t intervals = k.size();
  const bool first = k.front() > 0, last = k.back() > 0;
  std::vector<double> load(intervals, 0.0);
  for (std::size_t i = 1; i < intervals; ++i) load[i] = load[i - 1] + 3 * (m[i - 1] + m[i]);
  double resistance = 0, fall = 0;
  for (std::size_t i = 0; i < intervals; ++i)
    if (k[i] > 0) {
      resistance += 1 / k[i];
      fall += load[i] / k[i];
    }
  const double total = load.back(), flow = !first ? 0 : last ? fall / resistance : total;
  const auto rise = [&, &k = k](std::size_t i) { return k[i] > 0 && (first || last) ? (flow - load[i]) / k[i] : 0; };
  std::vector<double> x(intervals + 1, first ? 0 : last ? fall : total * resistance / 8);
  for (std::size_t i = 0; i < intervals; ++i) x[i + 1] = x[i] + rise(i);
  // Towards an end that is tied down: from there.
  double largest = 0, from_last = 0;  // k x
  for (std::size_t i = intervals; i-- > 0;) {
    const double size = std::max(std::abs(x[i]), std::abs(x[i + 1]));
    const double behind = std::abs(from_last);
    from_last -= rise(i);
    largest = std::max(largest, k[i] * (last ? std::min(size, std::max(behind, std::abs(from_last))) : size));
  }
  constexpr auto rounding = static_cast<double>(std::numeric_limits<T>::epsilon());
  return largest / total * rounding * rounding;
}

template LineFactors line_factors(Context&, const TensorOperator<float>&, Direction);
template LineFactors line_factors(Context&, const TensorOperator<double>&, Direction);
template double reaction_of(Context&, const TensorOperator<float>&);
template double reaction_of(Context&, const TensorOperator<double>&);
template double lost_to_rounding<float>(const LineFactors&);
template double lost_to_rounding<double>(const LineFactors&);
template bool survive_rounding<float>(const LineFactors&, const LineModes&);
template bool survive_rounding<double>(const LineFactors&, const LineModes&);

}  // namespace stratum
