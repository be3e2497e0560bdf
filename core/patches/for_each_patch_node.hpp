#pragma once

// for_each_patch_node: runs a named functor at every node of all patches, f(patch, i, j), in one launch on a GPU. For sources
// that compile as CUDA where there is CUDA; marks and rules are those of core/field/for_each_node.hpp.

#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/patches/patch_rows.hpp>

namespace stratum {

namespace detail {

/// f(number of the patch, patch, i, j)
template <class Functor>
struct InPatchRow {
  Functor f;
  PatchRows::Row row;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i) const {
#if defined(__CUDA_ARCH__)
    if (i > row.patch.nx) return;  // rows of all patches have as many threads
#endif
    f(row.number, row.patch, i, row.j);
  }
};
template <class Functor>
struct AtPatchNode {
  static constexpr bool hot = true;
  Functor f;
  const PatchRows::Row* rows;
  STRATUM_HOST_DEVICE STRATUM_INLINE InPatchRow<Functor> row(int number) const { return {f, rows[number]}; }
};

}  // namespace detail

template <class Functor>
void for_each_patch_node(Context& ctx, const PatchRows& rows, const Functor& f) {
  if (ctx.is_dry_run()) return;
  const detail::AtPatchNode<Functor> at{f, rows.rows()};
  if (ctx.on_gpu()) return for_each_node_on_gpu(ctx, {0, rows.widest(), 1, 0, rows.count(), 1}, at);
  const std::int64_t nodes = std::int64_t{rows.count()} * rows.widest();
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (nodes > serial_limit)
  for (int row = 0; row < rows.count(); ++row) for_row(at, 0, rows.rows()[row].patch.nx + 1, 1, row);
}

}  // namespace stratum
