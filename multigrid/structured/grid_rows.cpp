#include <stratum/multigrid/structured/grid_rows.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

#include <stratum/core/comm/faults.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/hierarchy.hpp>
#include <stratum/multigrid/structured/read_rows.hpp>
#include <stratum/multigrid/structured/rows_as_given.hpp>
#include <stratum/multigrid/structured/scaled_rows.hpp>

namespace stratum {

namespace {

using namespace detail;

/// |a_km - a_mk| / sqrt(a_kk a_mm), and where.
struct Asymmetry {
  double size = 0;
  int row = 0, other = 0;
  double there = 0, back = 0;

  void take(const Asymmetry& candidate) {
    if (candidate.size > size) *this = candidate;
  }
};

/// One line's widths.
std::vector<double> widths_of(const std::vector<double>& given, int nodes, BoundaryType first, BoundaryType last,
                              const char* direction) {
  const int count = first == BoundaryType::periodic ? nodes
                                                    : nodes - 1 + (first == BoundaryType::dirichlet ? 1 : 0) +
                                                          (last == BoundaryType::dirichlet ? 1 : 0);
  if (given.empty()) return std::vector<double>(at(std::max(count, 1)), 1.0);
  expects(static_cast<int>(given.size()) == count, "in ", direction, " the matrix has ", nodes, " nodes between ",
          to_string(first), " and ", to_string(last), " boundaries, which are ", count, " intervals; widths of ",
          given.size(), " are given");
  return given;
}

/// What is detected of rows, step by step; of a grid on subdomains all take them together.
class Detection {
 public:
  Detection(Context& ctx, GridRows& g, const OnSubdomains& on_subdomains)
      : ctx_(ctx), g_(g), on_subdomains_(on_subdomains), comm_(ctx.communicator()),
        rank_(comm_ == nullptr ? 0 : comm_->rank()) {}

  template <class Rows>
  void detect(const Rows& rows) {
    const bool is_given = check(rows);
    g_.numbering = is_given ? Numbering::given : Numbering::x_first;
    ReadRows own = read(rows);
    // Without couplings from end to end where some numbering does without: in the others they may be those of another row.
    if (!is_given && !own.seen.is_clean()) {
      const Fault of_x = own.seen.fault;
      if (of_x.kind != Fault::none && of_x.kind != Fault::no_neighbour) refuse(of_x, g_.numbering, g_);
      g_.numbering = Numbering::y_first;
      ReadRows along_y = read(rows);
      if (along_y.seen.is_clean() || (of_x.kind != Fault::none && along_y.seen.fault.kind == Fault::none)) {
        own = std::move(along_y);
      } else {
        g_.numbering = Numbering::x_first;
        make_places();
      }
    }
    const Seen seen = own.seen;
    if (seen.fault.kind != Fault::none) refuse(seen.fault, g_.numbering, g_);
    g_.periodic_x = seen.across_x;
    g_.periodic_y = seen.across_y;
    g_.fixed_in_all = seen.fixed;
    const std::vector<FarEntry> far = std::move(own.far);
    const auto& [west, east, south, north] = seen.fixed_on;
    // Of a diagonal matrix something must be left.
    const bool off = g_.fixed_in_all < g_.nx * g_.ny;
    leave_off(g_, off && west == g_.ny, off && east == g_.ny, off && south == g_.nx, off && north == g_.nx);
    const GridLayout<2> shape = place(own);
    take(far);
    g_.a = bands_for(shape, true);
    const Asymmetry apart = store(g_.a, true);
    g_.symmetric = apart.size <= as_symmetric_as_it_gets;
    if (!g_.symmetric) g_.unsymmetric = text(apart);
    if (!(apart.size <= as_symmetric_as_five_bands)) {
      g_.a = bands_for(shape, false);
      store(g_.a);
    }
    if (!g_.symmetric && on_subdomains_.scale_to_symmetry && scale(g_.a)) {
      g_.symmetric = true;
      g_.a = bands_for(shape, true);
      store(g_.a);
    }
    find_parts();
    g_.singular = g_.parts.is_whole;
    if (g_.symmetric && g_.parts.largest > 0) zero_row_sums(ctx_, g_.parts, g_.a);
    if (comm_ != nullptr) {
      halo_ = any_of_all(comm_, has_eliminated()) ? 1 : 0;
      g_.moved = std::make_shared<Redistribution>(*comm_, node_, g_.nx, cut_, halo_, g_.periodic_y);
    }
    keep_fixed();
    keep_unknowns();
  }

  /// Other values at the same places: what was detected is to hold.
  template <class Rows>
  void update(const Rows& rows) {
    (void)check(rows);
    ReadRows own = read(rows);
    const Seen seen = own.seen;
    if (seen.fault.kind != Fault::none) refuse(seen.fault, g_.numbering, g_);
    expects((g_.periodic_x || !seen.across_x) && (g_.periodic_y || !seen.across_y),
            "the matrix couples both ends of a direction now: make another solver for it");
    const std::vector<FarEntry> far = std::move(own.far);
    if (g_.moved != nullptr) {
      cut_ = g_.moved->cut();
      halo_ = (static_cast<int>(g_.moved->subdomain_size()) / g_.nx - (cut_[at(rank_) + 1] - cut_[at(rank_)])) / 2;
      bring(own);
    } else {
      bring_whole(std::move(own));
    }
    take(far);
    begin_ = std::max(cut_[at(rank_)], g_.first_j);
    end_ = begin_ + g_.a.shape().ny;
    expects_fixed_as_before();
    if (!g_.scales.empty()) {
      GridOperator<double> unscaled = bands_for(g_.a.shape(), false);
      store(unscaled);
      expects(scale(unscaled),
              "the rows of the matrix cannot be scaled to symmetry any more: make another solver for it");
    }
    const Asymmetry apart = store(g_.a, true);
    const double most =
        g_.a.format() == StorageFormat::nine_band ? as_symmetric_as_it_gets : as_symmetric_as_five_bands;
    expects(!g_.symmetric || !g_.scales.empty() || apart.size <= most,
            "the matrix was symmetric and is not any more: ", text(apart), "; make another solver for it");
    find_parts();
    expects(g_.parts.is_whole || !g_.singular,
            "the rows of the matrix summed to zero and do not any more: make another solver for it");
    expects(comm_ == nullptr || halo_ > 0 || !any_of_all(comm_, has_eliminated()),
            "rows of the matrix are coupled to others than before: make another solver for it");
    keep_fixed();
    if (g_.symmetric && g_.parts.largest > 0 && (g_.singular || !g_.parts.is_whole))
      zero_row_sums(ctx_, g_.parts, g_.a);
  }

 private:
  /// Rows, and whether they fit together. Whether nodes are given.
  template <class Rows>
  bool check(const Rows& rows) {
    cut_ = {0, g_.ny};
    if (comm_ == nullptr) {
      const int n = g_.nx * g_.ny;
      expects(g_.node.empty() || static_cast<int>(g_.node.size()) == n, "there are ", g_.node.size(),
              " nodes given for ", n, " unknowns");
      rows.validate(n);
      return !g_.node.empty();
    }
    const std::int64_t count = rows.count();
    std::int64_t in_all = 0;
    const auto counts = comm_->gather_on_host(count);
    first_row_ = std::accumulate(counts.begin(), counts.begin() + rank_, std::int64_t{0});
    in_all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    std::string fault;
    try {
      expects(count >= 0, "a matrix without rows has one row start, not none");
      expects(g_.node.empty() || static_cast<std::int64_t>(g_.node.size()) == count, "there are ", g_.node.size(),
              " nodes given for ", count, " rows");
      rows.validate(static_cast<int>(count));
    } catch (const UsageError& error) {
      fault = message("rank ", rank_, ": ", error.what());
    }
    refuse_on_all(*comm_, fault);
    const bool is_given = any_of_all(comm_, !g_.node.empty());
    expects(in_all == std::int64_t{g_.nx} * g_.ny, "a matrix on a grid of ", g_.nx, " x ", g_.ny, " nodes has ",
            std::int64_t{g_.nx} * g_.ny, " rows, not ", in_all, " on all ranks");
    refuse_on_all(*comm_, is_given && g_.node.empty() && count > 0
                              ? message("rank ", rank_, " gives no nodes of its rows, and others do")
                              : std::string());
    return is_given;
  }
  void make_places() { places_.emplace(g_, g_.numbering, comm_ != nullptr, static_cast<int>(first_row_)); }
  /// By the numbering that is to be tried.
  template <class Rows>
  ReadRows read(const Rows& rows) {
    make_places();
    own_rows_ = rows.count();
    return read_rows(ctx_, rows, *places_, g_);
  }

  /// To their nodes, on lines that a subdomain has: where the hierarchy cuts the grid, for which the sides are to be known. To
  /// see these, any lines will do.
  GridLayout<2> place(ReadRows& own) {
    if (comm_ == nullptr) {
      bring_whole(std::move(own));
      decide_ends();
      begin_ = g_.first_j;
      end_ = begin_ + g_.left_ny;
      return {g_.left_nx,
              g_.left_ny,
              g_.west == BoundaryType::dirichlet ? 1 : 0,
              g_.south == BoundaryType::dirichlet ? 1 : 0,
              g_.periodic_x,
              g_.periodic_y};
    }
    const int count = comm_->size();
    cut_.clear();
    for (int r = 0; r <= count; ++r) cut_.push_back(static_cast<int>(std::int64_t{g_.ny} * r / count));
    bring(own);
    decide_ends();
    const TensorMesh<2> grid = g_.mesh({}, {});
    const GridLayout<2> shape = PartitionLevels(ctx_, mesh_hierarchy(grid), on_subdomains_.distributed_levels).finest();
    auto begins = comm_->gather_on_host(shape.origin_y - grid.unknowns().origin_y + g_.first_j);
    begin_ = begins[at(rank_)];
    end_ = begin_ + shape.ny;
    begins.front() = 0;
    begins.push_back(g_.ny);
    if (begins != cut_) {
      cut_ = begins;
      bring(own);
    }
    return shape;
  }
  /// To the lines of `cut_`.
  void bring(const ReadRows& own) {
    constexpr int halo = 2;
    node_.clear();
    for (int k = 0; k < own_rows_; ++k) {
      const Place here = places_->of(places_->name(k));
      node_.push_back(here.j * g_.nx + here.i);
    }
    wide_.emplace(*comm_, node_, g_.nx, cut_, halo, g_.periodic_y);
    nodes_.reset();  // makes room
    nodes_.emplace(*comm_, own, g_, *wide_, halo);
    towards_fixed_ = nodes_->take_fixed();
  }
  void bring_whole(ReadRows&& own) {
    nodes_.emplace(std::move(own), g_);
    towards_fixed_ = nodes_->take_fixed();
  }
  void take(const std::vector<FarEntry>& far) {
    for (const FarEntry& entry : far) {
      const Place here = places_->of(entry.row), there = places_->of(entry.unknown);
      towards_fixed_.push_back({nodes_->number(here.i, here.j), nodes_->number(there.i, there.j), entry.value});
    }
    std::stable_sort(towards_fixed_.begin(), towards_fixed_.end(),
                     [](const FixedEntry& a, const FixedEntry& b) { return a.row < b.row; });
  }
  /// The grid's number of line 0.
  [[nodiscard]] int first() const { return cut_[at(rank_)]; }
  /// Own nodes that are left, x first: use(i, line).
  template <class Use>
  void for_each(const Use& use) const {
    for (int j = begin_; j < end_; ++j)
      for (int i = g_.first_i; i < g_.first_i + g_.left_nx; ++i) use(i, j - first());
  }
  [[nodiscard]] int parts() const {
    return std::max(1, std::min(parts_of(ctx_, g_.left_nx * (end_ - begin_)), end_ - begin_));
  }
  /// How an unknown is called: an end of a periodic direction may have been passed.
  [[nodiscard]] int name(int i, int line) const {
    return places_->unknown((i + g_.nx) % g_.nx, (line + first() + g_.ny) % g_.ny);
  }

  /// Row sums and couplings across the sides.
  void decide_ends() {
    std::array<BoundarySums, 4> own{};
    const int last_j = g_.first_j + g_.left_ny - 1, last_i = g_.first_i + g_.left_nx - 1;
    const auto add = [&](BoundarySums& sums, int i, int j, int dx, int dy, int count) {
      if (count < 2) return;
      const Stencil &here = nodes_->row(i, j - first()), &behind = nodes_->row(i + dx, j + dy - first());
      double inside = 0;
      for (int along = -1; along <= 1; ++along)
        inside -= here[at(dx != 0 ? band_index(dx, along) : band_index(along, dy))];
      if (inside == 0) return;  // decoupled
      double excess = std::accumulate(here.begin(), here.end(), 0.0);
      if (count > 2) excess -= std::accumulate(behind.begin(), behind.end(), 0.0);
      sums.add(excess, inside);
    };
    for (int j = std::max(first(), g_.first_j); j < std::min(cut_[at(rank_) + 1], last_j + 1); ++j) {
      if (!is_corner(j - g_.first_j, g_.left_ny, g_.periodic_y)) {
        add(own[0], g_.first_i, j, 1, 0, g_.left_nx);
        add(own[1], last_i, j, -1, 0, g_.left_nx);
      }
      if (j != g_.first_j && j != last_j) continue;
      for (int i = g_.first_i; i <= last_i; ++i) {
        if (is_corner(i - g_.first_i, g_.left_nx, g_.periodic_x)) continue;
        if (j == g_.first_j) add(own[2], i, j, 0, 1, g_.left_ny);
        if (j == last_j) add(own[3], i, j, 0, -1, g_.left_ny);
      }
    }
    std::array<BoundarySums, 4> all{};
    for (const auto& there : of_all(comm_, own))
      for (std::size_t side = 0; side < 4; ++side) all[side].add(there[side]);
    const auto decide = [&](BoundaryType& side, const BoundarySums& sums) {
      if (side == BoundaryType::neumann) side = sums.end();
    };
    if (!told_by_cells(g_.cells.x, g_.nx, g_.west, g_.east)) {
      decide(g_.west, all[0]);
      decide(g_.east, all[1]);
    }
    if (!told_by_cells(g_.cells.y, g_.ny, g_.south, g_.north)) {
      decide(g_.south, all[2]);
      decide(g_.north, all[3]);
    }
  }

  [[nodiscard]] std::string text(const Asymmetry& apart) const {
    const std::string row = comm_ == nullptr                   ? "row "
                            : g_.numbering == Numbering::given ? "the row of node "
                                                               : "the row of unknown ";
    return message(row, apart.row, " has ", apart.there, " in column ", apart.other, ", and ", row, apart.other,
                   " has ", apart.back, " in column ", apart.row);
  }

  [[nodiscard]] GridOperator<double> bands_for(const GridLayout<2>& shape, bool five) const {
    if (five) return SymmetricNineBand<double>(ctx_, shape);
    return NineBandMatrix<double>(ctx_, shape);
  }
  /// What the row of a node is multiplied by.
  [[nodiscard]] double scale_of(std::size_t number) const { return d_.empty() ? 1.0 : d_[number]; }
  [[nodiscard]] Stencil scaled_row(int i, int line) const {
    Stencil v = nodes_->row(i, line);
    if (!d_.empty())
      for (double& entry : v) entry *= scale_of(nodes_->number(i, line));
    return v;
  }
  /// What fixed nodes have on the diagonal, by numbers: their own may have any size. They get what couples to them, or next to
  /// nothing.
  [[nodiscard]] std::vector<double> diagonals_of_fixed() const {
    if (g_.fixed_in_all == 0) return {};
    double least = std::numeric_limits<double>::infinity();
    for_each([&](int i, int line) {
      if (!nodes_->is_fixed(i, line)) least = std::min(least, nodes_->entry(0, 0, i, line));
    });
    for (const double of_subdomain : of_all(comm_, least)) least = std::min(least, of_subdomain);
    const double alone = std::isfinite(least) ? next_to_nothing * least : 1.0;
    std::vector<double> diagonals(nodes_->size());
    for (const FixedEntry& entry : towards_fixed_)
      diagonals[entry.fixed] += std::abs(entry.value) * scale_of(entry.row);
    std::replace(diagonals.begin(), diagonals.end(), 0.0, alone);
    return diagonals;
  }
  /// The rows to the bands of a; where that is asked for, how far they are from symmetric.
  Asymmetry store(GridOperator<double>& a, bool compares = false) const {
    HostBands bands(ctx_, a);
    const std::vector<double> diagonals = diagonals_of_fixed();
    std::vector<Asymmetry> largest(at(parts()));
    in_parts(end_ - begin_, parts(), [&](int part, int from, int to) {
      Asymmetry mine;
      for (int j = begin_ + from; j < begin_ + to; ++j)
        for (int i = g_.first_i; i < g_.first_i + g_.left_nx; ++i) {
          const int line = j - first();
          if (nodes_->is_fixed(i, line)) {
            Stencil v{};
            v[4] = diagonals[nodes_->number(i, line)];
            bands.store(i - g_.first_i, j - begin_, v);
          } else {
            if (compares) mine.take(asymmetry(i, line));
            bands.store(i - g_.first_i, j - begin_, d_.empty() ? nodes_->row(i, line) : scaled_row(i, line));
          }
        }
      largest[at(part)] = mine;
    });
    bands.finish(ctx_);
    Asymmetry mine, all;
    for (const auto& part : largest) mine.take(part);
    for (const auto& there : of_all(comm_, mine)) all.take(there);
    return all;
  }
  /// Of the row of a free node and those before it.
  [[nodiscard]] Asymmetry asymmetry(int i, int line) const {
    Asymmetry largest;
    const Stencil& v = nodes_->row(i, line);
    for (int band = 0; band < 4; ++band) {
      const int dx = band % 3 - 1, dy = band / 3 - 1, p = i + dx, q = line + dy;
      if (!g_.periodic_x && (p < g_.first_i || p >= g_.first_i + g_.left_nx)) continue;
      if (!g_.periodic_y && q + first() < g_.first_j) continue;
      const double there = v[at(band)], back = nodes_->entry(-dx, -dy, p, q);
      if (there == back) continue;
      const double size = std::abs(there - back) / std::sqrt(v[4] * nodes_->entry(0, 0, p, q));
      largest.take({size, name(i, line), name(p, q), there, back});
    }
    return largest;
  }
  /// Finds scales that make A, stored without, symmetric.
  bool scale(const GridOperator<double>& a) {
    const auto found = scales_to_symmetry(ctx_, a);
    if (found.empty()) return false;
    std::vector<double> d(nodes_->size(), 1.0);
    std::size_t next = 0;
    for_each([&](int i, int line) { d[nodes_->number(i, line)] = found[next++]; });
    g_.scales.resize(at(own_rows_));
    if (comm_ == nullptr) {
      for (int k = 0; k < own_rows_; ++k) {
        const Place here = places_->of(k);
        g_.scales[at(k)] = d[nodes_->number(here.i, here.j)];
      }
    } else {
      wide_->to_own(*comm_, d, g_.scales);
      wide_->to_subdomain(*comm_, g_.scales, d);
    }
    d_ = std::move(d);
    return true;
  }
  void find_parts() {
    const int first_line = begin_ - first();
    g_.parts = parts_that_matter(
        singular_parts(comm_, {g_.left_nx, end_ - begin_, begin_ - g_.first_j, g_.left_ny, g_.periodic_x, g_.periodic_y,
                               [&](int i, int j) { return scaled_row(i + g_.first_i, first_line + j); },
                               [&](int i, int j) { return nodes_->is_fixed(i + g_.first_i, first_line + j); }}),
        g_.symmetric);
  }

  /// Column and own line of a node by its number in RowsAtNodes.
  [[nodiscard]] Place place_of(std::size_t number) const {
    return {static_cast<int>(number) % g_.nx, static_cast<int>(number) / g_.nx - nodes_->halo()};
  }
  [[nodiscard]] bool is_own(const Place& here) const {
    return here.j + first() >= begin_ && here.j + first() < end_ && here.i >= g_.first_i &&
           here.i < g_.first_i + g_.left_nx;
  }
  [[nodiscard]] bool has_eliminated() const {
    return std::any_of(towards_fixed_.begin(), towards_fixed_.end(),
                       [&](const FixedEntry& entry) { return is_own(place_of(entry.row)); });
  }
  /// The unknown of a node: on subdomains its number in the subdomain's lines, with those beside them.
  [[nodiscard]] int number(int i, int line) const {
    if (comm_ == nullptr) return name(i, line);
    return (line + halo_) * g_.nx + (i + g_.nx) % g_.nx;
  }
  void keep_fixed() {
    g_.fixed.clear();
    g_.fixed_diagonal.clear();
    g_.eliminated = SparseRows();
    g_.eliminated.columns = comm_ == nullptr ? g_.nx * g_.ny : static_cast<int>(g_.moved->subdomain_size());
    g_.lifted_node.clear();
    if (g_.fixed_in_all == 0) return;
    for (int line = -halo_; line < nodes_->lines() + halo_; ++line)
      for (int i = 0; i < g_.nx; ++i)
        if (nodes_->is_fixed(i, line)) {
          g_.fixed.push_back(number(i, line));
          g_.fixed_diagonal.push_back(nodes_->entry(0, 0, i, line));
        }
    for (const FixedEntry& entry : towards_fixed_) {
      const Place here = place_of(entry.row), there = place_of(entry.fixed);
      if (!is_own(here)) continue;
      const int node = (here.j + first() - begin_) * g_.left_nx + here.i - g_.first_i;
      if (g_.lifted_node.empty() || node != g_.lifted_node.back()) {
        g_.lifted_node.push_back(node);
        g_.eliminated.start.push_back(static_cast<int>(g_.eliminated.value.size()));
      }
      g_.eliminated.column.push_back(number(there.i, there.j));
      g_.eliminated.value.push_back(entry.value * scale_of(entry.row));
      g_.eliminated.start.back() = static_cast<int>(g_.eliminated.value.size());
    }
    g_.eliminated.rows = static_cast<int>(g_.lifted_node.size());
  }
  void keep_unknowns() {
    g_.unknown.clear();
    const bool in_order = comm_ == nullptr ? g_.numbering == Numbering::x_first : halo_ == 0;
    if (in_order && g_.fixed_in_all == 0) return;
    for_each([&](int i, int line) { g_.unknown.push_back(nodes_->is_fixed(i, line) ? -1 : number(i, line)); });
  }
  void expects_fixed_as_before() const {
    std::string fault;
    for (int line = -halo_, next = 0; line < nodes_->lines() + halo_; ++line)
      for (int i = 0; i < g_.nx; ++i) {
        const bool was_fixed = next < static_cast<int>(g_.fixed.size()) && g_.fixed[at(next)] == number(i, line);
        next += was_fixed ? 1 : 0;
        if (const bool is = nodes_->is_fixed(i, line); was_fixed != is && fault.empty())
          fault = message("row ", name(i, line),
                          is ? " holds nothing but its diagonal now" : " held nothing but its diagonal before",
                          ": make another solver for this matrix");
      }
    if (comm_ == nullptr)
      expects(fault.empty(), fault);
    else
      refuse_on_all(*comm_, fault);
  }

  Context& ctx_;
  GridRows& g_;
  const OnSubdomains& on_subdomains_;
  Communicator* const comm_;
  const int rank_;
  std::int64_t first_row_ = 0;
  int own_rows_ = 0;
  std::optional<Places> places_;
  std::vector<int> cut_, node_;         // lines where subdomains begin; nodes of own rows
  int halo_ = 0, begin_ = 0, end_ = 0;  // lines beside the subdomain's; its lines of the grid that is left
  std::optional<Redistribution> wide_;
  std::optional<RowsAtNodes> nodes_;
  std::vector<FixedEntry> towards_fixed_;
  std::vector<double> d_;  // scales of nodes; empty: none
};

}  // namespace

void expects_grid(int nx, int ny) {
  expects(nx >= 1 && ny >= 1 && std::int64_t{nx} * ny <= std::numeric_limits<int>::max(),
          "a grid must have 1 x 1 to 2^31 - 1 nodes, not ", nx, " x ", ny);
}

template <class Index>
GridRows::GridRows(Context& ctx, const RowArrays<Index>& rows, int width, int height, std::span<const int> nodes,
                   const CellCounts& counts, const OnSubdomains& on_subdomains)
    : nx(width), ny(height), cells(counts), node(nodes.begin(), nodes.end()), on_subdomains_(on_subdomains) {
  if (Communicator* const comm = ctx.communicator(); comm != nullptr) {
    comm->agree("grid of unknowns", message(nx, " x ", ny));
    comm->agree("numbers of cells", message(cells.x, " x ", cells.y));
  }
  expects_grid(nx, ny);
  detail::with_rows_to_read(
      ctx, rows, node, on_subdomains_.triangle, false, negative,
      [&]<class I>(const RowArrays<I>& read) { Detection(ctx, *this, on_subdomains_).detect(CsrRows<I>{read}); });
}

GridRows::GridRows(Context& ctx, const BandArrays& bands, int width, int height, const CellCounts& counts,
                   const OnSubdomains& on_subdomains)
    : nx(width), ny(height), cells(counts), on_subdomains_(on_subdomains) {
  if (ctx.communicator() != nullptr) {
    const SparseRows own = rows_of_lines(*ctx.communicator(), bands, nx, height);
    *this = GridRows(ctx, RowArrays<std::int32_t>{own.start, own.column, own.value}, nx, own.columns / nx, {}, cells,
                     on_subdomains_);
  } else {
    expects_grid(nx, ny);
    detail::with_bands_to_read(
        bands, std::int64_t{nx} * ny, on_subdomains_.triangle, false, negative,
        [&](const BandArrays& read) { Detection(ctx, *this, on_subdomains_).detect(WholeBands(read, nx, ny)); });
  }
}

template <class Index>
void GridRows::update(Context& ctx, const RowArrays<Index>& rows) {
  detail::with_rows_to_read(
      ctx, rows, node, on_subdomains_.triangle, true, negative,
      [&]<class I>(const RowArrays<I>& read) { Detection(ctx, *this, on_subdomains_).update(CsrRows<I>{read}); });
}
void GridRows::update(Context& ctx, const BandArrays& bands) {
  if (moved == nullptr)
    return detail::with_bands_to_read(
        bands, std::int64_t{nx} * ny, on_subdomains_.triangle, true, negative,
        [&](const BandArrays& read) { Detection(ctx, *this, on_subdomains_).update(WholeBands(read, nx, ny)); });
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
