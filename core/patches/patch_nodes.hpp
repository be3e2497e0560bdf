#pragma once

// PatchNumbers: some numbers of vectors on patches, such as all copies of the Dirichlet nodes, for kernels that touch these
// alone:
//
//     copy   y_k = x_k          set   x_k = a          for k in the list
//
// Vectors are those of core/patches/patch_layout.hpp; shapes are the caller's duty. The constructor copies the list to the
// Context's memory and waits for the stream; nothing else does.

#include <vector>

#include <stratum/core/patches/patch_layout.hpp>

namespace stratum {

class PatchNumbers {
 public:
  PatchNumbers(Context& ctx, const std::vector<int>& numbers);

  [[nodiscard]] int count() const { return count_; }
  /// y = x there.
  void copy(Context& ctx, const Field<double>& x, Field<double>& y) const;
  /// x = a there.
  void set(Context& ctx, double a, Field<double>& x) const;

 private:
  int count_;
  Field<int> numbers_;
};

/// x_k = d_k x_k
void multiply(Context& ctx, const Field<double>& d, Field<double>& x);

}  // namespace stratum
