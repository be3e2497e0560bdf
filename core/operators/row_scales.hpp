#pragma once

// Row scales that make a matrix symmetric:
//
//     d_i a_ij = d_j a_ji ,   d > 0 ,   i != j .
//
// They exist if somebody divided the equations by the volumes of cells, has half cells at Neumann or Robin boundaries, or a
// coefficient in front of the Laplacian. Conjugate gradients and Galerkin products then work on D A, and A^-1 = (D A)^-1 D.
// O(number of entries), on the host.

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>

namespace stratum {

/// Makes a into D A, symmetric bit for bit, and returns d: 1 in the first row of every part of the matrix that is coupled to
/// no other. Rows that hold nothing but their diagonal stay as they are, whatever others have in their columns. Empty, and a is
/// not touched, where there is no such d, or one that spans more than ScaleSpans allows. Equality is meant to 1e-10. Columns
/// must increase in every row.
[[nodiscard]] std::vector<double> scale_to_symmetry(SparseRows& a);

inline constexpr double scales_agree = 1e-10, widest_scales = 1e12;

/// What d spans, and the diagonal without and with it, of rows that are coupled to others; trivially copied, to be gathered.
struct ScaleSpans {
  struct Span {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    void take(double v) {
      least = std::min(least, v);
      most = std::max(most, v);
    }
    void take(const Span& other) {
      least = std::min(least, other.least);
      most = std::max(most, other.most);
    }
  };
  Span d, diagonal, scaled;

  ScaleSpans() = default;
  ScaleSpans(const SparseRows& a, const std::vector<double>& scales);
  void take(const ScaleSpans& other) {
    d.take(other.d);
    diagonal.take(other.diagonal);
    scaled.take(other.scaled);
  }
  /// More than 12 orders of magnitude are a flow, exp(v x), and no volume, unless the diagonal spans less with d than without:
  /// such rows are in units of their own.
  [[nodiscard]] bool are_of_rows() const {
    return !(d.most > 0) || d.most <= widest_scales * d.least ||
           scaled.most / scaled.least <= diagonal.most / diagonal.least;
  }
};

/// The same d, by parts that are coupled to no other: the number of each row's part, in the order of their first rows.
struct PartScales {
  std::vector<double> d;
  std::vector<int> part;
  int parts = 0;
};
[[nodiscard]] std::optional<PartScales> part_scales(const SparseRows& a);

}  // namespace stratum
