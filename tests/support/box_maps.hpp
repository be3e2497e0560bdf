#pragma once

// Matrices, transfers and smoothers of boxes as dense matrices, and random levels of a gate.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <type_traits>
#include <vector>

#include <stratum/multigrid/transfer/box_transfer.hpp>
#include <stratum/smoothers/box/box_smoothers.hpp>

#include "box_problems.hpp"
#include "reference/elimination.hpp"

namespace test {

/// A linear map by what it makes of unit vectors.
inline DenseMatrix dense(std::size_t rows, std::size_t columns,
                         const std::function<std::vector<double>(const std::vector<double>&)>& map) {
  DenseMatrix m(rows, columns);
  std::vector<double> unit(columns, 0);
  for (std::size_t j = 0; j < columns; ++j) {
    unit[j] = 1;
    const auto column = map(unit);
    for (std::size_t i = 0; i < rows; ++i) m(i, j) = column[i];
    unit[j] = 0;
  }
  return m;
}
inline std::size_t size_of(const stratum::BoxShape& shape) { return static_cast<std::size_t>(shape.n.nodes()); }

inline DenseMatrix dense(stratum::Context& ctx, const stratum::BoxMatrix<double>& a) {
  stratum::Field<double, 3> y(ctx, a.shape().layout(0));
  return dense(size_of(a.shape()), size_of(a.shape()), [&](const std::vector<double>& unit) {
    a.apply(ctx, box_field<double>(ctx, a.shape(), unit).cview(), y.view());
    return numbers_of<double>(ctx, y.cview());
  });
}
inline DenseMatrix dense(stratum::Context& ctx, const stratum::BoxTransfer<double>& p) {
  const stratum::BoxShape &fine = p.view().fine, &coarse = p.coarse();
  return dense(size_of(fine), size_of(coarse), [&](const std::vector<double>& unit) {
    stratum::Field<double, 3> x(ctx, fine.layout(1));
    p.prolong(ctx, box_field<double>(ctx, coarse, unit).cview(), x.view());
    return numbers_of<double>(ctx, x.cview());
  });
}

/// A level with random nodes dropped, never two neighbours, at least three intervals left of a periodic direction.
inline stratum::GatedLevel random_level(Random& random, const BoxProblem& p) {
  stratum::GatedLevel level{p.gate_axes(), {}, {}};
  for (std::size_t d = 0; d < 3; ++d) {
    const stratum::GatedAxis& axis = level.axes[d];
    auto& dropped = level.dropped[d];
    int left = axis.unknowns();
    for (int i = 0; i < axis.unknowns(); ++i) {
      const bool end = (i == 0 && (axis.first || axis.periodic)) || (i + 1 == axis.unknowns() && axis.last);
      const bool drop =
          !end && (dropped.empty() || !dropped.back()) && left > (axis.periodic ? 3 : 1) && random.uniform(0, 1) < 0.7;
      dropped.push_back(drop);
      left -= drop ? 1 : 0;
    }
  }
  return level;
}

/// Solves for the unknowns of `block` alone.
inline void relax_block(const DenseMatrix& a, const std::vector<double>& b, std::vector<long double>& x,
                        const std::vector<std::size_t>& block) {
  const std::size_t m = block.size();
  DenseMatrix system(m, m);
  std::vector<long double> residual(m);
  for (std::size_t p = 0; p < m; ++p) {
    residual[p] = b[block[p]];
    for (std::size_t j = 0; j < a.rows(); ++j) residual[p] -= a(block[p], j) * x[j];
    for (std::size_t q = 0; q < m; ++q) system(p, q) = a(block[p], block[q]);
  }
  const auto correction = reference::eliminated(system.numbers(), residual);
  for (std::size_t p = 0; p < m; ++p) x[block[p]] += correction[p];
}

inline int colour_of(int i, int n, bool periodic) { return periodic && n % 2 == 1 && i == n - 1 ? 2 : i % 2; }

/// Blocks of one colour behind the other, x running fastest in colours.
inline std::vector<std::vector<std::size_t>> blocks_in_order(const stratum::BoxShape& shape, int axis) {
  std::vector<std::vector<std::size_t>> blocks;
  const auto& [nx, ny, nz] = shape.n;
  for (int colour = 0; colour < 27; ++colour) {
    const std::array<int, 3> wanted{colour % 3, colour / 3 % 3, colour / 9};
    if (axis >= 0 && wanted[static_cast<std::size_t>(axis)] != 0) continue;
    for (int k = 0; k < nz; ++k)
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) {
          const std::array<int, 3> at{i, j, k};
          bool is_first = true;
          for (int d = 0; d < 3; ++d) {
            const auto e = static_cast<std::size_t>(d);
            is_first =
                is_first && (d == axis ? at[e] == 0 : colour_of(at[e], shape.size(d), shape.periodic[e]) == wanted[e]);
          }
          if (!is_first) continue;
          auto& block = blocks.emplace_back();
          const std::size_t stride = axis == 1 ? nx : axis == 2 ? static_cast<std::size_t>(nx) * ny : 1;
          for (int l = 0; l < (axis < 0 ? 1 : shape.size(axis)); ++l)
            block.push_back((static_cast<std::size_t>(k) * ny + j) * nx + i + l * stride);
        }
  }
  return blocks;
}

/// One step by the library and one by dense blocks; axis -1: points.
template <class T>
void expect_step(stratum::Context& ctx, const stratum::BoxMatrix<double>& a, const DenseMatrix& of_a, int axis,
                 bool reversed, const std::vector<double>& b, const std::vector<double>& start, double tolerance) {
  SCOPED_TRACE(testing::Message() << "axis " << axis << ", reversed " << reversed);
  const stratum::BoxShape& shape = a.shape();
  auto x = box_field<T>(ctx, shape, start);
  const auto right = box_field<T>(ctx, shape, b, 0);
  const stratum::BoxMatrix<T> in_t = [&] {
    if constexpr (std::is_same_v<T, double>)
      return a;
    else
      return stratum::BoxMatrix<T>(ctx, a);
  }();
  if (axis < 0) {
    stratum::Field<T, 3> other(ctx, shape.layout(1));
    stratum::box_points<T>(ctx, in_t, right.cview(), x, other, reversed);
  } else {
    stratum::Field<T, 3> r(ctx, shape.layout(0));
    stratum::BoxLines<T>(ctx, a, axis).apply(ctx, in_t, right.cview(), x.view(), r.view(), reversed);
  }
  std::vector<long double> expected(start.begin(), start.end());
  auto blocks = blocks_in_order(shape, axis);
  if (reversed) std::reverse(blocks.begin(), blocks.end());
  for (const auto& block : blocks) relax_block(of_a, b, expected, block);
  const auto found = numbers_of<T>(ctx, x.cview());
  long double difference = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference = std::max(difference, std::abs(found[i] - expected[i]));
    size = std::max(size, std::abs(expected[i]));
  }
  EXPECT_LT(static_cast<double>(difference / size), tolerance);
}

}  // namespace test
