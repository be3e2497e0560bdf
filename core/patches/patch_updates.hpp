#pragma once

// Vector updates of conjugate gradients on patches (core/patches/patch_layout.hpp), each in one pass. They are those of whole
// vectors, without regard to patches. Words a number: 3 and 6, in the precision of each vector. Nothing waits for the stream.

#include <stratum/core/patches/patch_layout.hpp>

namespace stratum {

/// p = z + beta p
template <class T>
void update_direction(Context& ctx, const Consistent<T>& z, double beta, Consistent<double>& p);
/// x = x + alpha p, r = r - alpha q
void take_step(Context& ctx, double alpha, const Consistent<double>& p, const Partial<double>& q, Consistent<double>& x,
               Partial<double>& r);

}  // namespace stratum
