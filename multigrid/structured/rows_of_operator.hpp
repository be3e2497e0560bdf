#pragma once

// The rows of an operator on a grid, as somebody's matrix is read (grid_rows.hpp): of one subdomain as CSR, in any numbering,
// of several as nine arrays. Waits for the stream. Throws UsageError for a numbering on several subdomains, for more entries
// than numbers of 32 bits count, and as GridRows does.

#include <span>

#include <stratum/multigrid/structured/grid_rows.hpp>

namespace stratum {

[[nodiscard]] GridRows rows_of_operator(Context& ctx, const GridOperator<double>& a, std::span<const int> numbering,
                                        const CellCounts& cells, const OnSubdomains& on_subdomains);

}  // namespace stratum
