#pragma once

// A list that set-up makes on the host, in the memory of a Context. An empty list takes the memory of one item. Waits for the
// stream.

#include <algorithm>
#include <memory>
#include <vector>

#include <stratum/core/device/context.hpp>

namespace stratum {

template <class Item>
[[nodiscard]] std::shared_ptr<void> in_memory(Context& ctx, const std::vector<Item>& items) {
  auto memory = allocate(ctx, std::max<std::size_t>(1, items.size()) * sizeof(Item));
  if (ctx.is_dry_run() || items.empty()) return memory;
  copy_bytes(ctx, items.data(), memory.get(), items.size() * sizeof(Item));
  ctx.synchronise();
  return memory;
}

}  // namespace stratum
