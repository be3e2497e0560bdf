#pragma once

// The problem of the published accuracy study, in distances to the boundaries: u = xl xr yl yr, -Laplace u = 2 (yl yr + xl xr).
// Named functors of any point, so that a GPU computes them too.

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

}  // namespace stratum
