#pragma once

// What solvers/direct/box_diagonalization.cpp does with one line of a box: the elimination of whole lines, and of the parts of
// several ranks; the formulas stand in box_diagonalization.hpp. A column (i, j) of the box is number j nx + i. Host and device;
// kernels, and columns that a CPU takes together, stand where they are started.

#include <cstdint>

#include <stratum/core/config.hpp>
#include <stratum/core/field/field_3d.hpp>
#include <stratum/core/operators/box_operator.hpp>

namespace stratum::box_lines {

STRATUM_HOST_DEVICE STRATUM_INLINE double coupling(const AxisFactorsView& line, int k, double beta) {
  return line.k[k] - beta * line.m[k];
}
/// The sum of row k.
STRATUM_HOST_DEVICE STRATUM_INLINE double excess_of(const AxisFactorsView& line, int k, double beta) {
  return 3 * beta * (line.m[k] + line.m[k + 1]);
}

/// One step of the elimination along a line; zero pivots have an inverse of zero.
struct LineStep {
  double before, behind;  // couplings
  double excess;          // of the row
  double inverse;
  double left;  // E / D: what is left of the row sum for the next row

  STRATUM_HOST_DEVICE STRATUM_INLINE LineStep(double coupling_before, double coupling_behind, double row_sum,
                                              double left_before)
      : before(coupling_before), behind(coupling_behind), excess(row_sum) {
    const double sum = excess + before * left_before, pivot = behind + sum;
    inverse = pivot != 0 ? 1 / pivot : 0;
    left = sum * inverse;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE LineStep(const AxisFactorsView& line, int k, double beta, double left_before)
      : LineStep(coupling(line, k, beta), coupling(line, k + 1, beta), excess_of(line, k, beta), left_before) {}
};

/// A rank's part of a line, row after row: the row that is next.
struct PartRows {
  double to_left, excess;  // p, E

  STRATUM_HOST_DEVICE STRATUM_INLINE PartRows(const AxisFactorsView& line, double beta)
      : to_left(coupling(line, 0, beta)), excess(excess_of(line, 0, beta)) {}
  STRATUM_HOST_DEVICE STRATUM_INLINE PartRows(double coupling_to_left, double row_sum)
      : to_left(coupling_to_left), excess(row_sum) {}

  /// An eliminated row: 1 / D, p / D and g / D, and what it adds to E_L.
  struct Row {
    double inverse, of_left, of_right, left_excess;
  };
  /// Eliminates row k.
  STRATUM_HOST_DEVICE STRATUM_INLINE Row eliminate(const AxisFactorsView& line, int k, double beta) {
    const double behind = coupling(line, k + 1, beta), pivot = to_left + behind + excess,
                 inverse = pivot != 0 ? 1 / pivot : 0;
    const Row row{inverse, to_left * inverse, behind * inverse, to_left * inverse * excess};
    to_left = row.of_right * to_left;
    excess = excess_of(line, k + 1, beta) + row.of_right * excess;
    return row;
  }
};

/// Rows of a line that a GPU's thread loads together.
constexpr int line_chunk = 8;

/// The line that ranks' parts leave of each: an unknown a rank, the last one of its part.
struct Joints {
  double* numbers;
  std::int64_t columns;
  int ranks;
  bool cyclic;

  /// To the one before; of a row's elimination 1 / D, at first the sum of the row; of cyclic lines the solution for row sums.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double& coupling(int rank, std::int64_t column) const {
    return at(rank, 0, column);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double& inverse(int rank, std::int64_t column) const {
    return at(rank, 1, column);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double& sum(int rank, std::int64_t column) const {
    return at(rank, 2, column);
  }
  /// What `solve` keeps a rank and column.
  [[nodiscard]] static int rows(bool cyclic) { return cyclic ? 3 : 2; }

  /// `end`: the coupling behind the last one, to a value of zero.
  STRATUM_HOST_DEVICE STRATUM_INLINE void factor(std::int64_t column, double end) const {
    const int n = cyclic ? ranks - 1 : ranks;
    double left = 1, s = 0;
    for (int r = 0; r < n; ++r) {
      const double behind = r + 1 < ranks ? coupling(r + 1, column) : end;
      const LineStep step(coupling(r, column), behind, inverse(r, column), left);
      inverse(r, column) = step.inverse;
      left = step.left;
      if (!cyclic) continue;
      s = (step.excess + (r > 0 ? step.before : 0) * s) * step.inverse;
      sum(r, column) = s;
    }
    if (!cyclic) return;
    const double s_behind = s;
    for (int r = n - 2; r >= 0; --r) {
      s = sum(r, column) + coupling(r + 1, column) * inverse(r, column) * s;
      sum(r, column) = s;
    }
    const double pivot = inverse(n, column) + coupling(0, column) * s + coupling(n, column) * s_behind;
    inverse(n, column) = pivot != 0 ? 1 / pivot : 0;
  }

  /// What rank `me` needs: its own unknown and the one before it, zero of the first rank of lines with ends. `sides`: what the
  /// parts' right-hand sides come to, for the unknown before and for the own one.
  struct Ends {
    double left, right;
  };
  STRATUM_HOST_DEVICE STRATUM_INLINE Ends solve(double* sides, int me, std::int64_t column) const {
    const auto of_left = [&](int rank) -> double& { return sides[std::int64_t{2} * rank * columns + column]; };
    const auto own = [&](int rank) -> double& { return sides[(std::int64_t{2} * rank + 1) * columns + column]; };
    const int n = cyclic ? ranks - 1 : ranks, first = cyclic || me == 0 ? 0 : me - 1;
    double y = 0;
    for (int r = 0; r < n; ++r) {
      const double rhs = own(r) + (r + 1 < ranks ? of_left(r + 1) : 0);
      y = (rhs + (r > 0 ? coupling(r, column) : 0) * y) * inverse(r, column);
      own(r) = y;
    }
    const double y_behind = y;
    for (int r = n - 2; r >= first; --r) {
      y = own(r) + coupling(r + 1, column) * inverse(r, column) * y;
      own(r) = y;
    }
    if (!cyclic) return {me > 0 ? own(me - 1) : 0, own(me)};
    const double last =
        (own(n) + of_left(0) + coupling(0, column) * y + coupling(n, column) * y_behind) * inverse(n, column);
    const auto result = [&](int rank) { return rank == n ? last : own(rank) + (1 - sum(rank, column)) * last; };
    return {result(me > 0 ? me - 1 : n), result(me)};
  }

 private:
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double& at(int rank, int row, std::int64_t column) const {
    return numbers[(std::int64_t{rank} * (cyclic ? 3 : 2) + row) * columns + column];
  }
};

/// The part of `rank`, of `n` rows of all lines, takes its place among the joints.
struct JoinPart {
  AxisFactorsView line;
  const double *values_x, *values_y;
  double c;
  int n, rank, before;  // the rank before; negative: none
  Joints joints;
  std::int64_t width;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const double beta = values_x[i] + values_y[j] + c;
    const std::int64_t column = j * width + i;
    PartRows rows(line, beta);
    double left_excess = 0;
    for (int k = 0; k + 1 < n; ++k) left_excess += rows.eliminate(line, k, beta).left_excess;
    joints.coupling(rank, column) = rows.to_left;
    joints.inverse(rank, column) += rows.excess;
    if (before >= 0) joints.inverse(before, column) += left_excess;
  }
};

struct FactorJoints {
  AxisFactorsView line;
  const double *values_x, *values_y;
  double c;
  int n;  // of the lines
  Joints joints;
  std::int64_t width;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    joints.factor(j * width + i, coupling(line, n, values_x[i] + values_y[j] + c));
  }
};

/// Leaves the ends of this rank's part where its right-hand sides were.
struct SolveJoints {
  Joints joints;
  double* sides;
  int me;
  std::int64_t width;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const std::int64_t column = j * width + i;
    const Joints::Ends ends = joints.solve(sides, me, column);
    sides[std::int64_t{2} * me * joints.columns + column] = ends.left;
    sides[(std::int64_t{2} * me + 1) * joints.columns + column] = ends.right;
  }
};

/// This rank's parts of the columns (i, j) of v, in place; `line` begins with them. `left` and `right`, a number a column: what
/// their right-hand sides come to, then their ends.
struct Parts {
  AxisFactorsView line;
  const double *values_x, *values_y;
  double c;
  FieldView<double, 3> v;
  double *left, *right;
  double* factors = nullptr;  // as multipliers of Lines, two kinds one after the other
  std::int64_t width = 0;

#if defined(__CUDACC__)
  __device__ STRATUM_INLINE void eliminate(int i, int j) const {
    constexpr int chunk = line_chunk;
    const int n = v.extents.nz - 1;
    const std::int64_t stride = v.strides.plane, column_number = std::int64_t{j} * v.extents.nx + i;
    const double beta = values_x[i] + values_y[j] + c;
    double* const column = &v(i, j, 0);
    PartRows rows(line, beta);
    double y = 0, of_left = 0;
    for (int first = 0; first < n; first += chunk) {
      double numbers[chunk];
#pragma unroll
      for (int t = 0; t < chunk; ++t) numbers[t] = first + t < n ? column[(first + t) * stride] : 0;
#pragma unroll
      for (int t = 0; t < chunk; ++t) {
        const int k = first + t;
        if (k >= n) break;
        const double before = k > 0 ? coupling(line, k, beta) : 0, to_left = rows.to_left;
        y = (numbers[t] + before * y) * rows.eliminate(line, k, beta).inverse;
        of_left += to_left * y;
        column[k * stride] = y;
      }
    }
    left[column_number] = of_left;
    right[column_number] = column[n * stride] + (n > 0 ? coupling(line, n, beta) : 0) * y;
  }
  /// p and E at the beginning of every chunk of rows go to factors[at + chunk * width], all p before all E.
  __device__ STRATUM_INLINE void substitute(int i, int j, std::int64_t at) const {
    constexpr int chunk = line_chunk;
    const int n = v.extents.nz - 1, chunks = (n + chunk - 1) / chunk;
    const std::int64_t stride = v.strides.plane, column_number = std::int64_t{j} * v.extents.nx + i;
    const double beta = values_x[i] + values_y[j] + c, u_left = left[column_number];
    double* const column = &v(i, j, 0);
    double* const excesses = factors + chunks * width;
    PartRows rows(line, beta);
    for (int first = 0; first < n; first += chunk) {
      factors[at + first / chunk * width] = rows.to_left;
      excesses[at + first / chunk * width] = rows.excess;
#pragma unroll
      for (int t = 0; t < chunk; ++t)
        if (first + t < n) (void)rows.eliminate(line, first + t, beta);
    }
    double u = right[column_number];
    column[n * stride] = u;
    for (int p = chunks - 1; p >= 0; --p) {
      const int first = p * chunk;
      rows = PartRows(factors[at + p * width], excesses[at + p * width]);
      double numbers[chunk], of_right[chunk];
#pragma unroll
      for (int t = 0; t < chunk; ++t) numbers[t] = first + t < n ? column[(first + t) * stride] : 0;
#pragma unroll
      for (int t = 0; t < chunk; ++t) {
        of_right[t] = 0;
        if (first + t >= n) continue;
        const PartRows::Row row = rows.eliminate(line, first + t, beta);
        numbers[t] += row.of_left * u_left;
        of_right[t] = row.of_right;
      }
#pragma unroll
      for (int t = chunk - 1; t >= 0; --t) {
        if (first + t >= n) continue;
        u = numbers[t] + of_right[t] * u;
        column[(first + t) * stride] = u;
      }
    }
  }
#endif
};

}  // namespace stratum::box_lines
