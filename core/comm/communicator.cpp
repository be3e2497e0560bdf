#include <stratum/core/comm/communicator.hpp>

#include <algorithm>
#include <string>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

void Communicator::gather(Context& ctx, const void* mine, void* all, std::size_t bytes) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(size()), bytes), offsets(counts.size());
  for (std::size_t r = 0; r < offsets.size(); ++r) offsets[r] = r * bytes;
  gather(ctx, mine, all, counts, offsets);
}

void Communicator::gather(Context& ctx, const void* mine, void* all, std::span<const std::size_t> counts,
                          std::span<const std::size_t> offsets) {
  const auto pieces = static_cast<std::size_t>(size());
  expects(counts.size() == pieces && offsets.size() == pieces, "a gather of ", pieces,
          " pieces needs as many counts and "
          "offsets, not ",
          counts.size(), " and ", offsets.size());
  if (ctx.plans()) return;
  ++gathers_;
  do_gather(ctx, mine, all, counts, offsets);
}

void Communicator::exchange(Context& ctx, const Rows& rows) {
  if (ctx.plans()) return;
  ++exchanges_;
  do_exchange(ctx, rows);
}

void Communicator::gather_on_host(const void* mine, void* all, std::size_t bytes) {
  ++gathers_;
  do_gather_on_host(mine, all, bytes);
}

void Communicator::agree(std::string_view name, std::string_view value) {
  const auto lengths = gather_on_host(value.size());
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::string mine(value), all(longest * lengths.size(), ' ');
  mine.resize(longest);
  gather_on_host(mine.data(), all.data(), longest);
  const auto of = [&](std::size_t r) { return std::string_view(all).substr(r * longest, lengths[r]); };
  for (std::size_t r = 1; r < lengths.size(); ++r)
    expects(of(r) == of(0), "all ranks need the same ", name, ": rank 0 has ", shown(of(0)), ", rank ", r, " has ",
            shown(of(r)));
}

}  // namespace stratum
