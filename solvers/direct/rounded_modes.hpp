#pragma once

// What multigrid/fast_diagonalization.hpp asks of a tensor operator A = Kx (x) My + Mx (x) (Ky + E) before it solves by the
// modes of a line (solvers/direct/line_modes.hpp): the factors of a direction, and whether modes and solutions may be rounded
// to T.

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/direct/line_modes.hpp>

namespace stratum {

/// The factors of a tensor operator in one direction, without a reaction term, to the host; and that term's c.
template <class T>
[[nodiscard]] LineFactors line_factors(Context& ctx, const TensorOperator<T>& a, Direction direction);
template <class T>
[[nodiscard]] double reaction_of(Context& ctx, const TensorOperator<T>& a);

/// Whether vectors that are rounded to T still solve K x = b: the residual of a smooth load falls a hundredfold, but for what
/// rounding x alone leaves. Where neighbouring widths differ a hundredfold over many intervals they have lost all digits.
template <class T>
[[nodiscard]] bool survive_rounding(const LineFactors& line, const LineModes& modes);

/// What becomes of a smooth load, as a part of it, when x is rounded to T in every node by itself, as line solves may round it
/// (of modes rows that are equal in T give equal x). Inside a thin layer that is not at a Dirichlet boundary unknowns are equal
/// to more digits than T has. What rounding makes of them flows through the layer, and of that flow the next residual keeps as
/// much as T keeps of any number.
template <class T>
[[nodiscard]] double lost_to_rounding(const LineFactors& line);
/// More than this and cycles may diverge. In float layers of 1e-9 of a line are below it.
inline constexpr double most_lost = 2e-6;

}  // namespace stratum
