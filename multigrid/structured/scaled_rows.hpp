#pragma once

// Scales of rows, D A x = D b, by which the matrix of somebody else is one of finite volumes: what Galerkin products take for
// granted, who add up rows. Finite differences are rows divided by the volumes of their cells, and by coefficients; where these
// jump between neighbours, the coarse rows are those of the small volumes alone, and the cycle does not converge.
//
//     d_i a_ij = d_j a_ji                 exactly, where there are such d (core/operators/row_scales.hpp); else, as of
//                                         differences with transport,
//     d(i, j) = p_i q_j ,                 p_i+1 / p_i = geometric mean over j of a(i -> i+1) / a(i+1 -> i), each taken no
//                                         farther than from 1 to s_i / s_i+1 ,  s_i = |a(i -> i-1)| + |a(i -> i+1)|
//
// and q alike. (Transport upwind makes one of the two couplings large, which says nothing about volumes; rows that are alike
// have like volumes.) An estimate is taken where it lessens by a fifth, at the least, how far D A is from conserving: the sum
// over inner columns j of |sum over i of d_i a_ij - d_j a_ji| / sum over i of |d_i a_ij|. O(entries). Of a grid in subdomains
// all call it together, and d is that of the whole.

#include <optional>
#include <vector>

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/multigrid/singular_parts.hpp>

namespace stratum {

/// Neighbours' scales that are less than this apart do no harm.
inline constexpr double least_scale_jump = 8;

/// D A, d one a node of the subdomain, x first.
struct RowScales {
  GridOperator<double> scaled;  // five bands where it is symmetric
  std::vector<double> d;
  bool symmetric = false, singular = false;  // the latter: and every row sums to zero but for rounding
  bool are_units = false;                    // d spans more than volumes do: rows are in units of their own
};

/// d by which A, whose halos are up to date, is symmetric, one a node of the subdomain: 1 in the first row of every part that
/// is coupled to no other. Empty, on all subdomains, where there is none (core/operators/row_scales.hpp).
[[nodiscard]] std::vector<double> scales_to_symmetry(Context& ctx, const GridOperator<double>& a);

/// Of a nonsymmetric matrix in bands, whose halos are up to date. None where no scales are found, or none that jump, unless
/// they are exact and D A is singular, or its symmetry is wanted. Where no two couplings are so far apart, nothing goes to the
/// host.
[[nodiscard]] std::optional<RowScales> scaled_rows(Context& ctx, const GridOperator<double>& a,
                                                   bool wants_symmetry = false);

/// Of a symmetric D A: d such that what couples nodes has the same size in all parts that are coupled to no others, which are
/// in units of their own.
void make_parts_alike(Context& ctx, const SingularParts& parts, RowScales& scales);

}  // namespace stratum
