#pragma once

// Matrix Market files: matrices as `coordinate` or as `array` (column by column); real, integer or pattern (all entries 1);
// general, symmetric or hermitian, which for real numbers is the same (the file holds the lower triangle, memory both); vectors
// as `array` of one column or `coordinate` n x 1. Entries may come in any order. Entries of the same place are added, and their
// sum must be finite. Comments, empty lines and DOS line ends may stand anywhere after the first line. Fortran's exponents, as
// in 1.5D+3, are accepted.
//
//     %%MatrixMarket matrix coordinate real symmetric
//     3 3 4
//     1 1 2.0        row, column (from 1 on), value
//     ...
//
// A comment `%%AMGX rhs solution`, as AMGX writes it, says that b follows the entries, and then x: n numbers each, or n and the
// numbers. AMGX's blocks, separate diagonals and columns from 0 on are refused.
//
// A file that breaks these rules throws FileError with the name of the file, the line and its text; so does a number that is
// not finite. The reader allocates only as much memory as the length of the file can fill, whatever its header promises. Files
// are written whole or not at all, and with enough digits to read the same bits back.
//
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
