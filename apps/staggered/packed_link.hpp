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

/// Planes of numbers, `stride` apart: complex number k of site s.
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Number2<T> load(const T* planes, int k, int stride, int s) {
  return {planes[2 * k * stride + s], planes[(2 * k + 1) * stride + s]};
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> load_colour(const T* planes, int first, int stride, int s) {
  return {load(planes, first, stride, s), load(planes, first + 1, stride, s), load(planes, first + 2, stride, s)};
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE void store_colour(T* planes, int stride, int s, Colour<T> v) {
  planes[s] = v.x.re;
  planes[stride + s] = v.x.im;
  planes[2 * stride + s] = v.y.re;
  planes[3 * stride + s] = v.y.im;
  planes[4 * stride + s] = v.z.re;
  planes[5 * stride + s] = v.z.im;
}

/// The link of site s with its sign, from as many reals as are stored.
template <int reals, class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Link<T> load_link(const T* planes, int stride, int s, T sign) {
  static_assert(reals == 18 || reals == 12 || reals == 10);
  const Colour<T> a = load_colour(planes, 0, stride, s);
  if constexpr (reals == 10) {
    const Number2<T> b1 = load(planes, 3, stride, s), c1 = load(planes, 4, stride, s);
    const T scale = 1 / (a.y.re * a.y.re + a.y.im * a.y.im + a.z.re * a.z.re + a.z.im * a.z.im);
    const Number2<T> minus_k = conjugate_times(a.x, b1);
    const Number2<T> b2 = T(-scale) * (a.y * minus_k + conjugate(a.z * c1)),
                     b3 = scale * (conjugate(a.y * c1) - a.z * minus_k);
    const Number2<T> c2 = conjugate(a.z * b1 - a.x * b3), c3 = conjugate(a.x * b2 - a.y * b1);
    return {sign * a, sign * Colour<T>{b1, b2, b3}, sign * Colour<T>{c1, c2, c3}};
  } else {
    const Colour<T> b = load_colour(planes, 3, stride, s);
    if constexpr (reals == 12)
      return {a, b, conjugate_cross(sign, a, b)};
    else
      return {a, b, load_colour(planes, 6, stride, s)};
  }
}

}  // namespace stratum::staggered
