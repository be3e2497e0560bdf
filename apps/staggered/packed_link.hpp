#pragma once

// A link as 18, 12 or 10 real numbers, for host and device. Rows of U are a, b, c:
//
//     18   all
//     12   a, b;  c = conj(a x b)
//     10   a, b1, c1;  N = |a2|^2 + |a3|^2,  k = -b1 a1*,  b2 = (a2 k - a3* c1*) / N,  b3 = (a3 k + a2* c1*) / N,
//          c2 = (a3 b1 - a1 b3)*,  c3 = (a1 b2 - a2 b1)*;  where a2 = a3 = 0, as on the unit field, it cannot be done
//
// Phases of the staggered operator and the boundary are a sign a link: folded into 18 and 12 stored numbers (a x b does not see
// it, c gets it back), multiplied in by 10, which are stored without it.
// Source: Kim, Lee, Multi GPU performance of conjugate gradient algorithm with staggered fermions, 2010.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <stratum/core/config.hpp>

namespace stratum::staggered {

template <class T>
struct Number2 {
  T re, im;
};
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Number2<T> operator+(Number2<T> a, Number2<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Number2<T> operator-(Number2<T> a, Number2<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Number2<T> operator*(Number2<T> a, Number2<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Number2<T> operator*(T s, Number2<T> a) {
  return {s * a.re, s * a.im};
}
/// a* b
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Number2<T> conjugate_times(Number2<T> a, Number2<T> b) {
  return {a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Number2<T> conjugate(Number2<T> a) {
  return {a.re, -a.im};
}

/// Three colours: of a site, or a row of a link.
template <class T>
struct Colour {
  Number2<T> x, y, z;
};
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> operator+(Colour<T> a, Colour<T> b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> operator-(Colour<T> a, Colour<T> b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> operator*(T s, Colour<T> a) {
  return {s * a.x, s * a.y, s * a.z};
}
/// s conj(a x b)
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> conjugate_cross(T s, Colour<T> a, Colour<T> b) {
  return {s * conjugate(a.y * b.z - a.z * b.y), s * conjugate(a.z * b.x - a.x * b.z),
          s * conjugate(a.x * b.y - a.y * b.x)};
}

template <class T>
struct Link {
  Colour<T> a, b, c;
};
/// U v
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> times(const Link<T>& u, Colour<T> v) {
  return {u.a.x * v.x + u.a.y * v.y + u.a.z * v.z, u.b.x * v.x + u.b.y * v.y + u.b.z * v.z,
          u.c.x * v.x + u.c.y * v.y + u.c.z * v.z};
}
/// U^H v
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> adjoint_times(const Link<T>& u, Colour<T> v) {
  return {conjugate_times(u.a.x, v.x) + conjugate_times(u.b.x, v.y) + conjugate_times(u.c.x, v.z),
          conjugate_times(u.a.y, v.x) + conjugate_times(u.b.y, v.y) + conjugate_times(u.c.y, v.z),
          conjugate_times(u.a.z, v.x) + conjugate_times(u.b.z, v.y) + conjugate_times(u.c.z, v.z)};
}

/// Complex number k of site s, in planes of real numbers `stride` apart. T: const where they are read only.
template <class T>
struct RealPlanes {
  using Number = std::remove_const_t<T>;
  T* data;
  int stride;
  STRATUM_HOST_DEVICE STRATUM_INLINE Number2<Number> operator()(int k, int s) const {
    return {data[2 * k * stride + s], data[(2 * k + 1) * stride + s]};
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int k, int s, Number2<Number> v) const {
    data[2 * k * stride + s] = v.re;
    data[(2 * k + 1) * stride + s] = v.im;
  }
};

/// Two numbers of 16 bits, in units of `unit`: magnitudes up to 32767.
struct alignas(4) Short2 {
  std::int16_t re, im;
};
inline constexpr float largest_short = 32767;
STRATUM_HOST_DEVICE STRATUM_INLINE Short2 narrowed(Number2<float> v, float per_unit) {
  return {static_cast<std::int16_t>(rintf(v.re * per_unit)), static_cast<std::int16_t>(rintf(v.im * per_unit))};
}
STRATUM_HOST_DEVICE STRATUM_INLINE Number2<float> widened(Short2 v, float unit) {
  return {unit * static_cast<float>(v.re), unit * static_cast<float>(v.im)};
}

/// The same in planes of pairs of 16 bits, for numbers from -1 to 1.
template <class Pair>
struct ShortPlanes {
  using Number = float;
  Pair* data;
  int stride;
  STRATUM_HOST_DEVICE STRATUM_INLINE Number2<float> operator()(int k, int s) const {
    return widened(data[k * stride + s], 1 / largest_short);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int k, int s, Number2<float> v) const {
    data[k * stride + s] = narrowed(v, largest_short);
  }
};

template <class Planes>
STRATUM_HOST_DEVICE STRATUM_INLINE Colour<typename Planes::Number> load_colour(const Planes& planes, int first, int s) {
  return {planes(first, s), planes(first + 1, s), planes(first + 2, s)};
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE void store_colour(const RealPlanes<T>& planes, int s, Colour<T> v) {
  planes.store(0, s, v.x);
  planes.store(1, s, v.y);
  planes.store(2, s, v.z);
}

/// The colours of a site in 16 bits, with a scale per site.
struct ScaledShorts {
  using Number = float;
  Short2* data;
  float* unit;
  int stride;
};
STRATUM_HOST_DEVICE STRATUM_INLINE Colour<float> load_colour(const ScaledShorts& v, int /*first*/, int s) {
  const float unit = v.unit[s];
  return {widened(v.data[s], unit), widened(v.data[v.stride + s], unit), widened(v.data[2 * v.stride + s], unit)};
}
STRATUM_HOST_DEVICE STRATUM_INLINE void store_colour(const ScaledShorts& to, int s, Colour<float> v) {
  const auto larger = [](float a, float b) { return a > b || a != a ? a : b; };  // NaN stays
  const auto of = [&](Number2<float> z) { return larger(z.re < 0 ? -z.re : z.re, z.im < 0 ? -z.im : z.im); };
  const float largest = larger(larger(of(v.x), of(v.y)), of(v.z));
  // Below, the reciprocal would overflow: as good as zero.
  constexpr float tiny = 1e-30F;
  const float per_unit = largest > tiny ? largest_short / largest : 0;
  to.unit[s] = largest / largest_short;
  to.data[s] = narrowed(v.x, per_unit);
  to.data[to.stride + s] = narrowed(v.y, per_unit);
  to.data[2 * to.stride + s] = narrowed(v.z, per_unit);
}

/// The link of site s with its sign, from as many reals as are stored.
template <int reals, class Planes, class T = typename Planes::Number>
STRATUM_HOST_DEVICE STRATUM_INLINE Link<T> load_link(const Planes& planes, int s, T sign) {
  static_assert(reals == 18 || reals == 12 || reals == 10);
  const Colour<T> a = load_colour(planes, 0, s);
  if constexpr (reals == 10) {
    const Number2<T> b1 = planes(3, s), c1 = planes(4, s);
    const T scale = 1 / (a.y.re * a.y.re + a.y.im * a.y.im + a.z.re * a.z.re + a.z.im * a.z.im);
    const Number2<T> minus_k = conjugate_times(a.x, b1);
    const Number2<T> b2 = T(-scale) * (a.y * minus_k + conjugate(a.z * c1)),
                     b3 = scale * (conjugate(a.y * c1) - a.z * minus_k);
    const Number2<T> c2 = conjugate(a.z * b1 - a.x * b3), c3 = conjugate(a.x * b2 - a.y * b1);
    return {sign * a, sign * Colour<T>{b1, b2, b3}, sign * Colour<T>{c1, c2, c3}};
  } else {
    const Colour<T> b = load_colour(planes, 3, s);
    if constexpr (reals == 12)
      return {a, b, conjugate_cross(sign, a, b)};
    else
      return {a, b, load_colour(planes, 6, s)};
  }
}

}  // namespace stratum::staggered
