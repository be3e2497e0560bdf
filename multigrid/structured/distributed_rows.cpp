// GridRows where every subdomain of a grid gives rows of its own: what is detected, and the subdomain of the operator.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/comm/faults.hpp>
#include <stratum/multigrid/hierarchy.hpp>
#include <stratum/multigrid/structured/row_findings.hpp>
#include <stratum/multigrid/structured/scaled_rows.hpp>

namespace stratum {

namespace {

using namespace detail;

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// What a subdomain's rows show; trivially copied, to be gathered.
struct Seen {
  Fault fault;
  bool across_x = false, across_y = false;
  std::array<int, 4> fixed_on{};  // west, east, south, north
  int fixed = 0;

  [[nodiscard]] bool is_clean() const { return fault.kind == Fault::none && !across_x && !across_y; }
  void take(const Seen& other) {
    fault.take(other.fault);
    across_x |= other.across_x;
    across_y |= other.across_y;
    for (std::size_t side = 0; side < 4; ++side) fixed_on[side] += other.fixed_on[side];
    fixed += other.fixed;
  }
};

/// Own rows by nodes: nine numbers each, and whether they are fixed.
struct OwnRows {
  std::vector<int> node;
  std::array<std::vector<double>, 9> band;
  std::vector<double> fixed;
  Seen seen;  // of all subdomains
};

/// Steps from one line to another; across the ends where that is one.
int step(int from, int to, int lines, bool& across) {
  const int d = to - from;
  if (lines < 3 || (d != lines - 1 && d != 1 - lines)) return d;
  across = true;
  return d > 0 ? -1 : 1;
}

template <class Index>
OwnRows rows_by_node(Communicator& comm, const RowArrays<Index>& rows, const GridRows& g, Numbering numbering,
                     int first) {
  const auto node_of = [&](std::int64_t unknown) {
    return numbering == Numbering::y_first ? unknown % g.ny * g.nx + unknown / g.ny : unknown;
  };
  const std::int64_t nodes = std::int64_t{g.nx} * g.ny;
  const auto count = static_cast<int>(rows.start.size()) - 1;
  OwnRows own;
  for (auto& band : own.band) band.resize(at(count));
  own.fixed.resize(at(count));
  Seen seen;
  for (int k = 0; k < count; ++k) {
    const int name = numbering == Numbering::given ? g.node[at(k)] : first + k;
    const auto here = static_cast<int>(node_of(name));
    const int i = here % g.nx, j = here / g.nx;
    own.node.push_back(here);
    double others = 0;
    for (auto e = at(rows.start[at(k)]); e < at(rows.start[at(k) + 1]); ++e) {
      const auto column = static_cast<std::int64_t>(rows.column[e]);
      const double value = rows.value[e];
      if (value == 0) continue;
      const auto fault = [&](Fault::Kind kind) { seen.fault.take({kind, name, column, value}); };
      if (column < 0 || column >= nodes) {
        fault(Fault::column);
        continue;
      }
      if (!std::isfinite(value)) fault(Fault::infinite);
      const auto there = static_cast<int>(node_of(column));
      bool across_x = false, across_y = false;
      const int dx = step(i, there % g.nx, g.nx, across_x), dy = step(j, there / g.nx, g.ny, across_y);
      if (there != here) others += std::abs(value);
      if (std::abs(dx) > 1 || std::abs(dy) > 1) {
        fault(Fault::no_neighbour);
        continue;
      }
      seen.across_x |= across_x;
      seen.across_y |= across_y;
      own.band[at(band_index(dx, dy))][at(k)] += value;
    }
    const double diagonal = own.band[4][at(k)];
    if (is_alone(diagonal, others)) {
      own.fixed[at(k)] = 1;
      for (std::size_t e = 0; e < own.band.size(); ++e) own.band[e][at(k)] *= e == 4 ? 1 : 0;
      ++seen.fixed;
      const bool sides[4] = {i == 0, i + 1 == g.nx, j == 0, j + 1 == g.ny};
      for (std::size_t side = 0; side < 4; ++side) seen.fixed_on[side] += sides[side] ? 1 : 0;
    } else if (!(diagonal > 0)) {
      seen.fault.take({Fault::diagonal, name, name, diagonal});
    }
  }
  for (const Seen& subdomain : comm.gather_on_host(seen)) own.seen.take(subdomain);
  return own;
}

/// Lines of a subdomain and two beside it at either end, whosever they are.
class Lines {
 public:
  static constexpr int halo = 2;

  Lines(Communicator& comm, const OwnRows& own, const GridRows& g, const Redistribution& moved)
      : nx_(g.nx), periodic_x_(g.periodic_x), fixed_(moved.subdomain_size()) {
    for (std::size_t b = 0; b < 9; ++b) {
      band_[b].resize(moved.subdomain_size());
      moved.to_subdomain(comm, own.band[b], band_[b]);
    }
    moved.to_subdomain(comm, own.fixed, fixed_);
  }

  /// Of node (i, line): line 0 is the subdomain's first. i may lie beyond a periodic end.
  [[nodiscard]] std::size_t number(int i, int line) const {
    const int column = periodic_x_ ? (i + nx_) % nx_ : i;
    return at(std::int64_t{line + halo} * nx_ + column);
  }
  [[nodiscard]] bool is_fixed(int i, int line) const { return fixed_[number(i, line)] != 0; }
  [[nodiscard]] double entry(int dx, int dy, int i, int line) const {
    return band_[at(band_index(dx, dy))][number(i, line)];
  }
  /// The row without what it has towards fixed nodes. Line -1 up to the last but one of those there are.
  [[nodiscard]] Stencil free_row(int i, int line) const {
    Stencil v{};
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const double value = entry(dx, dy, i, line);
        if (value == 0 || ((dx != 0 || dy != 0) && is_fixed(i + dx, line + dy))) continue;
        v[at(band_index(dx, dy))] = value;
      }
    return v;
  }

 private:
  int nx_;
  bool periodic_x_;
  std::array<std::vector<double>, 9> band_;
  std::vector<double> fixed_;
};

double sum_of(const Stencil& v) {
  double sum = 0;
  for (const double entry : v) sum += entry;
  return sum;
}

/// Row sums and couplings across the sides, as far as a subdomain has them.
void decide_ends(Communicator& comm, const Lines& lines, int first, int end, GridRows& g) {
  std::array<BoundarySums, 4> own{};
  const int last_j = g.first_j + g.left_ny - 1, last_i = g.first_i + g.left_nx - 1;
  const auto add = [&](BoundarySums& sums, int i, int j, int dx, int dy, int count) {
    if (count < 2) return;
    const Stencil here = lines.free_row(i, j - first), behind = lines.free_row(i + dx, j + dy - first);
    double inside = 0;
    for (int along = -1; along <= 1; ++along)
      inside -= here[at(dx != 0 ? band_index(dx, along) : band_index(along, dy))];
    if (inside == 0) return;  // decoupled
    sums.add(sum_of(here) - (count > 2 ? sum_of(behind) : 0), inside);
  };
  for (int j = std::max(first, g.first_j); j < std::min(end, last_j + 1); ++j) {
    if (!is_corner(j - g.first_j, g.left_ny, g.periodic_y)) {
      add(own[0], g.first_i, j, 1, 0, g.left_nx);
      add(own[1], last_i, j, -1, 0, g.left_nx);
    }
    for (int i = g.first_i; i <= last_i; ++i) {
      if (is_corner(i - g.first_i, g.left_nx, g.periodic_x)) continue;
      if (j == g.first_j) add(own[2], i, j, 0, 1, g.left_ny);
      if (j == last_j) add(own[3], i, j, 0, -1, g.left_ny);
    }
  }
  std::array<BoundarySums, 4> all{};
  for (const auto& subdomain : comm.gather_on_host(own))
    for (std::size_t side = 0; side < 4; ++side) all[side].add(subdomain[side]);
  const auto decide = [&](BoundaryType& side, const BoundarySums& sums) {
    if (side == BoundaryType::neumann) side = sums.end();
  };
  if (!told_by_cells(g.cells.x, g.nx, g.west, g.east)) {
    decide(g.west, all[0]);
    decide(g.east, all[1]);
  }
  if (!told_by_cells(g.cells.y, g.ny, g.south, g.north)) {
    decide(g.south, all[2]);
    decide(g.north, all[3]);
  }
}

/// The free nodes of a subdomain, from line to line.
struct FreeSubdomain {
  const Lines& lines;
  const GridRows& g;
  int first, begin, end;  // lines: the subdomain's, and of the grid that is left

  template <class Use>
  void for_each(const Use& use) const {
    for (int j = begin; j < end; ++j)
      for (int i = g.first_i; i < g.first_i + g.left_nx; ++i) use(i, j - first);
  }
  template <class Use>
  void for_each_free(const Use& use) const {
    for_each([&](int i, int line) {
      if (!lines.is_fixed(i, line)) use(i, line);
    });
  }
  /// Own, of these that are left.
  [[nodiscard]] bool has(int line) const { return line >= begin - first && line < end - first; }
};

struct Asymmetry {
  double size = 0;
  int row = 0, other = 0;
  double there = 0, back = 0;
};

Asymmetry asymmetry(Communicator& comm, const FreeSubdomain& subdomain) {
  const GridRows& g = subdomain.g;
  Asymmetry largest;
  subdomain.for_each_free([&](int i, int line) {
    const Stencil v = subdomain.lines.free_row(i, line);
    for (int dy = -1; dy <= 0; ++dy)
      for (int dx = -1; dx <= (dy < 0 ? 1 : -1); ++dx) {
        const int p = g.periodic_x ? (i + dx + g.nx) % g.nx : i + dx, q = line + dy + subdomain.first;
        if (p < g.first_i || p >= g.first_i + g.left_nx || (q < g.first_j && !g.periodic_y)) continue;
        const double there = v[at(band_index(dx, dy))], back = subdomain.lines.is_fixed(p, line + dy)
                                                                   ? 0.0
                                                                   : subdomain.lines.entry(-dx, -dy, p, line + dy);
        if (there == back) continue;
        const double size = std::abs(there - back) / std::sqrt(v[4] * subdomain.lines.entry(0, 0, p, line + dy));
        const auto name = [&](int column, int j) {
          j = (j + g.ny) % g.ny;
          return g.numbering == Numbering::y_first ? column * g.ny + j : j * g.nx + column;
        };
        if (size > largest.size) largest = {size, name(i, line + subdomain.first), name(p, q), there, back};
      }
  });
  for (const auto& there : comm.gather_on_host(largest))
    if (there.size > largest.size) largest = there;
  return largest;
}

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

template <class Index>
void GridRows::read_on_subdomains(Context& ctx, const RowArrays<Index>& rows) {
  Communicator& comm = *ctx.communicator();
  comm.agree("grid of unknowns", message(nx, " x ", ny));
  comm.agree("numbers of cells", message(cells.x, " x ", cells.y));
  expects_grid(nx, ny);
  // Rows, and whether they fit together.
  const auto count = static_cast<std::int64_t>(rows.start.size()) - 1;
  const auto counts = comm.gather_on_host(count);
  std::int64_t first_row = 0, in_all = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (static_cast<int>(r) < comm.rank()) first_row += counts[r];
    in_all += counts[r];
  }
  std::string fault;
  try {
    expects(count >= 0, "a matrix without rows has one row start, not none");
    expects(node.empty() || static_cast<std::int64_t>(node.size()) == count, "there are ", node.size(),
            " nodes given for ", count, " rows");
    validate(rows, static_cast<int>(count));
  } catch (const UsageError& error) {
    fault = message("rank ", comm.rank(), ": ", error.what());
  }
  refuse_on_all(comm, fault);
  const auto given = comm.gather_on_host(node.empty() ? 0 : 1);
  expects(in_all == std::int64_t{nx} * ny, "a matrix on a grid of ", nx, " x ", ny, " nodes has ",
          std::int64_t{nx} * ny, " rows, not ", in_all, " on all ranks");
  const bool is_given = std::find(given.begin(), given.end(), 1) != given.end();
  refuse_on_all(comm, is_given && node.empty() && count > 0
                          ? message("rank ", comm.rank(), " gives no nodes of its rows, and others do")
                          : std::string());

  numbering = is_given ? Numbering::given : Numbering::x_first;
  OwnRows own = rows_by_node(comm, rows, *this, numbering, static_cast<int>(first_row));
  if (!is_given && !own.seen.is_clean()) {
    const Fault& of_x = own.seen.fault;
    if (of_x.kind != Fault::none && of_x.kind != Fault::no_neighbour) refuse(of_x, numbering, *this);
    OwnRows other = rows_by_node(comm, rows, *this, Numbering::y_first, static_cast<int>(first_row));
    if (other.seen.is_clean() || (of_x.kind != Fault::none && other.seen.fault.kind == Fault::none)) {
      own = std::move(other);
      numbering = Numbering::y_first;
    }
  }
  if (own.seen.fault.kind != Fault::none) refuse(own.seen.fault, numbering, *this);
  periodic_x = own.seen.across_x;
  periodic_y = own.seen.across_y;
  fixed_in_all = own.seen.fixed;
  const auto& [fixed_west, fixed_east, fixed_south, fixed_north] = own.seen.fixed_on;
  const bool off = fixed_in_all < nx * ny;
  leave_off(*this, off && fixed_west == ny, off && fixed_east == ny, off && fixed_south == nx,
            off && fixed_north == nx);

  // What the sides are decides where subdomains are cut. To see it, any subdomains will do.
  const int rank = comm.rank(), subdomains = comm.size();
  std::vector<int> cut;
  for (int r = 0; r <= subdomains; ++r) cut.push_back(static_cast<int>(std::int64_t{ny} * r / subdomains));
  std::optional<Redistribution> wide(std::in_place, comm, own.node, nx, cut, Lines::halo, periodic_y);
  std::optional<Lines> lines(std::in_place, comm, own, *this, *wide);
  decide_ends(comm, *lines, cut[at(rank)], cut[at(rank) + 1], *this);
  const TensorMesh<2> grid = mesh({}, {});
  const GridLayout<2> shape = PartitionLevels(ctx, mesh_hierarchy(grid), on_subdomains_.distributed_levels).finest();
  const auto begins = comm.gather_on_host(shape.origin_y - grid.unknowns().origin_y + first_j);
  std::vector<int> lasting(begins.begin(), begins.end());
  lasting.front() = 0;
  lasting.push_back(ny);
  if (lasting != cut) {
    cut = lasting;
    lines.reset();
    wide.emplace(comm, own.node, nx, cut, Lines::halo, periodic_y);
    lines.emplace(comm, own, *this, *wide);
  }
  const int begin = begins[at(rank)];
  const FreeSubdomain subdomain{*lines, *this, cut[at(rank)], begin, begin + shape.ny};

  const Asymmetry apart = asymmetry(comm, subdomain);
  symmetric = apart.size <= as_symmetric_as_it_gets;
  if (!symmetric)
    unsymmetric =
        message("the row of ", is_given ? "node " : "unknown ", apart.row, " has ", apart.there, " in column ",
                apart.other, ", and that of ", apart.other, " has ", apart.back, " in column ", apart.row);
  // Rows times these, of the subdomain's lines and those beside it.
  std::vector<double> d;
  const auto scale = [&](int i, int line) { return d.empty() ? 1.0 : d[lines->number(i, line)]; };
  double alone = 1;
  if (fixed_in_all > 0) {
    double least = std::numeric_limits<double>::infinity();
    subdomain.for_each_free([&](int i, int line) { least = std::min(least, lines->entry(0, 0, i, line)); });
    for (const double of_subdomain : comm.gather_on_host(least)) least = std::min(least, of_subdomain);
    if (std::isfinite(least)) alone = next_to_nothing * least;
  }
  const auto store = [&](bool five) {
    if (five)
      a = SymmetricNineBand<double>(ctx, shape);
    else
      a = NineBandMatrix<double>(ctx, shape);
    HostBands bands(ctx, a);
    subdomain.for_each([&](int i, int line) {
      Stencil v = lines->free_row(i, line);
      const double own_scale = scale(i, line);
      if (lines->is_fixed(i, line)) {
        // Its own diagonal may have any size.
        double sum = 0;
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx)
            if ((dx != 0 || dy != 0) && (periodic_x || (i + dx >= 0 && i + dx < nx)) &&
                !lines->is_fixed(i + dx, line + dy))
              sum += std::abs(lines->entry(-dx, -dy, i + dx, line + dy)) * scale(i + dx, line + dy);
        v = {};
        v[4] = sum > 0 ? sum : alone;
      } else {
        for (double& entry : v) entry *= own_scale;
      }
      bands.store(i - first_i, line + cut[at(rank)] - begin, v);
    });
    bands.finish(ctx);
  };
  store(apart.size <= as_symmetric_as_five_bands);
  if (!symmetric && on_subdomains_.scale_to_symmetry) {
    if (const auto found = scales_to_symmetry(ctx, a); !found.empty()) {
      d.assign(wide->subdomain_size(), 1.0);
      std::size_t k = 0;
      subdomain.for_each([&](int i, int line) { d[lines->number(i, line)] = found[k++]; });
      scales.resize(wide->own_size());
      wide->to_own(comm, d, scales);
      wide->to_subdomain(comm, scales, d);
      symmetric = true;
      store(true);
    }
  }
  const int first_line = begin - cut[at(rank)];
  parts = parts_that_matter(
      singular_parts(&comm, {left_nx, shape.ny, begin - first_j, left_ny, periodic_x, periodic_y,
                             [&](int i, int j) {
                               Stencil v = lines->free_row(i + first_i, first_line + j);
                               const double own_scale = scale(i + first_i, first_line + j);
                               for (double& entry : v) entry *= own_scale;
                               return v;
                             },
                             [&](int i, int j) { return lines->is_fixed(i + first_i, first_line + j); }}),
      symmetric);
  singular = parts.is_whole;
  if (symmetric && parts.largest > 0) zero_row_sums(ctx, parts, a);

  // Unknowns are numbers of the subdomain's lines; where rows couple to fixed ones, with a line of others on either side.
  struct Entry {
    int node, dx, dy, i, line;
    double value;
  };
  std::vector<Entry> towards_fixed;
  subdomain.for_each_free([&](int i, int line) {
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if (const double value = lines->entry(dx, dy, i, line);
            (dx != 0 || dy != 0) && value != 0 && lines->is_fixed(i + dx, line + dy))
          towards_fixed.push_back(
              {(line + cut[at(rank)] - begin) * left_nx + i - first_i, dx, dy, i, line, value * scale(i, line)});
  });
  const auto lifts = comm.gather_on_host(towards_fixed.empty() ? 0 : 1);
  const int halo = std::find(lifts.begin(), lifts.end(), 1) == lifts.end() ? 0 : 1;
  moved = std::make_shared<Redistribution>(comm, own.node, nx, cut, halo, periodic_y);
  const auto number = [&](int i, int line) { return (line + halo) * nx + (periodic_x ? (i + nx) % nx : i); };
  eliminated.columns = static_cast<int>(moved->subdomain_size());
  int row = -1;
  for (const auto& entry : towards_fixed) {
    if (entry.node != row) {
      lifted_node.push_back(entry.node);
      eliminated.start.push_back(static_cast<int>(eliminated.value.size()));
      row = entry.node;
    }
    eliminated.column.push_back(number(entry.i + entry.dx, entry.line + entry.dy));
    eliminated.value.push_back(entry.value);
    eliminated.start.back() = static_cast<int>(eliminated.value.size());
  }
  eliminated.rows = static_cast<int>(lifted_node.size());
  const int panel_lines = cut[at(rank) + 1] - cut[at(rank)];
  for (int line = -halo; line < panel_lines + halo; ++line)
    for (int i = 0; i < nx; ++i)
      if (lines->is_fixed(i, line)) {
        fixed.push_back(number(i, line));
        fixed_diagonal.push_back(lines->entry(0, 0, i, line));
      }
  if (halo == 0 && fixed_in_all == 0) return;
  subdomain.for_each([&](int i, int line) { unknown.push_back(lines->is_fixed(i, line) ? -1 : number(i, line)); });
}

template void GridRows::read_on_subdomains(Context&, const RowArrays<std::int32_t>&);
template void GridRows::read_on_subdomains(Context&, const RowArrays<std::int64_t>&);

}  // namespace stratum
