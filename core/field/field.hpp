#pragma once

// Field and FieldView: values on the nodes of a logically tensor-product grid.
//
//     j
//     ny   0 0 0 0 0 0      o  unknown (i, j), 0 <= i < nx, 0 <= j < ny
//     ...  0 o o o o 0      0  halo of one, at i = -1, i = nx, j = -1 and j = ny
//     0    0 o o o o 0
//     -1   0 0 0 0 0 0      node (i, j) lies at data[j * pitch + i]; offsets are 64-bit
//         -1 0 ...   nx  i
//
// Rows are `pitch` apart, pitch > nx. The halo column i = nx of a row may be the column i = -1 of the next row if both are
// zero. `exchange` fills the halo; kernels read it and never write it. It is zero at the domain's boundary and holds the values
// of the other end of a periodic axis. A flat vector of n numbers is one row without halo rows, which would triple its memory.
//
// The origin is the global index of node (0, 0): 1 by default, since line 0 is the boundary; 0 if the nodes of the boundary are
// unknowns. Colours, lines and coarse nodes are numbered by global index.

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

/// Of lines: rows of a grid run along x, columns along y.
enum class Direction : std::uint8_t { x, y };

/// Whether the ghosts of a field have the numbers that their neighbours have now. Who owns the field knows.
enum class Ghosts : std::uint8_t { stale, current };

/// Rows of a grid, by global index.
enum class SomeRows : std::uint8_t { all, even, odd };

/// The unknowns of a grid of D dimensions, where they stand in it, and what borders on them.
template <int D>
struct GridLayout;

template <>
struct GridLayout<2> {
  int nx = 0;
  int ny = 1;
  int origin_x = 1;
  int origin_y = 1;
  bool periodic_x = false;
  bool periodic_y = false;
  bool is_flat = false;
  bool below = false;  // other subdomains of the grid border on its first row, and on its last (mesh/partition.hpp)
  bool above = false;

  [[nodiscard]] static GridLayout<2> flat(int n) { return {n, 1, 0, 0, false, false, true}; }

  [[nodiscard]] std::int64_t nodes() const { return std::int64_t{nx} * ny; }
  /// Some of the halo holds numbers of the grid.
  [[nodiscard]] bool has_halo() const { return periodic_x || periodic_y || below || above; }
  /// Above and below each: none of a flat vector.
  [[nodiscard]] int halo_rows() const { return is_flat ? 0 : 1; }
  friend bool operator==(const GridLayout<2>&, const GridLayout<2>&) = default;
};

/// What kernels see: a pointer, extents, strides. No ownership, trivially copyable. What borders on the unknowns is said by the
/// GridLayout of the Field. FieldView<T> converts to FieldView<const T>.
template <class T, int D = 2>
struct FieldView;

template <class T>
struct FieldView<T, 2> {
  T* data = nullptr;
  int nx = 0;
  int ny = 0;
  std::int64_t pitch = 0;

  STRATUM_HOST_DEVICE STRATUM_INLINE T& operator()(int i, int j) const { return data[j * pitch + i]; }
  STRATUM_HOST_DEVICE STRATUM_INLINE T& operator[](int i) const { return data[i]; }

  [[nodiscard]] std::int64_t nodes() const { return std::int64_t{nx} * ny; }

  // A template, since nvcc warns of a conversion of FieldView<const T> to itself.
  template <std::same_as<const T> Const>
  // NOLINTNEXTLINE(google-explicit-constructor): the usual pointer-to-const conversion
  STRATUM_HOST_DEVICE operator FieldView<Const>() const {
    return {data, nx, ny, pitch};
  }
};

/// The last column of a row that kernels may read in packs, or in tiles: nx, the ghost, or nx - 1 where rows are so near to
/// each other that this number is column -1 of the next row. Both are zero then.
template <class T>
[[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int last_column(const FieldView<T>& view) {
  return view.pitch > view.nx + 1 ? view.nx : view.nx - 1;
}

/// Throws UsageError unless `view`, called `name` in the message, has this many nodes. Whether the Context computes on its
/// memory is asked of the runtime, and hence where solves begin (`expects_reached`).
template <class T>
void expects_fit(const Context& /*ctx*/, const char* name, const FieldView<T>& view, int nx, int ny) {
  expects(view.nx == nx && view.ny == ny, name, " must be ", nx, " x ", ny, ", not ", view.nx, " x ", view.ny);
  if (view.nodes() == 0) return;
  expects(view.data != nullptr && view.pitch >= view.nx, name, " has no memory, or rows of ", view.nx, " nodes only ",
          view.pitch, " apart");
}
template <class T>
void expects_fit(const Context& ctx, const char* name, const FieldView<T>& view, const GridLayout<2>& shape) {
  expects_fit(ctx, name, view, shape.nx, shape.ny);
}
/// Throws UsageError unless `view` lies in memory that the Context computes on. On a GPU a call of the runtime.
template <class T>
void expects_reached(const Context& ctx, const char* name, const FieldView<T>& view) {
  if (view.nodes() == 0 || ctx.is_dry_run()) return;
  expects(view.data != nullptr, name, " has no memory");
  expects(reaches(ctx, view.data), name, " does not lie in memory of the device that the context computes on");
}

/// Distance between rows. A multiple of 16 numbers; multiples of 512 get 80 more on the CPU, because rows a power of two apart
/// compete for the same cache sets in sweeps along y. Where x is periodic the halos of two rows are apart.
[[nodiscard]] inline std::int64_t row_pitch(Backend backend, const GridLayout<2>& shape) {
  const std::int64_t pitch = (std::int64_t{shape.nx} + (shape.periodic_x ? 2 : 1) + 15) / 16 * 16;
  return backend == Backend::cpu && pitch % 512 == 0 ? pitch + 80 : pitch;
}

/// How a Field of this shape lies in memory: `size` numbers, halo and padding included, node (0, 0) at number `first`.
struct FieldStorage {
  std::int64_t pitch, first, size;

  FieldStorage(Backend backend, const GridLayout<2>& shape)
      : pitch(row_pitch(backend, shape)),
        // Column -1 of the first row, halo included, begins a cache line of the GPU, 128 bytes.
        first(32 + pitch * shape.halo_rows() + 1), size(pitch * (std::int64_t{shape.ny} + 2 * shape.halo_rows()) + 64) {
  }
};

/// Bytes that a Field of this shape takes, halo and padding included.
template <class T>
[[nodiscard]] std::int64_t field_bytes(Backend backend, const GridLayout<2>& shape) {
  return FieldStorage(backend, shape).size * static_cast<std::int64_t>(sizeof(T));
}

/// Of a flat vector.
template <class T>
[[nodiscard]] std::int64_t field_bytes(Backend backend, int n) {
  return field_bytes<T>(backend, GridLayout<2>::flat(n));
}

/// Owns the numbers of one grid function in one memory space, zero when made, or stands for numbers that someone else owns
/// (`borrow`). Move-only; copies are explicit (`copy`, `convert` in core/field/blas.hpp).
template <class T, int D = 2>
class Field;

template <class T>
class Field<T, 2> {
 public:
  Field() = default;
  Field(Context& ctx, const GridLayout<2>& shape) {
    expects(shape.nx >= 0 && shape.ny >= 0, "a grid cannot have ", shape.nx, " x ", shape.ny, " nodes");
    const FieldStorage storage(ctx.backend(), shape);
    memory_ = allocate(ctx, static_cast<std::size_t>(field_bytes<T>(ctx.backend(), shape)));
    see(static_cast<T*>(memory_.get()) + storage.first, shape, storage.pitch);
  }
  Field(Context& ctx, int n) : Field(ctx, GridLayout<2>::flat(n)) {}

  /// Numbers of the caller's, used where they lie: nothing is copied or allocated, and they must outlive the Field.
  /// `node` is the address of node (0, 0), rows are `pitch` numbers apart. Demanded: memory that the Context's backend
  /// reaches; column -1 of every row on a multiple of 64 bytes, hence a pitch that is a multiple of 16 and above nx; all of
  /// rows -1 to ny there, `pitch` numbers each, and node (nx, ny), with zeros in the halo (`halo_is_zero` of
  /// core/field/blas.hpp looks); so one number more where pitch is nx + 1.
  /// FieldStorage is a layout that fits, and so is (nx + 2) x (ny + 2) numbers of cudaMallocPitch with node (0, 0) in the
  /// second row and column.
  /// Throws UsageError with what is wrong. Does not wait for the stream.
  [[nodiscard]] static Field borrow(const Context& ctx, T* node, const GridLayout<2>& shape, std::int64_t pitch) {
    expects(shape.nx >= 1 && shape.ny >= 1, "a borrowed grid cannot have ", shape.nx, " x ", shape.ny, " nodes");
    expects(node != nullptr, "a borrowed grid needs an address, not null");
    expects(pitch > shape.nx + (shape.periodic_x ? 1 : 0) && pitch % 16 == 0, "rows of ", shape.nx,
            " nodes must lie a multiple of 16 numbers apart and more than ", shape.nx, ", not ", pitch);
    expects(reinterpret_cast<std::uintptr_t>(node - 1) % 64 == 0,
            "the node before node (0, 0) must lie on a multiple of 64 bytes, not at ",
            static_cast<const void*>(node - 1));
    expects(reaches(ctx, node), "the address ", static_cast<const void*>(node),
            " is not memory of the device that the context computes on");
    Field v;
    v.see(node, shape, pitch);
    return v;
  }

  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;
  Field(Field&&) noexcept = default;
  Field& operator=(Field&&) noexcept = default;
  ~Field() = default;

  [[nodiscard]] FieldView<T> view() { return view_; }
  [[nodiscard]] FieldView<const T> view() const { return view_; }
  [[nodiscard]] FieldView<const T> cview() const { return view_; }
  [[nodiscard]] const GridLayout<2>& shape() const { return layout_; }
  [[nodiscard]] bool empty() const { return view_.data == nullptr; }

 private:
  void see(T* node, const GridLayout<2>& shape, std::int64_t pitch) {
    layout_ = shape;
    view_ = {node, shape.nx, shape.ny, pitch};
  }

  std::shared_ptr<void> memory_;
  GridLayout<2> layout_{0, 0};
  FieldView<T> view_;
};

/// A Field whose copies are the same numbers: scratch of objects whose copies are the same object.
template <class T>
class SharedField {
 public:
  SharedField() = default;
  SharedField(Context& ctx, const GridLayout<2>& shape) : vector_(std::make_shared<Field<T>>(ctx, shape)) {}
  SharedField(Context& ctx, int n) : vector_(std::make_shared<Field<T>>(ctx, n)) {}
  SharedField(Field<T>&& vector)  // NOLINT(google-explicit-constructor): a Field that is shared from now on
      : vector_(std::make_shared<Field<T>>(std::move(vector))) {}

  [[nodiscard]] FieldView<T> view() const { return vector_ == nullptr ? FieldView<T>() : vector_->view(); }
  [[nodiscard]] FieldView<const T> cview() const { return view(); }
  [[nodiscard]] GridLayout<2> shape() const { return vector_ == nullptr ? GridLayout<2>{0, 0} : vector_->shape(); }
  [[nodiscard]] bool empty() const { return vector_ == nullptr || vector_->empty(); }

 private:
  std::shared_ptr<Field<T>> vector_;
};

namespace detail {
template <class T>
void fill_halo(Context& ctx, const GridLayout<2>& layout, const FieldView<T>& view);
/// Row 0 grows by what the subdomain below has in its row `ny`, where `layout` says that there is one.
template <class T>
void add_from_below(Context& ctx, const GridLayout<2>& layout, const FieldView<T>& view);
}  // namespace detail

/// Brings the halo of `view` up to date before a kernel reads neighbours: a cache, hence filled in views of const numbers
/// too. `layout` says what borders on its unknowns: a physical side keeps the zeros it was made with; where the grid is
/// periodic the other end is copied, where another subdomain borders on it that subdomain's row. All subdomains call it
/// together, and wait for each other; none does where ghosts are current, for which whoever says so answers.
template <class T>
void exchange(Context& ctx, const GridLayout<2>& layout, const FieldView<T>& view, Ghosts ghosts = Ghosts::stale) {
  if (!layout.has_halo() || ghosts == Ghosts::current || ctx.is_dry_run()) return;
  FieldView<std::remove_const_t<T>> numbers{const_cast<std::remove_const_t<T>*>(view.data), view.nx, view.ny,
                                            view.pitch};
  detail::fill_halo(ctx, layout, numbers);
}
/// Of a field in its own layout.
template <class T>
void exchange(Context& ctx, const Field<T>& field) {
  exchange(ctx, field.shape(), field.view());
}

}  // namespace stratum
