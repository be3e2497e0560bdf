#pragma once

// ErrorEstimate: how far an iterate is from the solution, by the size of corrections. A cycle M of multigrid is a good
// approximate inverse, so that M r_k, r_k = b - A x_k, is about the error of x_k, in the units of x and in every part of the
// domain, whatever the scale of the rows. With s_j = max |M r_j|, the latest known, and s_i, the first of the six iterations
// before, the error of x_k, k >= j, is about
//
//     s_j rho^(k-j) / (1 - rho) ,   rho = (s_j / s_i)^(1 / (j-i))      where rho < 1; s_j where rho is not known
//     s_j                                                            of Krylov methods: those that minimise a norm reduce what
//                                                                    this norm knows, in steps that are not alike
//
// The sum over all corrections to come counts where cycles converge slowly, as with a smoother that does not fit the mesh.
//
// relative to the size of x: its range, or a thousandth of its largest magnitude where that is more, so that a constant has a
// size, too. Measured: the estimate is the error to one digit for refinement, and to a factor of two around conjugate
// gradients. (A residual norm says nothing of rows that are small beside others, as those beside a Robin boundary with a large
// alpha.)
//
// Only a preconditioner that says so (Preconditioner::estimates_error) is one to estimate with.

#include <deque>
#include <optional>

#include <stratum/core/field/blas.hpp>

namespace stratum {

/// max(max x - min x, 1e-3 max |x|)
[[nodiscard]] double size_of(const Extremes& of_x);
template <class T>
[[nodiscard]] double size_of(Context& ctx, FieldView<const T> x) {
  return size_of(extremes(ctx, x));
}

/// An error, which is at least the rounding of x, beside the size of x; where x is a constant but for the error itself, beside
/// 0.02 max |x|: to ask for more would be to ask for digits of differences that there are none of.
[[nodiscard]] double relative_error(double error, const Extremes& of_x);

class ErrorEstimate {
 public:
  /// max |M r_k|; numbers k ascend.
  void add(int k, double largest);
  /// The same number again costs nothing.
  [[nodiscard]] bool has(int k) const { return !latest_.empty() && latest_.back().k == k; }
  /// Of x_k, not before the latest number; nothing where there is none. `even`: all iterations are alike.
  [[nodiscard]] std::optional<double> of(int k, bool even = true) const;
  /// By how much more the error of x_k may be: where it is told by how the first correction fell, which was of what is easy,
  /// too.
  [[nodiscard]] double doubt(int k) const;
  /// It does not fall: not by a fifth in six iterations up to k.
  [[nodiscard]] bool stopped(int k) const;

 private:
  struct Size {
    int k;
    double largest;
  };
  static constexpr int window = 6;  // iterations
  std::deque<Size> latest_;         // of these
  std::optional<Size> fallen_;
};

}  // namespace stratum
