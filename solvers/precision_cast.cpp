#include <stratum/solvers/precision_cast.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/blas.hpp>

namespace stratum {

template <class High, class Low>
PrecisionCast<High, Low>::PrecisionCast(Context& ctx, const GridShape& shape, Preconditioner<Low>& m)
    : m_(m), r_(ctx, shape), z_(ctx, shape) {}

template <class High, class Low>
void PrecisionCast<High, Low>::apply(Context& ctx, GridView<const High> r, GridView<High> z) {
  const double largest = norm_max(ctx, r);
  if (!(largest > 0) || !std::isfinite(largest))
    return copy<High, High>(ctx, r, z);  // nothing to solve, or nothing to save
  // Both factors must be finite: a power of two beyond 2^1023 has no reciprocal.
  const int exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  copy_scaled(ctx, std::ldexp(1.0, -exponent), r, r_.view());
  m_.apply(ctx, r_.cview(), z_.view());
  copy_scaled(ctx, std::ldexp(1.0, exponent), z_.cview(), z);
}

template class PrecisionCast<double, float>;
template class PrecisionCast<double, double>;

}  // namespace stratum
