#pragma once

// GridLayout<3>, FieldView<T, 3> and Field<T, 3>: values on the nodes of a box of nx x ny x nz unknowns.
//
//     node (i, j, k) lies at data[k * strides.plane + j * strides.row + i] ,    0 <= i < nx , 0 <= j < ny , 0 <= k < nz .
//
// The numbers of a row are next to each other. Rows lie a multiple of 16 numbers apart, and the first number of each, that of
// column -ghost_width, lies on a multiple of 64 bytes (128 on a GPU where the precision is double).
//
//     ghost width 0   planes follow each other without a gap: the field is one dense matrix of ny nz rows (`rows_of`), as BLAS
//                     takes it. Numbers behind the end of a row are zero, and nothing writes them.
//     ghost width 1   there is one number more at both ends of every axis, i = -1 .. nx and so on. A plane is a field of two
//                     dimensions with its ghosts (core/field/field.hpp).
//
// Ghosts at the domain's boundary stay zero. GhostExchange (core/field/ghost_exchange.hpp) fills the others; kernels read
// ghosts and never write them.

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/extents.hpp>
#include <stratum/core/field/field.hpp>

namespace stratum {

/// What lies behind a face of a subdomain.
struct Face {
  enum class Kind : std::uint8_t {
    boundary,   // the boundary of the domain: ghosts are zero
    itself,     // the other end of this subdomain: the axis is periodic, and no other subdomain has a part of it
    subdomain,  // the subdomain `rank`
  };
  Kind kind = Kind::boundary;
  int rank = -1;

  friend bool operator==(const Face&, const Face&) = default;
};

/// The unknowns of a subdomain, where they stand in the grid, and what borders on them. Axes are 0, 1, 2 for x, y, z.
template <>
struct GridLayout<3> {
  Extents<3> extents;  // of this subdomain
  Extents<3> global;   // of all of them
  std::array<int, 3> first{
      1, 1, 1};  // global index of the first unknown per axis: 1 where the boundary's nodes are none, else 0
  std::array<Face, 3> lower, upper;  // before node 0 and behind the last node of each axis
  int ghost_width = 1;               // 0 or 1

  /// One domain without subdomains.
  [[nodiscard]] static GridLayout box(const Extents<3>& extents, const std::array<bool, 3>& periodic = {},
                                      int ghost_width = 1);

  [[nodiscard]] std::int64_t nodes() const { return extents.nodes(); }
  [[nodiscard]] bool has_neighbours(int axis) const {
    const auto a = static_cast<std::size_t>(axis);
    return lower[a].kind != Face::Kind::boundary || upper[a].kind != Face::Kind::boundary;
  }
  /// The same unknowns with ghosts of another width.
  [[nodiscard]] GridLayout with_ghosts(int width) const {
    GridLayout layout = *this;
    layout.ghost_width = width;
    return layout;
  }
  /// Distances in memory. In rows a power of two apart the numbers of a column compete for the same cache sets of a CPU:
  /// multiples of 512 get 80 more.
  [[nodiscard]] Strides<3> strides(Backend backend) const;
  friend bool operator==(const GridLayout&, const GridLayout&) = default;
};

/// What kernels see: a pointer, extents, strides. No ownership, trivially copyable. FieldView<T, 3> converts to
/// FieldView<const T, 3>.
template <class T>
struct FieldView<T, 3> {
  T* data = nullptr;
  Extents<3> extents;
  Strides<3> strides;

  STRATUM_HOST_DEVICE STRATUM_INLINE T& operator()(int i, int j, int k) const { return row(j, k)[i]; }
  STRATUM_HOST_DEVICE STRATUM_INLINE T* row(int j, int k) const { return data + k * strides.plane + j * strides.row; }
  /// Plane k as a field of two dimensions, for kernels: its topology is not said.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE FieldView<T, 2> plane(int k) const {
    return {data + k * strides.plane, extents.nx, extents.ny, strides.row};
  }
  [[nodiscard]] std::int64_t nodes() const { return extents.nodes(); }

  template <std::same_as<const T> Const>
  // NOLINTNEXTLINE(google-explicit-constructor): the usual pointer-to-const conversion
  STRATUM_HOST_DEVICE operator FieldView<Const, 3>() const {
    return {data, extents, strides};
  }
};

/// Throws UsageError unless `view`, called `name` in the message, has these extents and memory that the Context computes on.
template <class T>
void expects_fit(const Context& ctx, const char* name, const FieldView<T, 3>& view, const Extents<3>& extents) {
  const Extents<3>& own = view.extents;
  expects(own == extents, name, " must be ", extents.nx, " x ", extents.ny, " x ", extents.nz, ", not ", own.nx, " x ",
          own.ny, " x ", own.nz);
  if (view.nodes() == 0) return;
  expects(view.data != nullptr && view.strides.row >= own.nx &&
              (own.nz == 1 || view.strides.plane >= view.strides.row * own.ny),
          name, " has no memory, or rows of ", own.nx, " nodes only ", view.strides.row, " apart, or planes of ",
          own.ny, " rows only ", view.strides.plane, " apart");
  expects(ctx.is_dry_run() || reaches(ctx, view.data), name,
          " does not lie in memory of the device that the context computes on");
}

/// Where node (0, 0, 0) and the last number lie in the memory of a Field of this layout, ghosts and padding included.
struct FieldStorage3D {
  Strides<3> strides;
  std::int64_t first, size;

  FieldStorage3D(Backend backend, const GridLayout<3>& layout)
      : strides(layout.strides(backend)), first(32 + layout.ghost_width * (strides.plane + strides.row + 1)),
        size(strides.plane * (std::int64_t{layout.extents.nz} + 2 * layout.ghost_width) + 64) {}
};

/// Bytes that a Field of this layout takes, ghosts and padding included.
template <class T, std::same_as<GridLayout<3>> Layout>
[[nodiscard]] std::int64_t field_bytes(Backend backend, const Layout& layout) {
  return FieldStorage3D(backend, layout).size * static_cast<std::int64_t>(sizeof(T));
}

namespace detail {
/// Throws UsageError where there can be no Field of this layout.
void expects_layout(const GridLayout<3>& layout);
/// Throws UsageError where kernels cannot use memory of the caller's.
void expects_borrowable(const Context& ctx, const void* first_of_row, bool is_null, const GridLayout<3>& layout,
                        const Strides<3>& strides);
}  // namespace detail

/// Owns the numbers of one grid function in one memory space, zero when made, or stands for numbers that someone else owns
/// (`borrow`). Move-only. In a memory dry run it is counted and has no numbers.
/// Throws UsageError for negative extents and a ghost width that is neither 0 nor 1, ResourceError where memory does not
/// suffice.
template <class T>
class Field<T, 3> {
 public:
  Field() = default;
  Field(Context& ctx, const GridLayout<3>& layout) : layout_(layout) {
    detail::expects_layout(layout);
    const FieldStorage3D storage(ctx.backend(), layout);
    memory_ = allocate(ctx, static_cast<std::size_t>(field_bytes<T>(ctx.backend(), layout)));
    view_ = {static_cast<T*>(memory_.get()) + storage.first, layout.extents, storage.strides};
  }

  /// Numbers of the caller's, used where they lie: nothing is copied or allocated, and they must outlive the Field. `node` is
  /// the address of node (0, 0, 0). Demanded: memory that the Context's backend reaches; column -ghost_width of every row on a
  /// multiple of 64 bytes; strides that are multiples of 16 with room for the ghosts, and planes without a gap where there are
  /// none; zeros in the ghosts (`ghosts_are_zero` of core/field/blas_3d.hpp looks). What GridLayout<3>::strides gives fits.
  /// Throws UsageError with what is wrong. Does not wait for the stream.
  [[nodiscard]] static Field borrow(const Context& ctx, T* node, const GridLayout<3>& layout,
                                    const Strides<3>& strides) {
    detail::expects_layout(layout);
    detail::expects_borrowable(ctx, node - layout.ghost_width, node == nullptr, layout, strides);
    Field field;
    field.layout_ = layout;
    field.view_ = {node, layout.extents, strides};
    return field;
  }

  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;
  Field(Field&&) noexcept = default;
  Field& operator=(Field&&) noexcept = default;
  ~Field() = default;

  [[nodiscard]] FieldView<T, 3> view() { return view_; }
  [[nodiscard]] FieldView<const T, 3> view() const { return view_; }
  [[nodiscard]] FieldView<const T, 3> cview() const { return view_; }
  [[nodiscard]] const GridLayout<3>& layout() const { return layout_; }
  [[nodiscard]] bool empty() const { return view_.data == nullptr; }

 private:
  std::shared_ptr<void> memory_;
  GridLayout<3> layout_;
  FieldView<T, 3> view_;
};

/// The rows of all planes as one field of two dimensions, nx x (ny nz), for what need not know three dimensions: BLAS-1,
/// reductions, Krylov methods. Throws UsageError where there is a gap between planes, as with ghosts.
template <class T>
[[nodiscard]] FieldView<T, 2> rows_of(const Context& /*ctx*/, const FieldView<T, 3>& view) {
  const auto& [nx, ny, nz] = view.extents;
  expects(nz <= 1 || view.strides.plane == ny * view.strides.row, "planes of ", ny, " rows lie ", view.strides.plane,
          " numbers apart, not ", ny * view.strides.row, ": a field with ghosts is not one matrix of rows");
  return {view.data, nx, static_cast<int>(view.extents.rows()), view.strides.row};
}

/// The same numbers with the ghosts around them.
template <class T>
[[nodiscard]] FieldView<T, 3> with_ghosts(const FieldView<T, 3>& view, int width) {
  const auto& [nx, ny, nz] = view.extents;
  return {view.data - width * (view.strides.plane + view.strides.row + 1),
          {nx + 2 * width, ny + 2 * width, nz + 2 * width},
          view.strides};
}

}  // namespace stratum
