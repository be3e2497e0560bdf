#include <stratum/multigrid/structured/grid_rows.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/structured/row_findings.hpp>

namespace stratum {

namespace {

using namespace detail;

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

  /// What most rows are: columns increase and belong to neighbours, numbers are finite. False, v undefined, for another.
  [[nodiscard]] bool at_distances(int k, const Distances& distances, Stencil& v) const {
    const auto row = static_cast<std::size_t>(k);
    std::size_t next = 0;
    double not_finite = 0;
    for (auto e = static_cast<std::size_t>(a.start[row]); e < static_cast<std::size_t>(a.start[row + 1]); ++e, ++next) {
      const std::int64_t distance = static_cast<std::int64_t>(a.column[e]) - k;
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
  [[nodiscard]] bool at_distances(int /*k*/, const Distances& /*distances*/, Stencil& /*v*/) const { return false; }
  void validate(int /*n*/) const {}
};

struct Place {
  int i, j;
};

/// Nodes of unknowns, and unknowns of nodes.
class Places {
 public:
  Places(const GridRows& g, Numbering numbering)
      : nx_(g.nx), ny_(g.ny), numbering_(numbering), distances_(g.nx, g.ny, numbering == Numbering::x_first),
        node_(g.node) {
    if (numbering != Numbering::given) return;
    unknown_.assign(node_.size(), -1);
    for (std::size_t k = 0; k < node_.size(); ++k) {
      expects(node_[k] >= 0 && node_[k] < nx_ * ny_, "unknown ", k, " is said to be node ", node_[k], " of a grid of ",
              nx_, " x ", ny_);
      int& taken = unknown_[static_cast<std::size_t>(node_[k])];
      expects(taken < 0, "unknowns ", taken, " and ", k, " are both said to be node ", node_[k]);
      taken = static_cast<int>(k);
    }
  }
  [[nodiscard]] Place of(int k) const {
    if (numbering_ == Numbering::y_first) return {k / ny_, k % ny_};
    const int node = numbering_ == Numbering::given ? node_[static_cast<std::size_t>(k)] : k;
    return {node % nx_, node / nx_};
  }
  [[nodiscard]] int unknown(int i, int j) const {
    if (numbering_ == Numbering::y_first) return i * ny_ + j;
    const int node = j * nx_ + i;
    return numbering_ == Numbering::given ? unknown_[static_cast<std::size_t>(node)] : node;
  }
  /// None of this node's neighbours lies across a side of the direction that is numbered first: numbers tell them apart.
  [[nodiscard]] const Distances* distances(const Place& here) const {
    if (numbering_ == Numbering::given) return nullptr;
    const int fast = numbering_ == Numbering::x_first ? nx_ : ny_;
    const int position = numbering_ == Numbering::x_first ? here.i : here.j;
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
  int nx_, ny_;
  Numbering numbering_;
  Distances distances_;
  const std::vector<int>& node_;
  std::vector<int> unknown_;
};

/// What an attempt to read by one numbering sees.
struct Seen {
  Fault fault;
  bool across_x = false, across_y = false;
  bool alone = false;  // a row that holds nothing but its diagonal and is not known to be fixed
  struct Lifted {
    int row, unknown;
    double value;
  };
  std::vector<Lifted> eliminated;

  void take(Seen&& other) {
    fault.take(other.fault);
    across_x |= other.across_x;
    across_y |= other.across_y;
    alone |= other.alone;
    eliminated.insert(eliminated.end(), other.eliminated.begin(), other.eliminated.end());
  }
};

/// Parts of n that threads take.
int parts_of(const Context& ctx, int n) { return std::clamp(n / 20000, 1, ctx.on_gpu() ? 16 : ctx.threads()); }

template <class Work>
void in_parts(const Context& ctx, int n, const Work& work) {
  const int parts = parts_of(ctx, n);
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

/// Which rows hold nothing but their diagonal.
class FixedRows {
 public:
  FixedRows() = default;
  template <class Rows>
  FixedRows(const Context& ctx, const Rows& rows, int n) : is_(static_cast<std::size_t>(n)) {
    in_parts(ctx, n, [&](int /*part*/, int begin, int end) {
      for (int k = begin; k < end; ++k) is_[static_cast<std::size_t>(k)] = holds_diagonal_alone(rows, k) ? 1 : 0;
    });
    if (std::find(is_.begin(), is_.end(), 1) == is_.end()) is_.clear();
  }
  [[nodiscard]] bool none() const { return is_.empty(); }
  [[nodiscard]] bool operator()(int k) const { return !is_.empty() && is_[static_cast<std::size_t>(k)] != 0; }
  /// One of these neighbours.
  [[nodiscard]] bool beside(int k, const Distances& distances) const {
    if (is_.empty()) return false;
    const auto n = static_cast<std::int64_t>(is_.size());
    return std::any_of(distances.to.begin(), distances.to.end(), [&](std::int64_t distance) {
      const std::int64_t m = k + distance;
      return distance != 0 && m >= 0 && m < n && is_[static_cast<std::size_t>(m)] != 0;
    });
  }

 private:
  std::vector<char> is_;  // empty: none
};

/// The stencil of row k, and what it has towards fixed unknowns.
template <class Rows>
Stencil stencil(const Rows& rows, const Places& places, const FixedRows& fixed, int n, int k, const Place& here,
                Seen& seen) {
  Stencil v{};
  if (const Distances* distances = places.distances(here); distances != nullptr &&
                                                           rows.at_distances(k, *distances, v) && v[4] > 0 &&
                                                           !fixed(k) && !fixed.beside(k, *distances)) {
    double others = 0;
    for (std::size_t e = 0; e < v.size(); ++e) others += e == 4 ? 0 : std::abs(v[e]);
    seen.alone |= is_alone(v[4], others);
    return v;
  }
  v = {};
  double others = 0;
  rows.for_entries(k, [&](std::int64_t m, double value) {
    if (value == 0) return;
    if (m < 0 || m >= n) return seen.fault.take({Fault::column, k, m, value});
    if (!std::isfinite(value)) return seen.fault.take({Fault::infinite, k, m, value});
    const auto other = static_cast<int>(m);
    if (other == k) {
      v[4] += value;
      return;
    }
    others += std::abs(value);
    if (fixed(k)) return;  // below the rounding of its diagonal
    if (fixed(other)) {
      seen.eliminated.push_back({k, other, value});
    } else {
      const auto o = places.offset(here, other);
      if (!o.fits()) return seen.fault.take({Fault::no_neighbour, k, m, value});
      seen.across_x |= o.across_x;
      seen.across_y |= o.across_y;
      v[static_cast<std::size_t>(band_index(o.dx, o.dy))] += value;
    }
  });
  seen.alone |= is_alone(v[4], others) && !fixed(k);
  if (!fixed(k) && !(v[4] > 0)) seen.fault.take({Fault::diagonal, k, k, v[4]});
  return v;
}

/// Whole sides of fixed nodes are left off; the others are Neumann or Robin until more is known.
void leave_off_boundaries(const Places& places, const FixedRows& fixed, GridRows& g) {
  const auto all_fixed = [&](int i0, int i1, int j0, int j1) {
    if (fixed.none()) return false;
    for (int j = j0; j < j1; ++j)
      for (int i = i0; i < i1; ++i)
        if (!fixed(places.unknown(i, j))) return false;
    return true;
  };
  const int nx = g.nx, ny = g.ny;
  // Of a diagonal matrix something must be left.
  const bool off = !all_fixed(0, nx, 0, ny);
  leave_off(g, off && all_fixed(0, 1, 0, ny), off && all_fixed(nx - 1, nx, 0, ny), off && all_fixed(0, nx, 0, 1),
            off && all_fixed(0, nx, ny - 1, ny));
}

/// Every row of the whole grid to use(i, j, stencil); the rest is seen.
template <class Rows, class Use>
Seen read_rows(const Context& ctx, const Rows& rows, const Places& places, const FixedRows& fixed, int n,
               const Use& use) {
  std::vector<Seen> parts(static_cast<std::size_t>(parts_of(ctx, n)));
  in_parts(ctx, n, [&](int part, int begin, int end) {
    Seen seen;  // on this thread's stack
    for (int k = begin; k < end && seen.fault.kind == Fault::none; ++k) {
      const Place here = places.of(k);
      use(here, stencil(rows, places, fixed, n, k, here, seen));
    }
    parts[static_cast<std::size_t>(part)] = std::move(seen);
  });
  Seen all;
  for (auto& part : parts) all.take(std::move(part));
  return all;
}

/// |a_km - a_mk| / sqrt(a_kk a_mm), and where.
struct Asymmetry {
  double size = 0;
  int row = 0, other = 0;
  double there = 0, back = 0;

  void take(const Asymmetry& candidate) {
    if (candidate.size > size) *this = candidate;
  }
  [[nodiscard]] std::string text() const {
    return message("row ", row, " has ", there, " in column ", other, ", and row ", other, " has ", back, " in column ",
                   row);
  }
};

/// The largest of the rows of bands.
template <class Rows>
Asymmetry asymmetry(const Context& ctx, const Rows& rows, const Places& places, const FixedRows& fixed,
                    const GridRows& g, const HostBands& bands) {
  std::vector<Asymmetry> largest(static_cast<std::size_t>(parts_of(ctx, g.unknowns())));
  in_parts(ctx, g.unknowns(), [&](int part, int begin, int end) {
    Seen seen;
    Asymmetry mine;
    for (int k = begin; k < end; ++k) {
      if (fixed(k)) continue;
      const Place here = places.of(k);
      const Stencil v = stencil(rows, places, fixed, g.unknowns(), k, here, seen);
      seen.eliminated.clear();
      for (int band = 0; band < 4; ++band) {
        int i = here.i - g.first_i + band % 3 - 1, j = here.j - g.first_j + band / 3 - 1;
        if (g.periodic_x) i = (i + g.left_nx) % g.left_nx;
        if (g.periodic_y) j = (j + g.left_ny) % g.left_ny;
        if (i < 0 || i >= g.left_nx || j < 0) continue;
        const double there = v[static_cast<std::size_t>(band)], back = bands(8 - band, i, j);
        if (there != back)
          mine.take({std::abs(there - back) / std::sqrt(v[4] * bands(4, i, j)), k,
                     places.unknown(i + g.first_i, j + g.first_j), there, back});
      }
    }
    largest[static_cast<std::size_t>(part)] = mine;
  });
  Asymmetry all;
  for (const auto& part : largest) all.take(part);
  return all;
}

/// `row(i, j)`: a stencil. (dx, dy) points inwards from the side whose first node is (i, j).
template <class Row>
BoundaryType type_of_boundary(const GridRows& g, const Row& row, int i, int j, int dx, int dy) {
  BoundarySums sums;
  const int sx = dx == 0 ? 1 : 0, sy = 1 - sx;
  const int nodes = dx != 0 ? g.left_nx : g.left_ny;
  const bool alone = nodes < 2;
  const bool periodic = dx != 0 ? g.periodic_y : g.periodic_x;
  for (; !alone && i < g.left_nx && j < g.left_ny; i += sx, j += sy) {
    if (is_corner(dx != 0 ? j : i, dx != 0 ? g.left_ny : g.left_nx, periodic)) continue;
    const Stencil here = row(i, j), behind = row(i + dx, j + dy);
    double inside = 0;
    for (int along = -1; along <= 1; ++along)
      inside -= here[static_cast<std::size_t>(band_index(dx + along * sx, dy + along * sy))];
    if (inside == 0) continue;  // decoupled
    double excess = std::accumulate(here.begin(), here.end(), 0.0);
    if (nodes > 2) excess -= std::accumulate(behind.begin(), behind.end(), 0.0);
    sums.add(excess, inside);
  }
  return sums.end();
}

/// Row (i, j) of bands, without what reaches across boundaries.
Stencil stencil_of(const HostBands& bands, const GridRows& g, int i, int j) {
  Stencil v{};
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int p = i + dx, q = j + dy;
      if (g.periodic_x) p = (p + g.left_nx) % g.left_nx;
      if (g.periodic_y) q = (q + g.left_ny) % g.left_ny;
      if (p < 0 || p >= g.left_nx || q < 0 || q >= g.left_ny) continue;
      const int band = band_index(dx, dy);
      v[static_cast<std::size_t>(band)] = band >= 4 || bands.has_nine() ? bands(band, i, j) : bands(8 - band, p, q);
    }
  return v;
}

SingularParts parts_of(const HostBands& bands, const Places& places, const FixedRows& fixed, const GridRows& g) {
  SingularParts parts = singular_parts(
      nullptr, {g.left_nx, g.left_ny, 0, g.left_ny, g.periodic_x, g.periodic_y,
                [&](int i, int j) { return stencil_of(bands, g, i, j); },
                [&](int i, int j) { return !fixed.none() && fixed(places.unknown(i + g.first_i, j + g.first_j)); }});
  return parts_that_matter(std::move(parts), g.symmetric);
}

/// One line's widths.
std::vector<double> widths_of(const std::vector<double>& given, int nodes, BoundaryType first, BoundaryType last,
                              const char* direction) {
  const int count = first == BoundaryType::periodic ? nodes
                                                    : nodes - 1 + (first == BoundaryType::dirichlet ? 1 : 0) +
                                                          (last == BoundaryType::dirichlet ? 1 : 0);
  if (given.empty()) return std::vector<double>(static_cast<std::size_t>(std::max(count, 1)), 1.0);
  expects(static_cast<int>(given.size()) == count, "in ", direction, " the matrix has ", nodes, " nodes between ",
          to_string(first), " and ", to_string(last), " boundaries, which are ", count, " intervals; widths of ",
          given.size(), " are given");
  return given;
}

/// Every row, into bands where there are some.
template <class Rows>
Seen read_bands(const Context& ctx, const Rows& rows, const Places& places, const FixedRows& fixed, const GridRows& g,
                HostBands& bands) {
  return read_rows(ctx, rows, places, fixed, g.unknowns(), [&](const Place& here, const Stencil& v) {
    const int i = here.i - g.first_i, j = here.j - g.first_j;
    if (i >= 0 && i < g.left_nx && j >= 0 && j < g.left_ny) bands.store(i, j, v);
  });
}

/// Fixed nodes on the grid: their own diagonals may have any size. They get what couples to them, or next to nothing.
void scale_fixed(const Places& places, const std::vector<Seen::Lifted>& eliminated, const FixedRows& fixed,
                 const GridRows& g, const HostBands& bands) {
  if (fixed.none()) return;
  const auto on_grid = [&](int k) -> double* {
    const Place at = places.of(k);
    const int i = at.i - g.first_i, j = at.j - g.first_j;
    return i >= 0 && i < g.left_nx && j >= 0 && j < g.left_ny ? &bands(4, i, j) : nullptr;
  };
  for (int k = 0; k < g.unknowns(); ++k)
    if (double* d = on_grid(k); fixed(k) && d != nullptr) *d = 0;
  for (const auto& entry : eliminated)
    if (double* d = on_grid(entry.unknown)) *d += std::abs(entry.value);
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < g.unknowns(); ++k)
    if (const double* d = on_grid(k); !fixed(k) && d != nullptr) least = std::min(least, *d);
  const double alone = std::isfinite(least) ? next_to_nothing * least : 1.0;
  for (int k = 0; k < g.unknowns(); ++k)
    if (double* d = on_grid(k); fixed(k) && d != nullptr && *d == 0) *d = alone;
}

}  // namespace

void expects_grid(int nx, int ny) {
  expects(nx >= 1 && ny >= 1 && std::int64_t{nx} * ny <= std::numeric_limits<int>::max(),
          "a grid must have 1 x 1 to 2^31 - 1 nodes, not ", nx, " x ", ny);
}

template <class Rows, class Places, class Fixed>
void GridRows::find_ends(const Rows& rows, const Places& places, const Fixed& is_fixed) {
  const auto row = [&](int i, int j) {
    Seen seen;
    const Place here{i + first_i, j + first_j};
    return stencil(rows, places, is_fixed, unknowns(), places.unknown(here.i, here.j), here, seen);
  };
  const auto find = [&](BoundaryType& end, int i, int j, int dx, int dy) {
    if (end == BoundaryType::neumann) end = type_of_boundary(*this, row, i, j, dx, dy);
  };
  if (!told_by_cells(cells.x, nx, west, east)) {
    find(west, 0, 0, 1, 0);
    find(east, left_nx - 1, 0, -1, 0);
  }
  if (!told_by_cells(cells.y, ny, south, north)) {
    find(south, 0, 0, 0, 1);
    find(north, 0, left_ny - 1, 0, -1);
  }
}

template <class Rows>
void GridRows::read(Context& ctx, const Rows& rows) {
  const int n = unknowns();
  expects(node.empty() || static_cast<int>(node.size()) == n, "there are ", node.size(), " nodes given for ", n,
          " unknowns");
  rows.validate(n);
  FixedRows is_fixed;  // none, until one is seen
  const auto operator_of = [&](bool nine) -> GridOperator<double> {
    const GridLayout<2> shape{
        left_nx,    left_ny,   west == BoundaryType::dirichlet ? 1 : 0, south == BoundaryType::dirichlet ? 1 : 0,
        periodic_x, periodic_y};
    if (nine) return NineBandMatrix<double>(ctx, shape);
    return SymmetricNineBand<double>(ctx, shape);
  };
  std::optional<HostBands> bands;  // of the latest reading
  const auto read_all = [&](const Places& places, bool nine) {
    a = operator_of(nine);
    bands.emplace(ctx, a);
    return read_bands(ctx, rows, places, is_fixed, *this, *bands);
  };
  const auto attempt = [&](Numbering tried, bool across_x = false, bool across_y = false) {
    numbering = tried;
    periodic_x = across_x;
    periodic_y = across_y;
    const Places places(*this, tried);
    leave_off_boundaries(places, is_fixed, *this);
    find_ends(rows, places, is_fixed);
    return read_all(places, false);
  };
  const auto suits = [](const Seen& seen) {
    return seen.fault.kind == Fault::none && !seen.across_x && !seen.across_y && !seen.alone;
  };
  const Numbering first = node.empty() ? Numbering::x_first : Numbering::given;
  Seen seen = attempt(first);
  if (!suits(seen)) {
    is_fixed = FixedRows(ctx, rows, n);
    if (!is_fixed.none()) seen = attempt(first);
  }
  const auto is_clean = [&](const Seen& s) { return s.fault.kind == Fault::none && !s.across_x && !s.across_y; };
  // Without couplings from end to end where some numbering does without: in the others they may be those of another row.
  if (node.empty() && !is_clean(seen)) {
    if (seen.fault.kind != Fault::none && seen.fault.kind != Fault::no_neighbour) refuse(seen.fault, first, *this);
    Seen other = attempt(Numbering::y_first);
    if (is_clean(other) || (seen.fault.kind != Fault::none && other.fault.kind == Fault::none))
      seen = std::move(other);
    else
      numbering = first;
  }
  if (seen.fault.kind != Fault::none) refuse(seen.fault, numbering, *this);
  if (seen.across_x || seen.across_y) seen = attempt(numbering, seen.across_x, seen.across_y);

  const Places places(*this, numbering);
  scale_fixed(places, seen.eliminated, is_fixed, *this, *bands);
  const Asymmetry apart = asymmetry(ctx, rows, places, is_fixed, *this, *bands);
  symmetric = apart.size <= as_symmetric_as_it_gets;
  if (!symmetric) unsymmetric = apart.text();
  if (!(apart.size <= as_symmetric_as_five_bands)) {
    (void)read_all(places, true);
    scale_fixed(places, seen.eliminated, is_fixed, *this, *bands);
  }
  keep_fixed(rows, places, is_fixed, seen.eliminated);
  parts = parts_of(*bands, places, is_fixed, *this);
  singular = parts.is_whole;
  bands->finish(ctx);
  if (symmetric && parts.largest > 0) zero_row_sums(ctx, parts, a);
}

template <class Rows, class Places, class Fixed, class Lifted>
void GridRows::keep_fixed(const Rows& rows, const Places& places, const Fixed& is_fixed,
                          const std::vector<Lifted>& entries) {
  fixed.clear();
  fixed_diagonal.clear();
  fixed_in_all = 0;
  for (int k = 0; k < unknowns(); ++k) {
    if (!is_fixed(k)) continue;
    double diagonal = 0;
    rows.for_entries(k, [&](std::int64_t m, double value) { diagonal += m == k ? value : 0; });
    fixed.push_back(k);
    ++fixed_in_all;
    fixed_diagonal.push_back(diagonal);
  }
  eliminated = SparseRows();
  lifted_node.clear();
  int row = -1;
  for (const auto& entry : entries) {
    if (entry.row != row) {
      const Place at = places.of(entry.row);
      lifted_node.push_back((at.j - first_j) * left_nx + at.i - first_i);
      eliminated.start.push_back(static_cast<int>(eliminated.value.size()));
      row = entry.row;
    }
    eliminated.column.push_back(entry.unknown);
    eliminated.value.push_back(entry.value);
    eliminated.start.back() = static_cast<int>(eliminated.value.size());
  }
  eliminated.rows = static_cast<int>(lifted_node.size());
  eliminated.columns = unknowns();
  unknown.clear();
  if (numbering == Numbering::x_first && fixed.empty()) return;
  unknown.resize(static_cast<std::size_t>(left_nx) * static_cast<std::size_t>(left_ny));
  for (int j = 0; j < left_ny; ++j)
    for (int i = 0; i < left_nx; ++i) {
      const int k = places.unknown(i + first_i, j + first_j);
      unknown[static_cast<std::size_t>(j) * static_cast<std::size_t>(left_nx) + static_cast<std::size_t>(i)] =
          is_fixed(k) ? -1 : k;
    }
}

template <class Rows>
void GridRows::read_again(Context& ctx, const Rows& rows) {
  rows.validate(unknowns());
  const FixedRows is_fixed(ctx, rows, unknowns());
  std::size_t position = 0;
  for (int k = 0; k < unknowns(); ++k) {
    const bool was = position < fixed.size() && fixed[position] == k, is = is_fixed(k);
    expects(was == is, "row ", k, is ? " holds nothing but its diagonal now" : " held nothing but its diagonal before",
            ": make another solver for this matrix");
    if (was) ++position;
  }
  const Places places(*this, numbering);
  HostBands bands(ctx, a);
  const Seen seen = read_bands(ctx, rows, places, is_fixed, *this, bands);
  if (seen.fault.kind != Fault::none) refuse(seen.fault, numbering, *this);
  expects((periodic_x || !seen.across_x) && (periodic_y || !seen.across_y),
          "the matrix couples both ends of a direction now: make another solver for it");
  scale_fixed(places, seen.eliminated, is_fixed, *this, bands);
  if (symmetric) {
    const Asymmetry apart = asymmetry(ctx, rows, places, is_fixed, *this, bands);
    expects(apart.size <= (bands.has_nine() ? as_symmetric_as_it_gets : as_symmetric_as_five_bands),
            "the matrix was symmetric and is not any more: ", apart.text(), "; make another solver for it");
  }
  parts = parts_of(bands, places, is_fixed, *this);
  expects(parts.is_whole || !singular,
          "the rows of the matrix summed to zero and do not any more: make another solver for it");
  keep_fixed(rows, places, is_fixed, seen.eliminated);
  bands.finish(ctx);
  if (symmetric && parts.largest > 0 && (singular || !parts.is_whole)) zero_row_sums(ctx, parts, a);
}

template <class Index>
GridRows::GridRows(Context& ctx, const RowArrays<Index>& rows, int width, int height, std::span<const int> nodes,
                   const CellCounts& counts, const OnSubdomains& on_subdomains)
    : nx(width), ny(height), cells(counts), node(nodes.begin(), nodes.end()), on_subdomains_(on_subdomains) {
  if (ctx.communicator() != nullptr) {
    read_on_subdomains(ctx, rows);
  } else {
    expects_grid(nx, ny);
    read(ctx, CsrRows<Index>{rows});
  }
}

GridRows::GridRows(Context& ctx, const BandArrays& bands, int width, int height, const CellCounts& counts,
                   const OnSubdomains& on_subdomains)
    : nx(width), ny(height), cells(counts), on_subdomains_(on_subdomains) {
  if (ctx.communicator() != nullptr) {
    const SparseRows own = rows_of_lines(*ctx.communicator(), bands, nx, height);
    ny = own.columns / nx;
    read_on_subdomains(ctx, RowArrays<std::int32_t>{own.start, own.column, own.value});
  } else {
    expects_grid(nx, ny);
    read(ctx, WholeBands(bands, nx, ny));
  }
}

template <class Index>
void GridRows::update(Context& ctx, const RowArrays<Index>& rows) {
  if (moved == nullptr) return read_again(ctx, CsrRows<Index>{rows});
  GridRows now(ctx, rows, nx, ny, node, cells, on_subdomains_);
  expects(now.symmetric == symmetric && now.a.format() == a.format() && now.scales.empty() == scales.empty(),
          "the matrix was ",
          symmetric ? "symmetric and is not any more: " + now.unsymmetric : "not symmetric and is now",
          "; make another solver for it");
  expects(now.singular || !singular,
          "the rows of the matrix summed to zero and do not any more: make another solver for it");
  const auto comm = ctx.communicator();
  const auto same = comm->gather_on_host(now.fixed == fixed && now.lifted_node == lifted_node ? 1 : 0);
  expects(std::find(same.begin(), same.end(), 0) == same.end() && now.numbering == numbering &&
              now.periodic_x == periodic_x && now.periodic_y == periodic_y && now.west == west && now.east == east &&
              now.south == south && now.north == north,
          "rows of the matrix are coupled to others than before: make another solver for it");
  now.singular = singular;
  *this = std::move(now);
}
void GridRows::update(Context& ctx, const BandArrays& bands) {
  if (moved == nullptr) return read_again(ctx, WholeBands(bands, nx, ny));
  const SparseRows own = rows_of_lines(*ctx.communicator(), bands, nx, unknowns() / nx);
  update(ctx, RowArrays<std::int32_t>{own.start, own.column, own.value});
}

TensorMesh<2> GridRows::mesh(const std::vector<double>& widths_x, const std::vector<double>& widths_y) const {
  const Axis x(widths_of(widths_x, left_nx, west, east, "x")), y(widths_of(widths_y, left_ny, south, north, "y"));
  return {x.with_boundaries(west, east), y.with_boundaries(south, north), "of a matrix"};
}

template GridRows::GridRows(Context&, const RowArrays<std::int32_t>&, int, int, std::span<const int>, const CellCounts&,
                            const OnSubdomains&);
template GridRows::GridRows(Context&, const RowArrays<std::int64_t>&, int, int, std::span<const int>, const CellCounts&,
                            const OnSubdomains&);
template void GridRows::update(Context&, const RowArrays<std::int32_t>&);
template void GridRows::update(Context&, const RowArrays<std::int64_t>&);

}  // namespace stratum
