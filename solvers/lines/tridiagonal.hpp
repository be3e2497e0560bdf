#pragma once

// Tridiagonal systems, many at a time: on every line of a grid of nx x ny nodes, along x (a system a row) or along y (a system
// a column),
//
//     lower_i x_(i-1) + centre_i x_i + upper_i x_(i+1) = b_i ,
//
// coefficients as grid functions of the same shape. `lower` at the first node of a line and `upper` at the last are multiplied
// by zero: any finite numbers of the size of the others. No pivoting: the matrices are to be diagonally dominant or symmetric
// positive definite; a zero pivot gives numbers that are not finite.
//
//   method                     GPU                                                  CPU
//   segments, the default      registers, joined by parallel cyclic reduction       Thomas, SIMD over a batch of lines
//   cyclic_reduction           Goeddeke, Strzodka 2011, Section 3.4: even and odd   the same, one thread a line
//                              equations apart, no bank conflicts; a line a block
//   cyclic_reduction_in_place  the textbook's, with bank conflicts; a line a block  the same, one thread a line
//
// The last two are there to be compared: see solvers/lines/algebra/cyclic_reduction.hpp. They keep a line in the shared memory
// of a block: 4 vectors, 1.5 times the length and some padding for the first of them. Along y their reads and writes are not
// contiguous. Source of segments: solvers/lines/cuda/joined_chunks.hpp.
//
// Words moved per unknown: 5 (three coefficients, b, x). Does not wait for the stream. x may be b; it must not be a
// coefficient. The same input gives the same bits.

#include <string_view>

#include <stratum/core/field/field.hpp>

namespace stratum {

enum class TridiagonalMethod : std::uint8_t { segments, cyclic_reduction, cyclic_reduction_in_place };

[[nodiscard]] std::string_view to_string(TridiagonalMethod method);

/// The coefficients. The three views have one shape and one pitch.
template <class T>
struct TridiagonalView {
  FieldView<const T> lower, centre, upper;
};

template <class T>
class TridiagonalSolver {
 public:
  /// For all lines of a grid. Allocates. Throws UsageError with the longest length allowed for lines that a method
  /// has no room for on the GPU.
  TridiagonalSolver(Context& ctx, const GridLayout<2>& shape, Direction direction,
                    TridiagonalMethod method = TridiagonalMethod::segments);

  /// Throws UsageError for views of another shape, for coefficients of different pitch, for rows that are not aligned as those
  /// of a Field (column -1 at a multiple of 16 bytes, on a GPU), and on the CPU for a Context of more threads than the first.
  void solve(Context& ctx, const TridiagonalView<T>& a, FieldView<const T> b, FieldView<T> x);

 private:
  void expect_room() const;  // on a GPU
  void solve_on_gpu(Context& ctx, const TridiagonalView<T>& a, FieldView<const T> b, FieldView<T> x);
  [[nodiscard]] int length() const { return direction_ == Direction::x ? shape_.nx : shape_.ny; }
  [[nodiscard]] int lines() const { return direction_ == Direction::x ? shape_.ny : shape_.nx; }

  GridLayout<2> shape_;
  Direction direction_;
  TridiagonalMethod method_;
  int threads_;
  Field<T> scratch_;  // CPU, a row a thread; GPU, chunks of long lines
};

}  // namespace stratum
