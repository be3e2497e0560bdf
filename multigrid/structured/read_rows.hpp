#pragma once

// A user's rows as nine numbers a node: ReadRows reads them by a numbering of the unknowns, by threads, and RowsAtNodes has
// them by nodes, on subdomains those of a subdomain's lines and of two lines beside it. Rows of one rank are those of the whole
// grid, and nothing travels. 72 bytes a row, in the memory of the host. What is wrong with rows is noted, not thrown
// (Seen::fault).

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/multigrid/structured/row_findings.hpp>

namespace stratum::detail {

inline std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// What every subdomain has found; of one rank alone what it has.
template <class T>
std::vector<T> of_all(Communicator* comm, const T& mine) {
  return comm == nullptr ? std::vector<T>{mine} : comm->gather_on_host(mine);
}
inline bool any_of_all(Communicator* comm, bool mine) {
  const auto all = of_all(comm, mine ? 1 : 0);
  return std::find(all.begin(), all.end(), 1) != all.end();
}

/// How far the numbers of a node's neighbours are from its own in a lexicographic order, increasing, and whose they are.
struct Distances {
  std::array<std::int64_t, 9> to{};
  std::array<std::size_t, 9> band{};

  Distances(int nx, int ny, bool x_first) {
    std::size_t k = 0;
    for (int slow = -1; slow <= 1; ++slow)
      for (int fast = -1; fast <= 1; ++fast, ++k) {
        to[k] = std::int64_t{slow} * (x_first ? nx : ny) + fast;
        band[k] = static_cast<std::size_t>(x_first ? band_index(fast, slow) : band_index(slow, fast));
      }
  }
};

template <class Index>
struct CsrRows {
  RowArrays<Index> a;

  [[nodiscard]] int count() const { return static_cast<int>(a.start.size()) - 1; }
  /// What most rows are: columns increase and belong to neighbours, numbers are finite. False, v undefined, for another. Row k
  /// is that of unknown `name`.
  [[nodiscard]] bool at_distances(int k, int name, const Distances& distances, Stencil& v) const {
    const auto row = static_cast<std::size_t>(k);
    std::size_t next = 0;
    double not_finite = 0;
    for (auto e = static_cast<std::size_t>(a.start[row]); e < static_cast<std::size_t>(a.start[row + 1]); ++e, ++next) {
      const std::int64_t distance = static_cast<std::int64_t>(a.column[e]) - name;
      while (next < 9 && distances.to[next] < distance) ++next;
      if (next == 9 || distances.to[next] != distance) return false;
      v[distances.band[next]] = a.value[e];
      not_finite += a.value[e] * 0;
    }
    return not_finite == 0;
  }

  template <class F>
  void for_entries(int k, const F& f) const {
    const auto row = static_cast<std::size_t>(k);
    for (auto e = static_cast<std::size_t>(a.start[row]); e < static_cast<std::size_t>(a.start[row + 1]); ++e)
      f(static_cast<std::int64_t>(a.column[e]), a.value[e]);
  }
  void validate(int n) const { detail::validate(a, n); }
};

struct WholeBands : BandRows {
  using BandRows::BandRows;
  [[nodiscard]] int count() const { return nx * ny; }
  [[nodiscard]] bool at_distances(int /*k*/, int /*name*/, const Distances& /*distances*/, Stencil& /*v*/) const {
    return false;
  }
  void validate(int /*n*/) const {}
};

struct Place {
  int i, j;
};

/// Nodes of unknowns, and unknowns of nodes. On subdomains whose rows come with their nodes unknowns are named by these.
class Places {
 public:
  Places(const GridRows& g, Numbering numbering, bool distributed, int first_row)
      : nx_(g.nx), ny_(g.ny), first_row_(first_row),
        order_(distributed && numbering == Numbering::given ? Numbering::x_first : numbering),
        named_by_nodes_(distributed && numbering == Numbering::given),
        distances_(g.nx, g.ny, order_ == Numbering::x_first), node_(g.node) {
    if (order_ != Numbering::given) return;
    unknown_.assign(node_.size(), -1);
    for (std::size_t k = 0; k < node_.size(); ++k) {
      expects(node_[k] >= 0 && node_[k] < nx_ * ny_, "unknown ", k, " is said to be node ", node_[k], " of a grid of ",
              nx_, " x ", ny_);
      int& taken = unknown_[at(node_[k])];
      expects(taken < 0, "unknowns ", taken, " and ", k, " are both said to be node ", node_[k]);
      taken = static_cast<int>(k);
    }
  }
  [[nodiscard]] bool named_by_nodes() const { return named_by_nodes_; }
  /// The unknown of row k, by which messages and columns call it.
  [[nodiscard]] int name(int k) const { return named_by_nodes_ ? node_[at(k)] : first_row_ + k; }
  [[nodiscard]] Place of(int name) const {
    if (order_ == Numbering::y_first) return {name / ny_, name % ny_};
    const int node = order_ == Numbering::given ? node_[at(name)] : name;
    return {node % nx_, node / nx_};
  }
  [[nodiscard]] int unknown(int i, int j) const {
    if (order_ == Numbering::y_first) return i * ny_ + j;
    const int node = j * nx_ + i;
    return order_ == Numbering::given ? unknown_[at(node)] : node;
  }
  /// None of this node's neighbours lies across a side of the direction that is numbered first: numbers tell them apart.
  [[nodiscard]] const Distances* distances(const Place& here) const {
    if (order_ == Numbering::given) return nullptr;
    const int fast = order_ == Numbering::x_first ? nx_ : ny_;
    const int position = order_ == Numbering::x_first ? here.i : here.j;
    return fast > 2 && position > 0 && position + 1 < fast ? &distances_ : nullptr;
  }
  struct Offset {
    int dx, dy;
    bool across_x, across_y;
    [[nodiscard]] bool fits() const { return dx >= -1 && dx <= 1 && dy >= -1 && dy <= 1; }
  };
  /// From the node at `here` to that of another unknown.
  [[nodiscard]] Offset offset(const Place& here, int other) const {
    const Place there = of(other);
    Offset o{there.i - here.i, there.j - here.j, false, false};
    o.across_x = wrap(o.dx, nx_);
    o.across_y = wrap(o.dy, ny_);
    return o;
  }

 private:
  static bool wrap(int& d, int n) {
    if (n < 3 || (d != n - 1 && d != 1 - n)) return false;
    d = d > 0 ? -1 : 1;
    return true;
  }
  int nx_, ny_, first_row_;
  Numbering order_;
  bool named_by_nodes_;
  Distances distances_;
  const std::vector<int>& node_;
  std::vector<int> unknown_;
};

/// What rows show; trivially copied, to be gathered.
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

/// What a row has towards a fixed unknown that is no neighbour of it.
struct FarEntry {
  int row, unknown;
  double value;
};

/// Nine numbers a row, those of identity rows zero but for the diagonal: by rows on subdomains, else by nodes, x first.
struct ReadRows {
  std::unique_ptr<Stencil[]> row;
  std::vector<char> fixed;
  std::vector<FarEntry> far;
  Seen seen;  // of all subdomains
};

/// Parts of n that threads take.
inline int parts_of(const Context& ctx, int n) { return std::clamp(n / 20000, 1, ctx.on_gpu() ? 16 : ctx.threads()); }

template <class Work>
void in_parts(int n, int parts, const Work& work) {
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part)
    work(part, static_cast<int>(std::int64_t{n} * part / parts),
         static_cast<int>(std::int64_t{n} * (part + 1) / parts));
}

/// The row holds nothing but its diagonal.
template <class Rows>
bool holds_diagonal_alone(const Rows& rows, int k) {
  double diagonal = 0, others = 0;
  rows.for_entries(k, [&](std::int64_t m, double value) {
    if (m == k)
      diagonal += value;
    else
      others += std::abs(value);
  });
  return is_alone(diagonal, others);
}

/// The numbers of row k, that of the node at `here`; whether it is fixed. `is_whole`: all rows are here.
template <class Rows>
bool read_row(const Rows& rows, const Places& places, std::int64_t n, bool is_whole, int k, const Place& here,
              Stencil& v, Seen& seen, std::vector<FarEntry>& far) {
  const int name = places.name(k);
  double others = 0;
  v = {};
  if (const Distances* distances = places.distances(here);
      distances != nullptr && rows.at_distances(k, name, *distances, v) && v[4] > 0) {
    for (std::size_t e = 0; e < v.size(); ++e) others += e == 4 ? 0 : std::abs(v[e]);
  } else {
    v = {};
    others = 0;
    Fault wrong, no_neighbour;
    bool across_x = false, across_y = false;
    const std::size_t far_before = far.size();
    rows.for_entries(k, [&](std::int64_t m, double value) {
      if (value == 0) return;
      if (m < 0 || m >= n) return wrong.take({Fault::column, name, m, value});
      if (!std::isfinite(value)) return wrong.take({Fault::infinite, name, m, value});
      const auto other = static_cast<int>(m);
      if (other == name) {
        v[4] += value;
        return;
      }
      others += std::abs(value);
      const auto o = places.offset(here, other);
      // What is known of x there takes no neighbourhood.
      const bool is_known = is_whole && (!o.fits() || o.across_x || o.across_y) && holds_diagonal_alone(rows, other);
      if (!o.fits()) {
        if (!is_known) return no_neighbour.take({Fault::no_neighbour, name, m, value});
        far.push_back({name, other, value});
        return;
      }
      across_x |= o.across_x && !is_known;
      across_y |= o.across_y && !is_known;
      v[at(band_index(o.dx, o.dy))] += value;
    });
    seen.fault.take(wrong);
    if (is_alone(v[4], others)) {
      far.resize(far_before);
    } else {
      seen.fault.take(no_neighbour);
      if (!(v[4] > 0)) seen.fault.take({Fault::diagonal, name, name, v[4]});
      seen.across_x |= across_x;
      seen.across_y |= across_y;
    }
  }
  if (!is_alone(v[4], others)) return false;
  for (std::size_t e = 0; e < v.size(); ++e) v[e] *= e == 4 ? 1 : 0;
  return true;
}

/// Every row, by threads.
template <class Rows>
ReadRows read_rows(const Context& ctx, const Rows& rows, const Places& places, const GridRows& g) {
  Communicator* const comm = ctx.communicator();
  const bool is_whole = comm == nullptr;
  const int count = rows.count();
  ReadRows own{std::make_unique_for_overwrite<Stencil[]>(at(count)), std::vector<char>(at(count)), {}, {}};
  struct Part {
    Seen seen;
    std::vector<FarEntry> far;
  };
  std::vector<Part> parts(at(parts_of(ctx, count)));
  in_parts(count, static_cast<int>(parts.size()), [&](int part, int begin, int end) {
    Part mine;  // on this thread's stack
    Seen& seen = mine.seen;
    // The first that is wrong is what is reported.
    for (int k = begin; k < end && (seen.fault.kind == Fault::none || places.named_by_nodes()); ++k) {
      const Place here = places.of(places.name(k));
      const std::size_t to = at(is_whole ? here.j * g.nx + here.i : k);
      if (!read_row(rows, places, std::int64_t{g.nx} * g.ny, is_whole, k, here, own.row[to], seen, mine.far)) continue;
      own.fixed[to] = 1;
      ++seen.fixed;
      const bool sides[4] = {here.i == 0, here.i + 1 == g.nx, here.j == 0, here.j + 1 == g.ny};
      for (std::size_t side = 0; side < 4; ++side) seen.fixed_on[side] += sides[side] ? 1 : 0;
    }
    parts[at(part)] = std::move(mine);
  });
  Seen seen;
  for (const Part& part : parts) {
    seen.take(part.seen);
    own.far.insert(own.far.end(), part.far.begin(), part.far.end());
  }
  for (const Seen& there : of_all(comm, seen)) own.seen.take(there);
  return own;
}

/// What a free row has towards a fixed node, by numbers of RowsAtNodes.
struct FixedEntry {
  std::size_t row, fixed;
  double value;
};

/// The rows of a subdomain's lines, by nodes, and of `halo` lines beside it at either end, whosever they are; around the grid's
/// ends. Line 0 is the subdomain's first.
class RowsAtNodes {
 public:
  /// Of the whole grid.
  RowsAtNodes(ReadRows&& own, const GridRows& g)
      : nx_(g.nx), lines_(g.ny), halo_(0), row_(std::move(own.row)), fixed_(std::move(own.fixed)) {
    if (own.seen.fixed == 0) fixed_.clear();
  }
  /// Brought here from where they were read.
  RowsAtNodes(Communicator& comm, const ReadRows& own, const GridRows& g, const Redistribution& moved, int halo)
      : nx_(g.nx), lines_(static_cast<int>(moved.subdomain_size()) / g.nx - 2 * halo), halo_(halo),
        row_(std::make_unique<Stencil[]>(moved.subdomain_size())) {
    std::vector<double> from(moved.own_size()), to(moved.subdomain_size());
    for (std::size_t band = 0; band < 9; ++band) {
      for (std::size_t k = 0; k < from.size(); ++k) from[k] = own.row[k][band];
      moved.to_subdomain(comm, from, to);
      for (std::size_t k = 0; k < to.size(); ++k) row_[k][band] = to[k];
    }
    if (own.seen.fixed == 0) return;
    std::copy(own.fixed.begin(), own.fixed.end(), from.begin());
    moved.to_subdomain(comm, from, to);
    fixed_.assign(to.begin(), to.end());
  }

  [[nodiscard]] int lines() const { return lines_; }
  [[nodiscard]] int halo() const { return halo_; }
  [[nodiscard]] std::size_t size() const { return at(std::int64_t{lines_ + 2 * halo_} * nx_); }
  /// Of node (i, line), either of which may lie one beyond an end.
  [[nodiscard]] std::size_t number(int i, int line) const {
    const int column = i < 0 ? i + nx_ : i < nx_ ? i : i - nx_;
    const int row = halo_ > 0 ? line + halo_ : line < 0 ? line + lines_ : line < lines_ ? line : line - lines_;
    return at(std::int64_t{row} * nx_ + column);
  }
  [[nodiscard]] bool is_fixed(int i, int line) const { return !fixed_.empty() && fixed_[number(i, line)] != 0; }
  [[nodiscard]] const Stencil& row(int i, int line) const { return row_[number(i, line)]; }
  [[nodiscard]] double entry(int dx, int dy, int i, int line) const { return row(i, line)[at(band_index(dx, dy))]; }

  /// Rows lose what they have towards fixed nodes.
  [[nodiscard]] std::vector<FixedEntry> take_fixed() {
    std::vector<FixedEntry> entries;
    for (int line = -halo_; line < lines_ + halo_ && !fixed_.empty(); ++line)
      for (int i = 0; i < nx_; ++i) {
        if (!is_fixed(i, line)) continue;
        for (int dy = -1; dy <= 1; ++dy) {
          if (halo_ > 0 && (line + dy < -halo_ || line + dy >= lines_ + halo_)) continue;
          for (int dx = -1; dx <= 1; ++dx) {
            double& value = row_[number(i + dx, line + dy)][at(band_index(-dx, -dy))];
            if ((dx == 0 && dy == 0) || value == 0) continue;
            entries.push_back({number(i + dx, line + dy), number(i, line), value});
            value = 0;
          }
        }
      }
    return entries;
  }

 private:
  int nx_, lines_, halo_;
  std::unique_ptr<Stencil[]> row_;
  std::vector<char> fixed_;  // empty: none
};

}  // namespace stratum::detail
