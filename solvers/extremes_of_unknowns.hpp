#pragma once

// min and max of x_k at unknowns. Where x holds numbers that are no unknowns, as zeros in solids without flux beside temperatures of
// 293, they are no part of the size that errors are relative to (solvers/error_estimate.hpp): a preconditioner that knows of them
// is an ExtremesOfUnknowns, too.

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/linear_operator.hpp>

namespace stratum {

template <class T>
class ExtremesOfUnknowns {
 public:
  virtual ~ExtremesOfUnknowns() = default;
  /// At a price of some passes over x. Waits for the stream.
  [[nodiscard]] virtual Extremes extremes_of_unknowns(Context& ctx, FieldView<const T> x) = 0;
};

/// As m tells them, which may be null; of all numbers where it does not.
template <class T>
[[nodiscard]] Extremes extremes_of_unknowns(Context& ctx, Preconditioner<T>* m, FieldView<const T> x) {
  auto* const knows = dynamic_cast<ExtremesOfUnknowns<T>*>(m);
  return knows != nullptr ? knows->extremes_of_unknowns(ctx, x) : extremes<T>(ctx, x);
}

}  // namespace stratum
