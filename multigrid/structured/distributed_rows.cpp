// Rows that every subdomain of a grid gives as bands of its lines or as entries, made those of GridRows.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/comm/faults.hpp>
#include <stratum/multigrid/structured/row_findings.hpp>

namespace stratum {

namespace {

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

}  // namespace

SparseRows detail::rows_of_lines(Communicator& comm, const BandArrays& a, int nx, int lines) {
  comm.agree("nodes of a line", message(nx));
  std::optional<BandRows> bands;
  std::string fault;
  try {
    expects(nx >= 1 && lines >= 0, "a subdomain of a grid has lines of 1 node or more, and 0 lines or more, not ", nx,
            " x ", lines);
    constexpr int most = std::numeric_limits<int>::max() / 9;
    expects(std::int64_t{nx} * lines <= most, "bands of a subdomain have up to ", most, " nodes, not ", nx, " x ",
            lines, ": take more subdomains, or rows with indices of 64 bits");
    bands.emplace(a, nx, lines);
  } catch (const UsageError& error) {
    fault = message("rank ", comm.rank(), ": ", error.what());
  }
  refuse_on_all(comm, fault);
  const auto all_lines = comm.gather_on_host(std::int64_t{lines});
  std::int64_t first = 0, in_all = 0;
  std::size_t behind = 0, with_lines = 0;  // subdomains that have some
  for (std::size_t r = 0; r < all_lines.size(); ++r) {
    if (static_cast<int>(r) == comm.rank()) {
      first = in_all;
      behind = with_lines;
    }
    in_all += all_lines[r];
    with_lines += all_lines[r] > 0 ? 1 : 0;
  }
  expects_grid(nx, static_cast<int>(std::min<std::int64_t>(in_all, std::numeric_limits<int>::max())));
  // What the last lines have towards those above.
  std::vector<double> upward;
  for (int dx = -1; dx <= 1 && lines > 0; ++dx)
    for (int i = 0; i < nx; ++i) upward.push_back(bands->number(dx, 1, i, lines - 1));
  upward = comm.join_on_host(upward);
  const std::size_t size = 3 * at(nx);
  bands->ny = static_cast<int>(in_all);
  bands->first = static_cast<int>(first);
  bands->below = std::span(upward).subspan((behind + with_lines - 1) % with_lines * size, size);

  SparseRows rows;
  rows.rows = nx * lines;
  rows.columns = nx * bands->ny;
  rows.start.assign(1, 0);
  for (int k = 0; k < rows.rows; ++k) {
    bands->for_entries(k, [&](std::int64_t column, double value) {
      rows.column.push_back(static_cast<int>(column));
      rows.value.push_back(value);
    });
    rows.start.push_back(static_cast<int>(rows.value.size()));
  }
  return rows;
}

SparseRows own_rows(Communicator& comm, std::vector<SparseEntry> entries, std::string fault, std::span<const int> node,
                    int nx, int ny) {
  comm.agree("grid of unknowns", message(nx, " x ", ny));
  expects_grid(nx, ny);
  const auto rank = comm.rank();
  const auto refuse = [&] { refuse_on_all(comm, fault.empty() ? fault : message("rank ", rank, ": ", fault)); };
  const auto outside = [n = nx * ny](const SparseEntry& e) {
    return e.row < 0 || e.row >= n || e.column < 0 || e.column >= n;
  };
  const auto bad = std::find_if(entries.begin(), entries.end(), outside);
  if (fault.empty() && bad != entries.end())
    fault = message("entry (", bad->row, ", ", bad->column, ") lies outside the ", nx * ny, " x ", nx * ny, " matrix");
  refuse();
  const auto is_given = comm.gather_on_host(node.empty() ? 0 : 1);
  std::int64_t count = static_cast<std::int64_t>(node.size());
  if (std::find(is_given.begin(), is_given.end(), 1) != is_given.end()) {
    std::vector<std::array<int, 2>> place;
    for (const int n : node) place.push_back({n, static_cast<int>(place.size())});
    std::sort(place.begin(), place.end());
    for (auto& entry : entries) {
      const auto found = std::lower_bound(place.begin(), place.end(), std::array{entry.row, 0});
      if (found != place.end() && (*found)[0] == entry.row)
        entry.row = (*found)[1];
      else if (fault.empty())
        fault =
            message("entry (", entry.row, ", ", entry.column, ") is in the row of a node that is not among its own");
    }
  } else {
    const auto by_row = [](const SparseEntry& a, const SparseEntry& b) { return a.row < b.row; };
    const auto [least, most] = std::minmax_element(entries.begin(), entries.end(), by_row);
    const std::int64_t first = entries.empty() ? 0 : least->row;
    count = entries.empty() ? 0 : most->row - first + 1;
    std::int64_t before = 0;
    const auto counts = comm.gather_on_host(count);
    for (int r = 0; r < rank; ++r) before += counts[at(r)];
    if (count > 0 && first != before)
      fault =
          message("its entries are in rows ", first, " to ", most->row, ", and the ranks before have ", before,
                  " rows: entries must lie in rows that follow those, each on one rank, or the nodes of own rows be "
                  "given (numbering)");
    for (auto& entry : entries) entry.row -= static_cast<int>(first);
  }
  refuse();
  return sparse_rows(static_cast<int>(count), nx * ny, std::move(entries));
}

}  // namespace stratum
