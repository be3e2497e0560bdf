#pragma once

// The problem of the published accuracy study, in distances to the boundaries: u = xl xr yl yr, -Laplace u = 2 (yl yr + xl xr).
// In boxes u = xl xr yl yr zl zr. These are named functors of any point type, so that a GPU computes them, too.

#include <stratum/core/config.hpp>

namespace stratum {

struct PolynomialRhs {
  template <class P>
  STRATUM_HOST_DEVICE double operator()(const P& p) const {
    return 2 * (p.to_bottom * p.to_top + p.to_left * p.to_right);
  }
};

struct PolynomialSolution {
  template <class P>
  STRATUM_HOST_DEVICE double operator()(const P& p) const {
    return p.to_left * p.to_right * p.to_bottom * p.to_top;
  }
};

struct BoxPolynomialRhs {
  template <class P>
  STRATUM_HOST_DEVICE double operator()(const P& p) const {
    const double x = p.to_left * p.to_right, y = p.to_bottom * p.to_top, z = p.to_front * p.to_back;
    return 2 * (y * z + x * z + x * y);
  }
};

struct BoxPolynomialSolution {
  template <class P>
  STRATUM_HOST_DEVICE double operator()(const P& p) const {
    return p.to_left * p.to_right * p.to_bottom * p.to_top * p.to_front * p.to_back;
  }
};

}  // namespace stratum
