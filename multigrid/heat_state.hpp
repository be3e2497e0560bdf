#pragma once

// Fields of rows in the states of runs in time (multigrid/heat_progress.hpp): on the first subdomain, of the whole.

#include <vector>

#include <stratum/core/field/blas.hpp>

namespace stratum {

/// Of all subdomains in the order of ranks, on the first subdomain; the others have none.
[[nodiscard]] inline std::vector<double> rows_on_first_subdomain(Context& ctx, FieldView<const double> x) {
  std::vector<double> own(static_cast<std::size_t>(x.nodes()));
  if (!own.empty()) copy_to_host(ctx, x, own.data());
  return ctx.subdomains() == 1 ? own : ctx.communicator()->join_on_first(own);
}

/// From rows of the whole, of which the field has those from `first` on.
inline void put_rows(Context& ctx, const std::vector<double>& from, int first, Field<double>& to) {
  copy_from_host(ctx, from.data() + std::int64_t{first} * to.shape().nx, to.view());
}

}  // namespace stratum
