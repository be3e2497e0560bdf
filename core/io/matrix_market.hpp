#pragma once

// Matrix Market files: matrices as `coordinate` or as `array` (columns one after the other), real, integer or pattern (all
// ones), general, symmetric or hermitian, which is the same of real numbers (the lower triangle in the file, both in memory);
// vectors as `array` of one column or `coordinate` n x 1. Entries in any order, those of one place are added, and the sum must
// be finite too. Comments, empty lines and DOS line ends may stand anywhere after the first line; Fortran's exponents, 1.5D+3,
// are numbers.
//
//     %%MatrixMarket matrix coordinate real symmetric
//     3 3 4
//     1 1 2.0        row, column (from 1 on), value
//     ...
//
// A comment `%%AMGX rhs solution` says, as AMGX writes it, that b follows behind the entries, and then x: n numbers each, or n
// and the numbers. Blocks, a diagonal apart and columns from 0 on, which AMGX has as well, are refused.
//
// Reading throws FileError naming the file, the line and its text for whatever is not so, numbers that are not finite
// among it. What the header promises is believed only as far as the length of the file allows, so that memory is never
// asked for in vain. Files are written whole or not at all, numbers with as many digits as bring the same bits back.
// Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats, NISTIR 5935, 1996.

#include <string>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>

namespace stratum {

/// What is in the file: a matrix, square or not, and where it has them its right-hand side and its solution, else empty.
struct MatrixMarketSystem {
  SparseRows a;
  std::vector<double> rhs, solution;
};
[[nodiscard]] MatrixMarketSystem read_matrix_market_system(const std::string& path);
/// The matrix alone.
[[nodiscard]] SparseRows read_matrix_market(const std::string& path);
/// The vector in the file, which must have `rows` rows.
[[nodiscard]] std::vector<double> read_matrix_market_vector(const std::string& path, int rows);

/// As `symmetric` where a equals its transpose bit for bit, else `general`.
void write_matrix_market(const std::string& path, const SparseRows& a);
void write_matrix_market(const std::string& path, const std::vector<double>& x);

}  // namespace stratum
