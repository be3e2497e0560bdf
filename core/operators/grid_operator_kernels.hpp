#pragma once

// Common helpers of the members of GridOperator. The members are defined in
// grid_operator_{products,residuals,norms,errors}.hpp, from which the build generates sources that compile in parallel. None of
// these headers includes another one: its kernels would be compiled twice.

#include <stratum/core/device/simd.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#if defined(__CUDACC__)
#include <stratum/core/field/streaming_stencil.hpp>
#endif

namespace stratum {

/// What the rows of b - A x need.
template <class T>
void prepare_residual(Context& ctx, const GridLayout<2>& shape, FieldView<const T> b, FieldView<const T> x) {
  expects_fit(ctx, "b", b, shape);
  expects_fit(ctx, "x", x, shape);
  exchange(ctx, shape, x);
}

}  // namespace stratum
