#include <stratum/core/comm/communicator.hpp>

#include <algorithm>
#include <numeric>
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
  const auto subdomains = static_cast<std::size_t>(size());
  expects(counts.size() == subdomains && offsets.size() == subdomains, "a gather of ", subdomains,
          " subdomains needs as many counts and "
          "offsets, not ",
          counts.size(), " and ", offsets.size());
  if (ctx.is_dry_run()) return;
  expect_none_under_way();
  ++gathers_;
  do_gather(ctx, mine, all, counts, offsets);
}

void Communicator::exchange(Context& ctx, const Rows& rows) {
  if (ctx.is_dry_run()) return;
  expect_none_under_way();
  ++exchanges_;
  do_exchange(ctx, named(rows));
}

void Communicator::start_exchange(Context& ctx, std::span<const Rows> rows) {
  if (ctx.is_dry_run()) return;
  expect_none_under_way();
  ++exchanges_;
  for (const auto& one : rows) under_way_.push_back(named(one));
  do_start(ctx, under_way_);
}

void Communicator::finish_exchange(Context& ctx) {
  if (ctx.is_dry_run()) return;
  expects(!under_way_.empty(), "there is no exchange of rows to finish");
  do_finish(ctx, under_way_);
  under_way_.clear();
}

void Communicator::do_finish(Context& ctx, std::span<const Rows> rows) {
  for (const auto& one : rows) do_exchange(ctx, one);
}

void Communicator::expect_none_under_way() const {
  expects(under_way_.empty(), "an exchange of rows is under way and must be finished first");
}

Communicator::Rows Communicator::named(const Rows& rows) const {
  Rows all = rows;
  if (all.below < 0) all.below = (rank() + size() - 1) % size();
  if (all.above < 0) all.above = (rank() + 1) % size();
  expects(all.below < size() && all.above < size(), "subdomains have ranks below ", size(), ", not ", all.below,
          " and ", all.above);
  return all;
}

void Communicator::gather_on_host(const void* mine, void* all, std::size_t bytes) {
  ++gathers_;
  do_gather_on_host(mine, all, bytes);
}

void Communicator::all_to_all_on_host(const void* out, std::span<const std::size_t> to, void* in,
                                      std::span<const std::size_t> from) {
  const auto subdomains = static_cast<std::size_t>(size());
  expects(to.size() == subdomains && from.size() == subdomains, subdomains, " subdomains need as many counts, not ",
          to.size(), " and ", from.size());
  expect_none_under_way();
  ++exchanges_;
  do_all_to_all_on_host(out, to, in, from);
}

std::vector<double> Communicator::join_on_host(std::span<const double> mine) {
  const auto counts = gather_on_host(mine.size());
  const std::size_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<double> own(mine.begin(), mine.end()), all(most * counts.size());
  own.resize(most);
  gather_on_host(own.data(), all.data(), most * sizeof(double));
  auto end = all.begin();
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(r * most);
    end = std::copy(from, from + static_cast<std::ptrdiff_t>(counts[r]), end);
  }
  all.erase(end, all.end());
  return all;
}

std::vector<double> Communicator::join_on_first(std::span<const double> mine) {
  constexpr std::size_t most = 1 << 14;
  const auto counts = gather_on_host(mine.size());
  std::vector<double> own(most), parts(most * counts.size()), all;
  if (rank() == 0) all.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  const auto copy_part = [&](const double* from, std::size_t count, std::size_t begin, double* to) {
    if (begin < count) std::copy_n(from, std::min(most, count - begin), to);
  };
  for (std::size_t begin = 0; begin < *std::max_element(counts.begin(), counts.end()); begin += most) {
    copy_part(mine.data() + begin, mine.size(), begin, own.data());
    gather_on_host(own.data(), parts.data(), most * sizeof(double));
    if (all.empty()) continue;
    std::size_t offset = begin;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      copy_part(&parts[r * most], counts[r], begin, all.data() + offset);
      offset += counts[r];
    }
  }
  return all;
}

void Communicator::agree(std::string_view name, std::string_view value) {
  const auto lengths = gather_on_host(value.size());
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::string mine(value), all(longest * lengths.size(), ' ');
  mine.resize(longest);
  gather_on_host(mine.data(), all.data(), longest);
  const auto of = [&](std::size_t r) { return std::string_view(all).substr(r * longest, lengths[r]); };
  const auto shown_line = [](std::string_view text, std::size_t begin) {
    return shown(text.substr(begin, text.find('\n', begin) - begin));
  };
  for (std::size_t r = 1; r < lengths.size(); ++r) {
    const auto first = of(0), other = of(r);
    if (first == other) continue;
    // The first line that differs.
    const auto same = std::mismatch(first.begin(), first.end(), other.begin(), other.end()).first - first.begin();
    const auto end_before = first.substr(0, static_cast<std::size_t>(same)).rfind('\n');
    const std::size_t begin = end_before == std::string_view::npos ? 0 : end_before + 1;
    throw UsageError(message("all ranks need the same ", name, ": rank 0 has '", shown_line(first, begin), "', rank ",
                             r, " has '", shown_line(other, begin), "'"));
  }
}

}  // namespace stratum
