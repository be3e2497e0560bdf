#include <stratum/solvers/direct/fourier_modes.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include <stratum/core/device/simd.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

// Lambdas do not have the target of the function around them.
#define STRATUM_INLINED __attribute__((always_inline))

constexpr int widest_pack = 8, most_lines = 2 * widest_pack;

/// The mode a of an axis: half the angle from node to node, and whether it is constant but for its sign.
struct Mode {
  double half_angle;
  bool alone;
};
Mode mode_of(const UniformAxis& axis, int a) {
  const int n = axis.intervals();
  const double step = std::numbers::pi / (2.0 * n);
  if (axis.periodic) {
    const int waves = (a + 1) / 2;
    return {2 * step * waves, waves == 0 || 2 * waves == n};
  }
  if (axis.first_neumann && axis.last_neumann) return {step * a, a == 0 || a == n};
  if (axis.first_neumann || axis.last_neumann) return {step * (a + 0.5), false};
  return {step * (a + 1), false};
}

/// lambda, and the factor that makes v^T M v = 1 of sines and cosines.
std::pair<double, double> value_and_scale(const UniformAxis& axis, int a) {
  const auto [half, alone] = mode_of(axis, a);
  const double sine = std::sin(half), mass = axis.m * (6 - 4 * sine * sine);
  return {4 * axis.k * sine * sine / mass, 1 / std::sqrt(mass * axis.intervals() / (alone ? 1 : 2))};
}

/// Radices of the stages of a transform.
std::vector<int> factors_of(int n) {
  std::vector<int> factors;
  for (; n % 4 == 0; n /= 4) factors.push_back(4);
  for (int r = 2; n > 1; ++r)
    for (; n % r == 0; n /= r) factors.push_back(r);
  return factors;
}

/// Operations of a complex transform, for a number and one of its two lines.
double transform_operations(int n) {
  double sum = 0;
  for (const int r : factors_of(n)) {
    if (r > FourierTransform::largest_factor) return std::numeric_limits<double>::infinity();
    sum += r == 2 ? 5 : r == 3 ? 9 : r == 4 ? 8.5 : r == 5 ? 13 : 4.0 * r;
  }
  return sum;
}

}  // namespace

int UniformAxis::intervals() const {
  if (periodic) return unknowns;
  return unknowns + 1 - (first_neumann ? 1 : 0) - (last_neumann ? 1 : 0);
}

std::optional<UniformAxis> uniform_axis(const AxisFactors& axis) {
  constexpr double alike = 1e-13;
  const auto &k = axis.k, &m = axis.m;
  const std::size_t n = k.size() - 1;
  const auto natural = [&](std::size_t i) { return !axis.periodic && k[i] == 0 && m[i] == 0; };
  UniformAxis found{0, 0, static_cast<int>(n), natural(0), natural(n), axis.periodic};
  const std::size_t first = found.first_neumann ? 1 : 0, end = n + 1 - (found.last_neumann ? 1 : 0);
  if (first >= end) return std::nullopt;
  for (std::size_t i = first; i < end; ++i) {
    found.k += k[i];
    found.m += m[i];
  }
  const auto count = static_cast<double>(end - first);
  found.k /= count;
  found.m /= count;
  for (std::size_t i = first; i < end; ++i)
    if (!(std::abs(k[i] - found.k) <= alike * found.k && std::abs(m[i] - found.m) <= alike * found.m))
      return std::nullopt;
  return found;
}

std::vector<double> fourier_values(const UniformAxis& axis) {
  std::vector<double> values;
  for (int a = 0; a < axis.unknowns; ++a) values.push_back(value_and_scale(axis, a).first);
  return values;
}

LineModes fourier_modes(const UniformAxis& axis) {
  const int n = axis.unknowns, intervals = axis.intervals();
  const auto all = static_cast<std::size_t>(n);
  LineModes modes{std::vector<double>(all * all), fourier_values(axis)};
  double* v = modes.vectors.data();
  for (int a = 0; a < n; ++a) {
    const double scale = value_and_scale(axis, a).second;
    // The angle in quarters of 2 pi / (4 N), of which 4 N are none.
    const bool mixed = axis.first_neumann != axis.last_neumann;
    const std::int64_t steps = axis.periodic                             ? 4 * ((a + 1) / 2)
                               : mixed                                   ? 2 * a + 1
                               : axis.first_neumann && axis.last_neumann ? 2 * a
                                                                         : 2 * (a + 1);
    const bool cosine = axis.periodic ? a % 2 == 1 || a == 0 : axis.first_neumann || axis.last_neumann;
    for (int i = 0; i < n; ++i) {
      const std::int64_t node = mixed && axis.last_neumann            ? n - 1 - i
                                : axis.periodic || axis.first_neumann ? i
                                                                      : i + 1;
      const double angle =
          std::numbers::pi / (2.0 * intervals) * static_cast<double>(steps * node % (4 * std::int64_t{intervals}));
      *v++ = scale * (cosine ? std::cos(angle) : std::sin(angle));
    }
  }
  return modes;
}

/// Lines that are transformed together: numbers of a node side by side, those of `first` lines and as many of the others, which
/// are real and imaginary parts where numbers are complex.
struct FourierLines {
  const FourierTransform& plan;
  FourierTransform::Product product;
  bool rows;
  int count;
  const double* in;
  std::int64_t in_pitch;
  double* out;
  std::int64_t out_pitch;
  bool add;
  double* scratch;

  template <int bytes>
  STRATUM_INLINE void run() const;
};

namespace {

template <int bytes>
struct Transform {
  static constexpr int lanes = bytes / static_cast<int>(sizeof(double)), lines = 2 * lanes;
  using Pack = simd::Pack<double, bytes>;
  struct Number {
    Pack re, im;
    STRATUM_INLINE Number operator+(Number other) const { return {re + other.re, im + other.im}; }
    STRATUM_INLINE Number operator-(Number other) const { return {re - other.re, im - other.im}; }
    STRATUM_INLINE Number operator*(double factor) const { return {re * factor, im * factor}; }
    /// By cosine + i sine.
    STRATUM_INLINE Number turned(double cosine, double sine) const {
      return {re * cosine - im * sine, re * sine + im * cosine};
    }
  };
  static STRATUM_INLINE Number at(const double* numbers, int i) {
    return {simd::pack<bytes>(numbers + i * lines), simd::pack<bytes>(numbers + i * lines + lanes)};
  }
  static STRATUM_INLINE void put(double* numbers, int i, Number value) {
    simd::pack<bytes>(numbers + i * lines) = value.re;
    simd::pack<bytes>(numbers + i * lines + lanes) = value.im;
  }

  int n;  // N
  const double *cosine, *sine;

  /// i or, of forward transforms, -i times.
  template <bool back>
  static STRATUM_INLINE Number quarter(Number x) {
    if constexpr (back) return {-x.im, x.re};
    return {x.im, -x.re};
  }
  /// x exp(-+2 pi i t / size); t < size.
  template <bool back>
  STRATUM_INLINE Number twiddled(Number x, int t, int step) const {
    return x.turned(cosine[t * step], back ? sine[t * step] : -sine[t * step]);
  }

  /// The sums of a[j] exp(-+2 pi i j t / radix), t = 0 .. radix - 1, in place.
  template <int radix, bool back>
  STRATUM_INLINE void butterfly(Number (&a)[radix]) const {
    if constexpr (radix == 2) {
      const Number sum = a[0] + a[1];
      a[1] = a[0] - a[1];
      a[0] = sum;
    } else if constexpr (radix == 3) {
      constexpr double root = 0.86602540378443864676;
      const Number sum = a[1] + a[2], turned = quarter<back>((a[1] - a[2]) * root), middle = a[0] - sum * 0.5;
      a[0] = a[0] + sum;
      a[1] = middle + turned;
      a[2] = middle - turned;
    } else if constexpr (radix == 4) {
      const Number even = a[0] + a[2], even_difference = a[0] - a[2], odd = a[1] + a[3];
      const Number odd_difference = quarter<back>(a[1] - a[3]);
      a[0] = even + odd;
      a[1] = even_difference + odd_difference;
      a[2] = even - odd;
      a[3] = even_difference - odd_difference;
    } else {
      static_assert(radix == 5);
      constexpr double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410, s1 = 0.95105651629515357212,
                       s2 = 0.58778525229247312917;
      const Number sum1 = a[1] + a[4], sum2 = a[2] + a[3], difference1 = a[1] - a[4], difference2 = a[2] - a[3];
      const Number middle1 = a[0] + sum1 * c1 + sum2 * c2, middle2 = a[0] + sum1 * c2 + sum2 * c1;
      const Number turned1 = quarter<back>(difference1 * s1 + difference2 * s2),
                   turned2 = quarter<back>(difference1 * s2 - difference2 * s1);
      a[0] = a[0] + sum1 + sum2;
      a[1] = middle1 + turned1;
      a[2] = middle2 + turned2;
      a[3] = middle2 - turned2;
      a[4] = middle1 - turned1;
    }
  }
  /// One stage of `size` numbers, `apart` of which are transforms of their own by now.
  template <int radix, bool back>
  STRATUM_INLINE void stage(int size, int apart, int step, const double* from, double* to) const {
    const int m = size / radix;
    for (int p = 0; p < m; ++p)
      for (int q = 0; q < apart; ++q) {
        Number a[radix];
#pragma GCC unroll 5
        for (int j = 0; j < radix; ++j) a[j] = at(from, q + apart * (p + m * j));
        butterfly<radix, back>(a);
        put(to, q + apart * radix * p, a[0]);
#pragma GCC unroll 5
        for (int t = 1; t < radix; ++t)
          put(to, q + apart * (radix * p + t), p == 0 ? a[t] : twiddled<back>(a[t], p * t, step));
      }
  }
  /// Of any radix; `roots`: its step in the table.
  template <bool back>
  STRATUM_INLINE void slow_stage(int radix, int size, int apart, int step, const double* from, double* to) const {
    const int m = size / radix, roots = step * m;
    for (int p = 0; p < m; ++p)
      for (int q = 0; q < apart; ++q)
        for (int t = 0; t < radix; ++t) {
          Number sum = at(from, q + apart * p);
          for (int j = 1; j < radix; ++j)
            sum = sum + twiddled<back>(at(from, q + apart * (p + m * j)), j * t % radix, roots);
          put(to, q + apart * (radix * p + t), twiddled<back>(sum, p * t, step));
        }
  }
  /// The complex transform of `size` numbers, a divisor of N, which comes to lie in x or y.
  template <bool back>
  STRATUM_INLINE const double* transform(int size, double* x, double* y) const {
    int left = size, apart = 1;
    const auto next = [&](int radix) STRATUM_INLINED {
      left /= radix;
      apart *= radix;
      std::swap(x, y);
    };
    const auto step = [&]() STRATUM_INLINED { return 4 * n / left; };
    for (; left % 4 == 0; next(4)) stage<4, back>(left, apart, step(), x, y);
    for (; left % 2 == 0; next(2)) stage<2, back>(left, apart, step(), x, y);
    for (; left % 3 == 0; next(3)) stage<3, back>(left, apart, step(), x, y);
    for (; left % 5 == 0; next(5)) stage<5, back>(left, apart, step(), x, y);
    for (int radix = 7; left > 1; radix += 2)
      for (; left % radix == 0; next(radix)) slow_stage<back>(radix, left, apart, step(), x, y);
    return x;
  }

  /// Sums of x_j cos(pi j (a + 1/2) / size), a = 0 .. size - 1: takes(j), gives(a, sum).
  template <class Takes, class Gives>
  STRATUM_INLINE void to_halves(int size, const Takes& takes, const Gives& gives, double* x, double* y) const {
    const int step = n / size;
    put(x, 0, takes(0));
    for (int k = 1; 2 * k <= size; ++k) {
      const Number first = takes(k), second = takes(size - k);
      const double c = 0.5 * cosine[k * step], s = 0.5 * sine[k * step];
      // Of either line c first + s second + i (s first - c second).
      const Number re = first * c + second * s, im = first * s - second * c;
      put(x, k, {re.re - im.im, im.re + re.im});
      put(x, size - k, {re.re + im.im, re.im - im.re});
    }
    const double* const v = transform<true>(size, x, y);
    for (int a = 0; a < size; ++a) gives(a, at(v, a % 2 == 0 ? a / 2 : size - 1 - a / 2));
  }
  /// Sums over a of x_a cos(pi j (a + 1/2) / size), j = 0 .. size - 1.
  template <class Takes, class Gives>
  STRATUM_INLINE void from_halves(int size, const Takes& takes, const Gives& gives, double* x, double* y) const {
    const int step = n / size;
    for (int a = 0; a < size; ++a) put(x, a % 2 == 0 ? a / 2 : size - 1 - a / 2, takes(a));
    const double* const v = transform<false>(size, x, y);
    gives(0, at(v, 0));
    for (int k = 1; 2 * k <= size; ++k) {
      const Number one = at(v, k), other = at(v, size - k);
      const double c = 0.5 * cosine[k * step], s = 0.5 * sine[k * step];
      // Transforms of both lines, turned by -k quarters of a step.
      const Number re{one.re + other.re, one.im + other.im}, im{one.im - other.im, other.re - one.re};
      gives(k, re * c + im * s);
      if (2 * k < size) gives(size - k, re * s - im * c);
    }
  }

  /// The transform of a real line and of another beside it: at k > 0 sums of x_j cos(2 pi j k / size) and of x_j sin(..).
  struct Waves {
    Number cosines, sines;
  };
  static STRATUM_INLINE Waves waves(const double* v, int k, int size) {
    const Number one = at(v, k), other = at(v, size - k);
    return {Number{one.re + other.re, one.im + other.im} * 0.5, Number{other.im - one.im, one.re - other.re} * 0.5};
  }

  /// x_1 .. x_(N-1), which are lost; gives(a, sum of x_i sin(pi a i / N)).
  template <class Gives>
  STRATUM_INLINE void sines(double* numbers, const Gives& gives, double* x, double* y) const {
    int size = n, apart = 1;
    for (; size % 2 == 0; size /= 2, apart *= 2) {
      const int half = size / 2;
      for (int j = 1; j < half; ++j) {
        const Number one = at(numbers, j), other = at(numbers, size - j);
        put(numbers, j, one - other);
        put(numbers, size - j, one + other);
      }
      to_halves(
          half, [&](int j) STRATUM_INLINED { return at(numbers, half + j); },
          [&](int a, Number sum) STRATUM_INLINED { gives(apart * (2 * a + 1), a % 2 == 0 ? sum : sum * -1); }, x, y);
    }
    for (const bool odd : {false, true}) {
      if (size == 1) return;
      put(x, 0, Number{});
      for (int j = 1; j < size; ++j) put(x, j, odd && j % 2 == 1 ? at(numbers, j) * -1 : at(numbers, j));
      const double* const v = transform<false>(size, x, y);
      for (int k = 1; 2 * k < size; ++k) {
        const Number sum = waves(v, k, size).sines;
        gives(apart * (odd ? size - 2 * k : 2 * k), odd ? sum * -1 : sum);
      }
    }
  }
  /// The same of cosines, x_0 .. x_N and a = 0 .. N.
  template <class Gives>
  STRATUM_INLINE void cosines(double* numbers, const Gives& gives, double* x, double* y) const {
    int size = n, apart = 1;
    for (; size % 2 == 0; size /= 2, apart *= 2) {
      const int half = size / 2;
      for (int j = 0; j < half; ++j) {
        const Number one = at(numbers, j), other = at(numbers, size - j);
        put(numbers, j, one + other);
        put(numbers, size - j, one - other);
      }
      to_halves(
          half, [&](int j) STRATUM_INLINED { return at(numbers, size - j); },
          [&](int a, Number sum) STRATUM_INLINED { gives(apart * (2 * a + 1), sum); }, x, y);
    }
    for (const bool odd : {false, true}) {
      const Number last = at(numbers, size);
      put(x, 0, odd ? at(numbers, 0) - last : at(numbers, 0) + last);
      for (int j = 1; j < size; ++j) put(x, j, odd && j % 2 == 1 ? at(numbers, j) * -1 : at(numbers, j));
      const double* const v = transform<false>(size, x, y);
      for (int k = 0; 2 * k < size; ++k)
        gives(apart * (odd ? size - 2 * k : 2 * k), k == 0 ? at(v, 0) : waves(v, k, size).cosines);
    }
  }

  /// All of an axis: numbers of nodes or modes, which are lost, come to lie in `result`.
  STRATUM_INLINE void run(const UniformAxis& axis, bool to_modes, const double* scale, double* numbers, double* result,
                          double* x, double* y) const {
    const int all = axis.unknowns;
    // Sines begin at node 1.
    const bool wave = axis.periodic, natural = axis.first_neumann && axis.last_neumann,
               mixed = axis.first_neumann != axis.last_neumann, sine_modes = !wave && !natural && !mixed;
    if (!to_modes)
      for (int a = 0; a < all; ++a) put(numbers, a, at(numbers, a) * scale[a]);
    const auto gives = [&](int a, Number sum) STRATUM_INLINED {
      const int to = sine_modes ? a - 1 : a;
      put(result, to, to_modes ? sum * scale[to] : sum);
    };
    if (sine_modes) return sines(numbers - lines, gives, x, y);
    if (natural) return cosines(numbers, gives, x, y);
    // From the Neumann end on.
    const auto node = [&](int i) STRATUM_INLINED { return axis.first_neumann ? i : n - 1 - i; };
    if (mixed && to_modes)
      return to_halves(
          n, [&](int i) STRATUM_INLINED { return at(numbers, node(i)); }, gives, x, y);
    if (mixed)
      return from_halves(
          n, [&](int a) STRATUM_INLINED { return at(numbers, a); },
          [&](int i, Number sum) STRATUM_INLINED { put(result, node(i), sum); }, x, y);
    if (to_modes) {
      const double* const v = transform<false>(n, numbers, y);
      gives(0, at(v, 0));
      for (int k = 1; 2 * k < n; ++k) {
        const Waves both = waves(v, k, n);
        gives(2 * k - 1, both.cosines);
        gives(2 * k, both.sines);
      }
      if (n % 2 == 0) gives(n - 1, at(v, n / 2));
      return;
    }
    put(x, 0, at(numbers, 0));
    for (int k = 1; 2 * k < n; ++k) {
      const Number cosines = at(numbers, 2 * k - 1) * 0.5, sines = at(numbers, 2 * k) * 0.5;
      put(x, k, {cosines.re + sines.im, cosines.im - sines.re});
      put(x, n - k, {cosines.re - sines.im, cosines.im + sines.re});
    }
    if (n % 2 == 0) put(x, n / 2, at(numbers, n - 1));
    const double* const v = transform<true>(n, x, y);
    for (int i = 0; i < n; ++i) put(result, i, at(v, i));
  }
};

/// 2^-e of numbers whose largest is about 2^e; 1 of zeros and of what is not finite.
double scale_of(double largest) {
  constexpr int mantissa = 52, most = 2046;
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(largest) >> mantissa);
  return exponent < 1 || exponent >= most
             ? 1
             : std::bit_cast<double>(static_cast<std::uint64_t>(most - exponent) << mantissa);
}

}  // namespace

template <int bytes>
STRATUM_INLINE void FourierLines::run() const {
  using Of = Transform<bytes>;
  constexpr int lines = Of::lines, tile = 8;
  const int all = plan.axis_.unknowns;
  const Of transform{plan.n_, plan.cosine_.data(), plan.sine_.data()};
  const std::int64_t room = std::int64_t{plan.n_ + 1} * lines;
  double *const numbers = scratch + lines, *const result = numbers + room, *const x = result + room,
                *const y = x + room;
  for (int first = 0; first < count; first += lines) {
    const int here = std::min(lines, count - first);
    const double* const from = in + (rows ? first * in_pitch : first);
    double* const to = out + (rows ? first * out_pitch : first);
    const bool whole = here == lines;
    int done = 0;
    if (whole && rows)
      for (; done + tile <= all; done += tile)
        simd::transpose<lines, tile>(from + done, in_pitch, numbers + done * lines, lines);
    if (whole && !rows)
      for (; done < all; ++done)
        for (int l = 0; l < lines; l += Of::lanes)
          simd::pack<bytes>(numbers + done * lines + l) = simd::pack<bytes>(from + done * in_pitch + l);
    for (int i = done; i < all; ++i)
      for (int l = 0; l < lines; ++l)
        numbers[i * lines + l] = l >= here ? 0 : rows ? from[l * in_pitch + i] : from[i * in_pitch + l];
    // Two lines share a transform: with numbers of one size neither is rounded as the other is.
    typename Of::Pack most[2] = {};
    for (int i = 0; i < all; ++i)
      for (int l = 0; l < 2; ++l) {
        const typename Of::Pack value = simd::pack<bytes>(numbers + i * lines + l * Of::lanes),
                                size = value < 0 ? -value : value;
        most[l] = most[l] < size ? size : most[l];
      }
    double scales[lines];
    for (int l = 0; l < lines; ++l) scales[l] = scale_of(most[l / Of::lanes][l % Of::lanes]);
    const typename Of::Number scale = Of::at(scales, 0);
    for (int i = 0; i < all; ++i) {
      const typename Of::Number value = Of::at(numbers, i);
      Of::put(numbers, i, {value.re * scale.re, value.im * scale.im});
    }
    transform.run(plan.axis_, product == FourierTransform::Product::to_modes, plan.scale_.data(), numbers, result, x,
                  y);
    for (double& factor : scales) factor = 1 / factor;
    const typename Of::Number back = Of::at(scales, 0);
    for (int i = 0; i < all; ++i) {
      const typename Of::Number value = Of::at(result, i);
      Of::put(result, i, {value.re * back.re, value.im * back.im});
    }
    done = 0;
    if (whole && rows)
      for (; done + tile <= all; done += tile) {
        double turned[tile * lines];
        double* const place = add ? turned : to + done;
        const std::int64_t pitch = add ? tile : out_pitch;
        simd::transpose<tile, lines>(result + done * lines, lines, place, pitch);
        for (int l = 0; add && l < lines; ++l)
          for (int i = 0; i < tile; ++i) to[l * out_pitch + done + i] += turned[l * tile + i];
      }
    if (whole && !rows)
      for (; done < all; ++done)
        for (int l = 0; l < lines; l += Of::lanes) {
          auto& place = simd::pack<bytes>(to + done * out_pitch + l);
          const typename Of::Pack value = simd::pack<bytes>(result + done * lines + l);
          place = add ? place + value : value;
        }
    for (int i = done; i < all; ++i)
      for (int l = 0; l < here; ++l) {
        double& place = rows ? to[l * out_pitch + i] : to[i * out_pitch + l];
        place = add ? place + result[i * lines + l] : result[i * lines + l];
      }
  }
}

FourierTransform::FourierTransform(const UniformAxis& axis) : axis_(axis), n_(axis.intervals()) {
  const int steps = 4 * n_;
  for (int t = 0; t < steps; ++t) {
    const double angle = 2 * std::numbers::pi * t / steps;
    cosine_.push_back(std::cos(angle));
    sine_.push_back(std::sin(angle));
  }
  for (int a = 0; a < axis.unknowns; ++a) scale_.push_back(value_and_scale(axis, a).second);
}

double FourierTransform::operations(const UniformAxis& axis) {
  int n = axis.intervals();
  constexpr double turning = 6, around = 8;
  if (axis.periodic) return around + transform_operations(n);
  if (axis.first_neumann != axis.last_neumann) return around + turning + transform_operations(n);
  double sum = around, part = 1;  // of the numbers
  for (; n % 2 == 0; n /= 2) {
    part /= 2;
    sum += part * (2 + turning + transform_operations(n / 2));
  }
  return sum + part * 2 * transform_operations(n);
}

std::size_t FourierTransform::scratch() const {
  constexpr int buffers = 4;
  return (static_cast<std::size_t>(n_ + 1) * buffers + 1) * most_lines;
}

void FourierTransform::along_rows(Product product, int count, const double* in, std::int64_t in_pitch, double* out,
                                  std::int64_t out_pitch, bool add, double* scratch) const {
  simd::run_widest(FourierLines{*this, product, true, count, in, in_pitch, out, out_pitch, add, scratch});
}

void FourierTransform::across_rows(Product product, int count, const double* in, std::int64_t in_pitch, double* out,
                                   std::int64_t out_pitch, bool add, double* scratch) const {
  simd::run_widest(FourierLines{*this, product, false, count, in, in_pitch, out, out_pitch, add, scratch});
}

}  // namespace stratum
