#pragma once

// Vectors of patches at some of their numbers, such as the Dirichlet nodes, all copies. Nothing waits for the stream.

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
