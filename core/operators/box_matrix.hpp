#pragma once

// Matrices on the unknowns of a box that core/operators/box_rows.hpp has rows of, and what is done with all of their rows.
//
//     BoxCells<T>    the Q1 operator of -div(K grad u) + c u with K by cells. Words a cell: 1 (scalar K) or 3.
//     BoxBands<T>    14 bands with ghosts, memory traffic 14 words per unknown. Zero when made; `fill_ghosts` after they are written.
//     BoxFullBands<T>    27 bands, likewise, of a matrix that is not symmetric. Memory traffic 27 words per unknown.
//     BoxMatrix<T>   any of these; copies share their numbers.
//
//     residual         r = b - A u
//     magnitude        || |A| |u| + |b| ||_2, of which 2 eps is the rounding of r
//     backward_error   max_i |b - A u|_i / (|A| max(|u|, least) + |b|)_i
//
// u has ghosts, where Dirichlet faces have their values, or zeros, and periodic directions what lies across (`fill_ghosts`).
// Nothing waits for the stream but norms. Shapes are the caller's duty.
//
// On several ranks a matrix has the rows of its slab and those of planes beside it (BoxSlab). Ghosts of u are then exchanged
// with the ranks beside, and norms are those of all ranks.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field_3d.hpp>
#include <stratum/core/operators/box_operator.hpp>
#include <stratum/core/operators/box_rows.hpp>

namespace stratum {

/// K on the cells of all intervals of the axes (n + 1 a direction), x fastest; yy and zz empty: a scalar K. Outside Neumann and
/// Robin faces it is 1, as k and m of the axes say the rest there; across a periodic direction the cell is the same at both
/// ends.
struct BoxCoefficients {
  std::array<AxisFactors, 3> axes;  // of K = 1
  std::vector<double> xx, yy, zz;
  double reaction = 0;
  BoxSlab slab{};  // of which z has the intervals of all stored planes

  [[nodiscard]] BoxShape shape() const;
};

/// The intervals of z between, before and behind a slab's stored planes, `planes` of which are its own; and their factors.
[[nodiscard]] std::vector<std::size_t> intervals_of(const BoxSlab& slab, int planes);
[[nodiscard]] AxisFactors of_slab(const AxisFactors& z, const BoxSlab& slab, int planes);

template <class T>
class BoxCells {
 public:
  BoxCells() = default;
  /// In a memory dry run K may be empty.
  BoxCells(Context& ctx, const BoxCoefficients& coefficients, bool scalar);
  /// The same in another precision.
  template <class From>
  BoxCells(Context& ctx, const BoxCells<From>& cells);
  [[nodiscard]] const BoxCellRows<T>& rows() const { return rows_; }
  /// Of this one; copies keep theirs.
  void set_reaction(double c) { rows_.reaction = static_cast<T>(c); }

 private:
  template <class>
  friend class BoxCells;
  [[nodiscard]] bool is_scalar() const { return (*k_)[1].empty(); }
  /// Factors of axes of these numbers of intervals, one behind the other.
  void take_numbers(Field<T> numbers);

  std::shared_ptr<std::array<Field<T, 3>, 3>> k_;
  SharedField<T> numbers_;
  BoxCellRows<T> rows_{};
};

/// Rows: BoxBandRows<T> or BoxFullRows<T>.
template <class Rows>
class BoxBandsOf {
 public:
  using T = typename Rows::Number;
  BoxBandsOf() = default;
  BoxBandsOf(Context& ctx, const BoxShape& shape);
  /// The same in another precision.
  template <class From>
  BoxBandsOf(Context& ctx, const BoxBandsOf<From>& bands);

  void fill_ghosts(Context& ctx);
  [[nodiscard]] const Rows& rows() const { return rows_; }
  /// Number 0: what is left of rows.
  [[nodiscard]] FieldView<T, 3> band(int n) const;
  /// With the planes of a slab's neighbours.
  [[nodiscard]] FieldView<T, 3> stored_band(int n) const;

 private:
  std::shared_ptr<Field<T, 3>> numbers_;
  Rows rows_{};
};
template <class T>
using BoxBands = BoxBandsOf<BoxBandRows<T>>;
template <class T>
using BoxFullBands = BoxBandsOf<BoxFullRows<T>>;

enum class BoxGhosts : std::uint8_t { filled, none };

template <class T>
class BoxMatrix {
 public:
  BoxMatrix() = default;
  BoxMatrix(BoxCells<T> cells) : any_(std::move(cells)) {}      // NOLINT(google-explicit-constructor): either is one
  BoxMatrix(BoxBands<T> bands) : any_(std::move(bands)) {}      // NOLINT(google-explicit-constructor)
  BoxMatrix(BoxFullBands<T> bands) : any_(std::move(bands)) {}  // NOLINT(google-explicit-constructor)
  /// The same in another precision.
  template <class From>
  BoxMatrix(Context& ctx, const BoxMatrix<From>& a);

  /// use(rows)
  template <class F>
  decltype(auto) with_rows(const F& use) const {
    return std::visit([&](const auto& matrix) -> decltype(auto) { return use(matrix.rows()); }, any_);
  }
  /// Of K by cells the same with another c.
  [[nodiscard]] BoxMatrix with_reaction(double c) const {
    BoxCells<T> cells = std::get<BoxCells<T>>(any_);
    cells.set_reaction(c);
    return cells;
  }
  [[nodiscard]] bool is_cells() const { return std::holds_alternative<BoxCells<T>>(any_); }
  /// It need not be symmetric.
  [[nodiscard]] bool is_full() const { return std::holds_alternative<BoxFullBands<T>>(any_); }
  [[nodiscard]] const BoxFullBands<T>& full() const { return std::get<BoxFullBands<T>>(any_); }
  [[nodiscard]] const BoxShape& shape() const {
    return with_rows([](const auto& rows) -> const BoxShape& { return rows.shape; });
  }

  void fill_ghosts(Context& ctx, FieldView<T, 3> u) const;
  /// Whether u below must have them. Where not, `ghosts` may be BoxGhosts::none: u is of unknowns alone, and zero on Dirichlet
  /// faces.
  [[nodiscard]] bool needs_ghosts(const Context& ctx) const;
  void residual(Context& ctx, FieldView<const T, 3> b, FieldView<const T, 3> u, FieldView<T, 3> r,
                BoxGhosts ghosts = BoxGhosts::filled) const;
  /// r = scale (b - A u), rounded to float.
  void scaled_residual(Context& ctx, double scale, FieldView<const T, 3> b, FieldView<const T, 3> u,
                       FieldView<float, 3> r, BoxGhosts ghosts = BoxGhosts::filled) const;
  /// y = A u
  void apply(Context& ctx, FieldView<const T, 3> u, FieldView<T, 3> y, BoxGhosts ghosts = BoxGhosts::filled) const;
  /// Of cells on a GPU: next = z + beta p and y = A next, of unknowns alone; (next, y) comes to the first number of the
  /// Context's scratch, which the caller holds, and to its number on the host. False elsewhere.
  [[nodiscard]] bool next_direction_on_gpu(Context& ctx, FieldView<const T, 3> z, double beta, FieldView<const T, 3> p,
                                           FieldView<T, 3> next, FieldView<T, 3> y) const;
  // u with ghosts.
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const T, 3> b, FieldView<const T, 3> u) const;
  [[nodiscard]] double backward_error(Context& ctx, FieldView<const T, 3> b, FieldView<const T, 3> u,
                                      double least) const;

 private:
  template <class>
  friend class BoxMatrix;

  std::variant<BoxCells<T>, BoxBands<T>, BoxFullBands<T>> any_;
};

/// `planes` planes each way with the ranks beside a slab, from the addresses that are given, so far apart with so many numbers of
/// the last one.
template <class T>
struct BoxPlanes {
  T *to_before, *to_behind, *from_before, *from_behind;
  std::int64_t apart, of_last;
  int planes;
};
template <class T>
void exchange_planes(Context& ctx, const BoxSlab& slab, const BoxPlanes<T>& planes);

/// All rows of a symmetric matrix in bands; of a slab without ghosts.
[[nodiscard]] BoxBands<double> bands_of(Context& ctx, const BoxMatrix<double>& a);

}  // namespace stratum
