#pragma once

// The formulas of a stencil at a node, from an operator a, a right-hand side b and an iterate x. Each of the three is seen
// through an accessor: of whole grids (`FieldView`, views of operators), or of the rows that a GPU thread holds
// (core/field/streaming_stencil.hpp).

#include <stratum/core/config.hpp>

namespace stratum {

/// a / b to about one unit in the last place. A GPU's own division branches on cases that diagonals of operators are not.
STRATUM_HOST_DEVICE STRATUM_INLINE float quotient(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdividef(a, b);
#else
  return a / b;
#endif
}
STRATUM_HOST_DEVICE STRATUM_INLINE double quotient(double a, double b) {
#if defined(__CUDA_ARCH__)
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
  r = fma(r, fma(-b, r, 1.0), r);
  r = fma(r, fma(-b, r, 1.0), r);
  const double q = a * r;
  return fma(r, fma(-b, q, a), q);
#else
  return a / b;
#endif
}

/// (b - A x)_ij
struct DefectFormula {
  template <class A, class B, class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE auto operator()(const A& a, const B& b, const X& x, int i, int j) const {
    return b(i, j) - a.sum(x, i, j);
  }
};

/// s (b - A x)_ij
struct ScaledDefectFormula {
  double scale;
  template <class A, class B, class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(const A& a, const B& b, const X& x, int i, int j) const {
    return scale * DefectFormula{}(a, b, x, i, j);
  }
};

/// x_ij + omega (b - A x)_ij / a_(0,0)(i, j)
template <class T>
struct RelaxFormula {
  T omega;
  template <class A, class B, class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(const A& a, const B& b, const X& x, int i, int j) const {
    return x(i, j) + quotient(omega * (b(i, j) - a.sum(x, i, j)), a.template coefficient<0, 0>(i, j));
  }
};

/// The same where x is zero.
template <class T>
struct RelaxFromZeroFormula {
  T omega;
  template <class A, class B>
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(const A& a, const B& b, int i, int j) const {
    return quotient(omega * b(i, j), a.template coefficient<0, 0>(i, j));
  }
};

}  // namespace stratum
