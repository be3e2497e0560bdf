#pragma once

// What GridRows and what it reads by share: how exact things must be, what is wrong with a row, sides.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/structured/grid_rows.hpp>

namespace stratum::detail {

inline constexpr double as_symmetric_as_five_bands = 8 * std::numeric_limits<double>::epsilon();
inline constexpr double as_symmetric_as_it_gets = 1e-12;
inline constexpr double sums_to_zero = 16 * std::numeric_limits<double>::epsilon();  // of what a row holds

/// Of a node's row, by band_index(dx, dy).
using Stencil = std::array<double, 9>;

/// What a row holds beside its diagonal, in magnitude, that x_k = b_k / a_kk may leave out: less than any tolerance asks for,
/// and all that a norm would still see of other rows beside such a one.
inline constexpr double nothing_beside = 1e-13;

/// Of a row whose other entries sum up to this in magnitude: there are none, or none that matter, as where a penalty of 10^30
/// stands for a Dirichlet value.
inline bool is_alone(double diagonal, double others) {
  return diagonal != 0 && std::isfinite(diagonal) && others <= nothing_beside * std::abs(diagonal);
}

/// What a fixed node on the grid that nothing couples to has on its diagonal, of the least diagonal there is. Coarse levels
/// spread it over what lies beside: as a solid that conducts next to nothing, not as one that holds zero.
inline constexpr double next_to_nothing = 1e-10;

/// Throws UsageError for arrays that are not n rows.
template <class Index>
void validate(const RowArrays<Index>& a, int n) {
  expects(a.start.size() == static_cast<std::size_t>(n) + 1, "a matrix on a grid of ", n, " nodes has ", n,
          " rows and one row start more, not ", a.start.size());
  expects(a.column.size() == a.value.size(), "there are ", a.column.size(), " columns for ", a.value.size(), " values");
  expects(a.start.front() == 0 && static_cast<std::size_t>(a.start.back()) == a.value.size(),
          "row starts must go from 0 to ", a.value.size(), ", not from ", a.start.front(), " to ", a.start.back(),
          a.start.front() == 1 ? "; rows and columns are counted from 0" : "");
  expects_increasing<Index>(a.start);
}

/// The rows of bands, nine or the five from the centre on, whose lines are all of the grid's or some of them.
struct BandRows {
  std::span<const double> bands;
  int nx, ny, count;
  int lines, first = 0;                // that the bands have, and the grid's number of the first
  std::span<const double> below = {};  // three bands of the line below it, towards it; empty: it is among these lines

  BandRows(const BandArrays& a, int width, int height) : bands(a.bands), nx(width), ny(height), lines(height) {
    const auto n = static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny);
    expects(bands.size() == 9 * n || bands.size() == 5 * n, "bands on a grid of ", nx, " x ", ny,
            " nodes are 9 or 5 times ", n, " numbers, not ", bands.size());
    count = bands.size() == 9 * n ? 9 : 5;
  }
  /// Of the band (dx, dy) at column i of line j, which are among these.
  [[nodiscard]] double number(int dx, int dy, int i, int j) const {
    const auto band = static_cast<std::size_t>(band_index(dx, dy) + count - 9);
    return bands[(band * static_cast<std::size_t>(lines) + static_cast<std::size_t>(j)) * static_cast<std::size_t>(nx) +
                 static_cast<std::size_t>(i)];
  }
  /// f(column, value) of row k of these lines.
  template <class F>
  void for_entries(int k, const F& f) const {
    const int i = k % nx, j = k / nx;
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int p = (i + dx + nx) % nx;
        double value = 0;
        if (count == 9 || band_index(dx, dy) >= 4)
          value = number(dx, dy, i, j);
        else if (j + dy >= 0 || below.empty())
          value = number(-dx, -dy, p, (j + dy + lines) % lines);
        else
          value = below[static_cast<std::size_t>(1 - dx) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(p)];
        if (value != 0) f(std::int64_t{(first + j + dy + ny) % ny} * nx + p, value);
      }
  }
};

/// Rows of a subdomain whose bands are those of its own lines, which follow the lines of the subdomains before; columns are
/// numbers of the whole matrix. Throws UsageError on all subdomains.
SparseRows rows_of_lines(Communicator& comm, const BandArrays& a, int nx, int lines);

/// What is wrong with a row, the first of all.
struct Fault {
  enum Kind : std::uint8_t { none, column, infinite, no_neighbour, diagonal } kind = none;
  int row = std::numeric_limits<int>::max();
  std::int64_t other = 0;
  double value = 0;

  void take(const Fault& fault) {
    if (fault.kind != none && fault.row < row) *this = fault;
  }
};

[[noreturn]] inline void refuse(const Fault& fault, Numbering numbering, const GridRows& g) {
  switch (fault.kind) {
    case Fault::column:
      throw UsageError(message("row ", fault.row, " has an entry in column ", fault.other, " of ", g.nx, " x ", g.ny,
                               " = ", std::int64_t{g.nx} * g.ny, " unknowns"));
    case Fault::infinite:
      throw UsageError(message("row ", fault.row, " has the entry ", fault.value, " in column ", fault.other));
    case Fault::diagonal:
      throw UsageError(message("row ", fault.row, " has the diagonal entry ", fault.value,
                               "; all must be positive, or all negative"));
    case Fault::no_neighbour:
    case Fault::none: break;
  }
  throw UsageError(
      message("row ", fault.row, " couples to ", fault.other, ", which is no neighbour of it on a grid of ", g.nx,
              " x ", g.ny, " nodes ",
              numbering == Numbering::given
                  ? "in the order that is given"
                  : "numbered along x or along y; of another order, give the node j nx + i of every unknown"));
}

/// Boundaries that hold nothing but fixed nodes are left off the grid; the others are Neumann or Robin until more is known.
inline void leave_off(GridRows& g, bool all_west, bool all_east, bool all_south, bool all_north) {
  const auto end = [](bool periodic, bool off) {
    return periodic ? BoundaryType::periodic : off ? BoundaryType::dirichlet : BoundaryType::neumann;
  };
  g.west = end(g.periodic_x, all_west);
  g.east = end(g.periodic_x, all_east);
  g.south = end(g.periodic_y, all_south);
  g.north = end(g.periodic_y, all_north);
  g.first_i = g.west == BoundaryType::dirichlet ? 1 : 0;
  g.first_j = g.south == BoundaryType::dirichlet ? 1 : 0;
  g.left_nx = g.nx - g.first_i - (g.east == BoundaryType::dirichlet ? 1 : 0);
  g.left_ny = g.ny - g.first_j - (g.north == BoundaryType::dirichlet ? 1 : 0);
}

/// Both ends of a direction by the number of its cells. False: it does not tell.
inline bool told_by_cells(int count, int nodes, BoundaryType& first, BoundaryType& last) {
  const int open = (first == BoundaryType::neumann ? 1 : 0) + (last == BoundaryType::neumann ? 1 : 0);
  if (count == 0 || (count != nodes - 1 && count != nodes - 1 + open)) return false;
  for (BoundaryType* const end : {&first, &last})
    if (*end == BoundaryType::neumann && count != nodes - 1) *end = BoundaryType::dirichlet;
  return true;
}

/// What the nodes along one of the grid's boundaries say about it, each with the weight of what couples it inwards: "Dirichlet"
/// where its row sums to a tenth of that or more, less the sum of the row behind it. Where a node is held by more than can
/// lie in a cell beyond the boundary, as by a penalty, it is itself what is given, and nothing lies beyond.
struct BoundarySums {
  double dirichlet = 0, all = 0;

  void add(double excess, double coupling) {
    constexpr double least = 0.1, held = 50;
    const double weight = std::abs(coupling);
    all += weight;
    if (coupling > 0 ? excess >= least * weight && excess <= held * weight : excess > 0) dirichlet += weight;
  }
  void add(const BoundarySums& other) {
    dirichlet += other.dirichlet;
    all += other.all;
  }
  /// Of mixed boundaries coarse levels do better with the nodes that there are.
  [[nodiscard]] BoundaryType end() const {
    constexpr double nearly_all = 0.95;
    return all > 0 && dirichlet < nearly_all * all ? BoundaryType::neumann : BoundaryType::dirichlet;
  }
};

/// Node k of n along a boundary is a corner, whose row belongs to two of them: it is not asked where others are there.
inline bool is_corner(int k, int n, bool periodic) { return !periodic && n > 2 && (k == 0 || k + 1 == n); }

/// The bands of an operator, nine or the last five, where the host can write them: its own memory, or for a GPU copies of it.
class HostBands {
 public:
  HostBands(Context& ctx, GridOperator<double>& a) : on_gpu_(ctx.on_gpu()), a_(a) {
    each([&](std::size_t band, Field<double>& stored) {
      const FieldView<double> view = stored.view();
      pitch_ = on_gpu_ ? view.nx : view.pitch;
      if (on_gpu_) staged_[band].resize(static_cast<std::size_t>(view.nodes()));
      band_[band] = on_gpu_ ? staged_[band].data() : view.data;
    });
  }
  [[nodiscard]] bool has_nine() const { return band_[0] != nullptr; }
  void store(int i, int j, const Stencil& v) {
    for (std::size_t b = has_nine() ? 0 : 4; b < 9; ++b) band_[b][j * pitch_ + i] = v[b];
  }
  [[nodiscard]] double& operator()(int band, int i, int j) const {
    return band_[static_cast<std::size_t>(band)][j * pitch_ + i];
  }
  /// To where the operator reads them.
  void finish(Context& ctx) {
    each([&](std::size_t band, Field<double>& stored) {
      if (on_gpu_) copy_from_host(ctx, staged_[band].data(), stored.view());
      exchange(ctx, stored);
    });
  }

 private:
  template <class Use>
  void each(const Use& use) {
    const auto bands_of = [&](auto& format, std::size_t first) {
      for (std::size_t k = 0; k < format.band.size(); ++k) use(first + k, format.band[k]);
    };
    if (auto* nine = std::get_if<NineBandMatrix<double>>(&a_.storage()))
      bands_of(*nine, 0);
    else
      bands_of(std::get<SymmetricNineBand<double>>(a_.storage()), 4);
  }
  bool on_gpu_;
  GridOperator<double> a_;
  std::int64_t pitch_ = 0;
  std::array<double*, 9> band_{};
  std::array<std::vector<double>, 9> staged_;
};

}  // namespace stratum::detail
