#pragma once

// Line relaxation on grids that are periodic in a direction, for smoothers/line.cpp on a GPU where lines are too long for the
// kernels of solvers/lines/kernels.hpp. Along a periodic direction a line's equations are cyclic: the last unknown
// s is taken out, and the rest T is solved for the right-hand side and for the sums e over the rows of the whole matrix,
//
//     T p = f ,  T g = e ,   s = (f_(n-1) - l p_(n-2) - u p_0) / (e_(n-1) - l g_(n-2) - u g_0)
//
// with l and u the entries of row n - 1 beside its diagonal,
// and the line is p + s (1 - g). Pivots are formed from sums, too, as in solvers/lines/thomas.hpp: along thin cells e is small
// and the entries are large. Across a periodic direction with an odd number of lines the last one lies beside the first, both
// even: it is a third colour. Every colour follows an exchange. Thomas' algorithm, a thread a line; words a node: 3, the
// coefficients, and 8 of scratch.

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/lines/orders.hpp>

namespace stratum::line {

/// Three numbers a node: q (solvers/lines/thomas.hpp), right-hand sides, and g of cyclic lines.
template <class T>
struct PeriodicScratch {
  GridView<T> multipliers, right, border;
};

/// One sweep along a direction; x and y are the same unless it is simultaneous.
template <class T>
void sweep_periodic(Context& ctx, Direction direction, const GridOperator<T>& a, GridView<const T> b,
                    GridView<const T> x, GridView<T> y, T omega, LineOrder line_order, SweepOrder order,
                    const PeriodicScratch<T>& scratch);

}  // namespace stratum::line
