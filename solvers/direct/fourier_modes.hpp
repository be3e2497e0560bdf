#pragma once

// The modes of a uniform axis in closed form, and their products by fast Fourier transforms, in double on the host. With all
// intervals alike the eigenvectors of K v = lambda M v (core/operators/box_operator.hpp) are
//
//     between Dirichlet ends    sin(pi a i / N) ,          a = 1 .. N - 1 ,  N = n + 1
//     between Neumann ends      cos(pi a i / N) ,          a = 0 .. N ,      N = n - 1
//     one end of each kind      cos(pi (a + 1/2) i / N) ,  a = 0 .. N - 1 ,  N = n , i from the Neumann end
//     periodic                  cos and sin of 2 pi a i / N ,                N = n
//
// lambda = (k / m) 4 s^2 / (6 - 4 s^2), s the sine of half the angle between neighbours. A product with all modes takes some
// 40 operations a number instead of the 2 n of a dense matrix, where N has small factors alone:
//
//     sines of even N       odd a from x_i + x_(N-i), as cosines of one end of each kind of N / 2; even a from x_i - x_(N-i),
//                           as sines of N / 2; cosines of Neumann ends alike
//     sines of odd N        even a from a transform of x of length N, odd a from one of (-1)^i x_i
//     one end of each kind  from a complex transform of length N of x_0, x_2, .., x_3, x_1, turned by quarter angles (Makhoul)
//
// and complex transforms of two lines at a time, one of them as imaginary part, by radices 4, 2, 3, 5 and others up to
// `largest_factor`. Nothing is divided by small sines, and no sum runs along a line: rounding grows as log N. As many lines as
// two registers have numbers are transformed together. Source: J. Makhoul, A fast cosine transform in one and two dimensions,
// IEEE Trans. ASSP 28, 1980; C. Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992 (Stockham).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <stratum/core/operators/box_operator.hpp>
#include <stratum/solvers/direct/line_modes.hpp>

namespace stratum {

/// An axis whose intervals have the same k and m to 1e-13, but for those of Neumann ends, which have none.
struct UniformAxis {
  double k = 0, m = 0;
  int unknowns = 0;
  bool first_neumann = false, last_neumann = false, periodic = false;

  /// N above.
  [[nodiscard]] int intervals() const;
};

/// Nothing of another axis: of other widths or K, or with a Robin end.
[[nodiscard]] std::optional<UniformAxis> uniform_axis(const AxisFactors& axis);

/// The smallest value first; of constants it is zero, and their vector is constant.
[[nodiscard]] LineModes fourier_modes(const UniformAxis& axis);
/// Its values alone; modes of periodic axes come in pairs, cosines first.
[[nodiscard]] std::vector<double> fourier_values(const UniformAxis& axis);

class FourierTransform {
 public:
  static constexpr int largest_factor = 13;

  /// Of an axis that `operations` has a number for.
  explicit FourierTransform(const UniformAxis& axis);

  /// For a number of a line, to be compared with the 2 n of a product with a dense matrix; infinite where N has a large factor.
  [[nodiscard]] static double operations(const UniformAxis& axis);

  // Products with the modes as columns of V, of `count` lines: those along rows lie side by side in rows that are a pitch
  // apart, those across them begin side by side in the first row. `out` may be `in`; `add`: out + product.
  enum class Product : std::uint8_t { to_modes, from_modes };  // V^T x, V x
  void along_rows(Product product, int count, const double* in, std::int64_t in_pitch, double* out,
                  std::int64_t out_pitch, bool add, double* scratch) const;
  void across_rows(Product product, int count, const double* in, std::int64_t in_pitch, double* out,
                   std::int64_t out_pitch, bool add, double* scratch) const;
  /// Numbers of `scratch`.
  [[nodiscard]] std::size_t scratch() const;

 private:
  friend struct FourierLines;
  UniformAxis axis_;
  int n_ = 0;                          // N
  std::vector<double> cosine_, sine_;  // of 2 pi t / (4 N)
  std::vector<double> scale_;          // what modes are multiplied by
};

}  // namespace stratum
