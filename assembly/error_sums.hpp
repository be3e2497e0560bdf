#pragma once

// Relative errors from sums over Gauss points, in two and in three dimensions (assembly/error_norms.hpp has the formulas).

#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/expressions/point_kernels.hpp>

namespace stratum {

/// `singular`: of fields less their means.
[[nodiscard]] RelativeErrors relative(const ErrorSums& sums, bool singular);

}  // namespace stratum
