#include <stratum/multigrid/partial_diagonalisation.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <stratum/core/grid/blas.hpp>

#if defined(__CUDACC__)
#include <cuda_pipeline.h>

#include <stratum/core/device/launch.hpp>
#include <stratum/core/grid/march.hpp>
#endif

namespace stratum {

namespace {

/// Rows of the matrices: what tiles of a product are made of (below).
int padded(int modes) {
  constexpr int multiple = 32;
  return (modes + multiple - 1) / multiple * multiple;
}

/// Numbers of both matrices, from an aligned number on: a flat vector starts one after.
constexpr int unaligned = 15;
int numbers(int modes) { return unaligned + 2 * padded(modes) * padded(modes); }

GridShape along(Direction direction, const GridShape& shape) {
  return direction == Direction::x ? GridShape::flat(shape.nx) : GridShape::flat(shape.ny);
}
int length(Direction direction, const GridShape& shape) { return along(direction, shape).nx; }
Direction across(Direction direction) { return direction == Direction::x ? Direction::y : Direction::x; }

/// Whether the grid is the left factor of a product or the right one.
enum class Grid : std::uint8_t { left, right };

/// out = grid q or p grid, of a square matrix of `size` rows, of which as many count as the grid has columns or rows.
template <class T>
struct Product {
  const T* matrix;
  int size;
  GridView<const T> grid;
  GridView<T> out;
  bool aligned = false;  // rows of the grid from column -1 on

  /// Row r of the product.
  template <Grid side>
  STRATUM_SIMD_CLONES void row(int r) const {
    T* const to = &out(0, r);
    const int columns = out.nx, count = side == Grid::left ? grid.nx : grid.ny;
    std::fill_n(to, columns, T(0));
    for (int k = 0; k < count; ++k) {
      const T factor = side == Grid::left ? grid(k, r) : matrix[r * size + k];
      const T* const from = side == Grid::left ? matrix + k * size : &grid(0, k);
#pragma omp simd
      for (int s = 0; s < columns; ++s) to[s] += factor * from[s];
    }
  }
};

#if defined(__CUDACC__)

constexpr int row_warps = 4, slices = 4;  // warps side by side, and those that take every fourth part of the sum
constexpr int tile_warps = row_warps * slices, tile_threads = tile_warps * 32;
constexpr int groups = 2;  // in which numbers come to shared memory

/// Column of the grid where the first tile begins: one that is aligned, where columns of the grid are columns of the product.
constexpr int first_column(Grid side) { return side == Grid::right ? -1 : 0; }

/// A warp has `rows` rows of a tile and `columns` columns a lane.
template <class T, int rows, int columns>
struct Tile {
  static constexpr int height = row_warps * rows, width = 32 * columns;
  static constexpr int chunk = 16 / static_cast<int>(sizeof(T));
  static int blocks(Grid side, const GridShape& shape) {
    return cuda::divide_up(shape.nx - first_column(side), width) * cuda::divide_up(shape.ny, height);
  }
  static int pitch(int size) { return size + chunk; }
  static std::size_t bytes(int size) {
    return static_cast<std::size_t>(std::max(height * pitch(size) + size * width, slices * height * width)) * sizeof(T);
  }
};

/// Numbers that are read together.
template <class T>
struct alignas(16) Chunk {
  T v[16 / sizeof(T)];
};

/// A block has a tile of the product. Shared memory: rows of the left factor, columns of the right one.
template <Grid side, int rows, int columns, class T>
__global__ void __launch_bounds__(tile_threads, 2) product_kernel(const Product<T> product) {
  using Sizes = Tile<T, rows, columns>;
  constexpr int chunk = Sizes::chunk, height = Sizes::height, width = Sizes::width;
  extern __shared__ __align__(16) unsigned char memory[];
  const int size = product.size, pitch = size + chunk, group = size / groups;
  T* const left = reinterpret_cast<T*>(memory);
  T* const right = left + height * pitch;
  const GridView<const T> grid = product.grid;
  const GridView<T> out = product.out;
  const int tiles = cuda::divide_up(out.nx - first_column(side), width);
  const int r0 = static_cast<int>(blockIdx.x) / tiles * height;
  const int s0 = static_cast<int>(blockIdx.x) % tiles * width + first_column(side);
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;

  // The matrix is padded: all rows of a tile are there, and chunks of columns are there or not.
  if constexpr (side == Grid::right) {
#pragma unroll
    for (int r = warp; r < height; r += tile_warps) {
      const T* const row = product.matrix + (r0 + r) * size;
      for (int k = lane * chunk; k < size; k += 32 * chunk) __pipeline_memcpy_async(left + r * pitch + k, row + k, 16);
    }
  } else {
    constexpr int chunks = width / chunk;
    static_assert(tile_threads % chunks == 0);
    const int s = t % chunks * chunk;
    if (s0 + s < size)
      for (int k = t / chunks; k < size; k += tile_threads / chunks)
        __pipeline_memcpy_async(right + k * width + s, product.matrix + k * size + s0 + s, 16);
  }
  cuda::after_previous();
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    const int end = (g + 1) * group;
    if constexpr (side == Grid::right) {
      const auto bring = [&]<int together>() {
        constexpr int parts = width / together;
        const int s = t % parts * together;
        const bool there = s0 + s + together > 0 && s0 + s < grid.nx;
        const T* from = &grid(s0 + s, g * group + t / parts);
        T* to = right + (g * group + t / parts) * width + s;
        for (int k = g * group + t / parts; k < end; k += tile_threads / parts) {
          if (there && k < grid.ny)
            __pipeline_memcpy_async(to, from, together * sizeof(T));
          else
            for (int e = 0; e < together; ++e) to[e] = T(0);
          from += tile_threads / parts * grid.pitch;
          to += tile_threads / parts * width;
        }
      };
      product.aligned ? bring.template operator()<chunk>() : bring.template operator()<1>();
    } else {
#pragma unroll
      for (int r = warp; r < height; r += tile_warps) {
        const T* const row = &grid(0, r0 + r);
        const int columns_there = r0 + r < grid.ny ? grid.nx : 0;
        for (int k = g * group + lane; k < end; k += 32)
          if (k < columns_there)
            __pipeline_memcpy_async(left + r * pitch + k, row + k, sizeof(T));
          else
            left[r * pitch + k] = T(0);
      }
    }
    __pipeline_commit();
  }

  T sum[rows][columns] = {};
  const int row0 = warp % row_warps * rows, slice = warp / row_warps;
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    __pipeline_wait_prior(groups - 1 - g);
    __syncthreads();
#pragma unroll 2
    for (int k = g * group + slice * chunk; k < (g + 1) * group; k += slices * chunk) {
      Chunk<T> a[rows];
#pragma unroll
      for (int r = 0; r < rows; ++r) a[r] = *reinterpret_cast<const Chunk<T>*>(left + (row0 + r) * pitch + k);
#pragma unroll
      for (int e = 0; e < chunk; ++e)
#pragma unroll
        for (int s = 0; s < columns; ++s) {
          const T b = right[(k + e) * width + lane + s * 32];
#pragma unroll
          for (int r = 0; r < rows; ++r) sum[r][s] += a[r].v[e] * b;
        }
    }
  }
  __syncthreads();
  // Parts of the sum, a slice behind the other, in the place of both factors.
  T* const parts = left + slice * height * width;
#pragma unroll
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int s = 0; s < columns; ++s) parts[(row0 + r) * width + lane + s * 32] = sum[r][s];
  __syncthreads();
  for (int c = t; c < height * width; c += tile_threads) {
    const int i = s0 + c % width, j = r0 + c / width;
    T whole = 0;
#pragma unroll
    for (int part = 0; part < slices; ++part) whole += left[part * height * width + c];
    if (i >= 0 && i < out.nx && j < out.ny) out(i, j) = whole;
  }
}

/// f(launch, kernel) for a product of this shape: small tiles until most multiprocessors have one.
template <Grid side, class T, class F>
void with_kernel(int size, const GridShape& shape, const F& f) {
  const auto take = [&]<int rows, int columns>() {
    using Sizes = Tile<T, rows, columns>;
    f(cuda::Launch{Sizes::blocks(side, shape), tile_threads, Sizes::bytes(size)},
      product_kernel<side, rows, columns, T>);
  };
  constexpr int most_columns = sizeof(T) == 4 ? 2 : 1;  // as registers allow
  using Large = Tile<T, 8, most_columns>;
  const int multiprocessors = cuda::device_attribute(cudaDevAttrMultiProcessorCount);
  if (4 * Large::blocks(side, shape) > 3 * multiprocessors && cuda::Launch{1, tile_threads, Large::bytes(size)}.fits())
    return take.template operator()<8, most_columns>();
  take.template operator()<4, 1>();
}

/// Of modes.
template <class T>
bool is_worth_it(int modes) {
  constexpr int few = 64, half = 2;
  return sizeof(T) == 4 || modes <= few || cuda::device_attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio) <= half;
}

#endif

template <Grid side, class T>
void multiply(Context& ctx, const Product<T>& product) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    Product<T> on_gpu = product;
    on_gpu.aligned = cuda::can_march(product.grid);
    return with_kernel<side, T>(product.size, product.out.shape(),
                                [&](const cuda::Launch& launch, auto kernel) { launch(ctx, kernel, on_gpu); });
  }
#endif
  const int rows = product.out.ny;
#pragma omp parallel for num_threads(ctx.threads()) if (ctx.threads() > 1)
  for (int r = 0; r < rows; ++r) product.template row<side>(r);
}

/// What line solves are to see: factors of A along the lines, and modes across.
template <class T>
TensorOperator<T> line_operator(Context& ctx, const TensorOperator<T>& a, Direction modes) {
  TensorOperator<T> lines(ctx, a.grid, true);
  if (ctx.plans()) return lines;
  constexpr T quarter = T(0.25);  // so that 2 (m + m') = 1
  if (modes == Direction::y) {
    copy(ctx, a.kx.cview(), lines.kx.view());
    copy(ctx, a.mx.cview(), lines.mx.view());
    set(ctx, quarter, lines.my.view());
  } else {
    copy(ctx, (a.has_reaction() ? a.column_ky : a.ky).cview(), lines.column_ky.view());
    copy(ctx, a.my.cview(), lines.my.view());
    set(ctx, quarter, lines.mx.view());
  }
  return lines;
}

}  // namespace

template <class T>
PartialDiagonalisation<T>::PartialDiagonalisation(Context& ctx, const GridOperator<T>& a, Direction modes)
    : shape_(a.shape()), direction_(modes), matrices_(ctx, numbers(length(modes, shape_))),
      lines_(line_operator(ctx, std::get<TensorOperator<T>>(a.storage()), modes)),
      sweep_(ctx, shape_, {LineOrder::simultaneous, 1.0, OperatorForm::tensor}, modes == Direction::x),
      u_(ctx, shape_) {}

template <class T>
std::unique_ptr<PartialDiagonalisation<T>> PartialDiagonalisation<T>::make(Context& ctx, const GridOperator<T>& a,
                                                                           bool singular) {
  const GridShape shape = a.shape();
  const auto* const separable = std::get_if<TensorOperator<T>>(&a.storage());
  if (separable == nullptr || shape.has_halo() || shape.nodes() == 0) return nullptr;
  const Direction shorter = shape.nx < shape.ny ? Direction::x : Direction::y;
  for (const Direction direction : {shorter, across(shorter)}) {
    if (length(direction, shape) > max_modes) continue;
#if defined(__CUDACC__)
    if (ctx.on_gpu()) {
      bool has_room = is_worth_it<T>(length(direction, shape));
      if (has_room)
        with_kernel<Grid::left, T>(
            padded(length(direction, shape)), shape,
            [&](const cuda::Launch& launch, auto kernel) { has_room = launch.runs(ctx, kernel); });
      if (!has_room) continue;
    }
#endif
    std::unique_ptr<PartialDiagonalisation> solver(
        new PartialDiagonalisation(ctx, a, direction));  // NOLINT: the constructor is private
    if (ctx.plans()) return solver;
    if (solver->find_modes(ctx, *separable, singular)) return solver;
  }
  return nullptr;
}

template <class T>
bool PartialDiagonalisation<T>::find_modes(Context& ctx, const TensorOperator<T>& a, bool singular) {
  const LineFactors line = line_factors(ctx, a, direction_);
  LineModes modes = line_modes(line, ctx.threads());
  if (modes.values.empty() || !survive_rounding<T>(line, modes)) return false;
  if (singular) {
    // So little that smooth x does not see it, and so much that the line of constants is solved: 1 / (sum of 1 / k times all of M)
    // is about a tenth of the first eigenvalue of the other direction.
    constexpr double little = 1e-3;
    const auto [k, m] = line_factors(ctx, a, across(direction_));
    const double mass = 6 * std::accumulate(m.begin(), m.end(), 0.0);
    const double resistance =
        std::accumulate(k.begin(), k.end(), 0.0, [](double sum, double x) { return x > 0 ? sum + 1 / x : sum; });
    modes.values.front() = resistance > 0 ? little / (resistance * mass) : 1;
  }
  const double reaction = reaction_of(ctx, a);
  for (double& value : modes.values) value += reaction;
  const auto nodes = modes.values.size(), size = static_cast<std::size_t>(padded(static_cast<int>(nodes)));
  std::vector<T> packed(2 * size * size, T(0));
  T *const by_nodes = packed.data(), *const by_modes = by_nodes + size * size;
  for (std::size_t c = 0; c < nodes; ++c)
    for (std::size_t i = 0; i < nodes; ++i)
      by_nodes[i * size + c] = by_modes[c * size + i] = static_cast<T>(modes.vectors[c * nodes + i]);
  GridView<T> to = matrices_.view();
  to.data += unaligned;
  to.nx = static_cast<int>(packed.size());
  copy_from_host(ctx, packed.data(), to);
  values_ = std::move(modes.values);
  set_mass(ctx, 0);
  return true;
}

template <class T>
void PartialDiagonalisation<T>::set_mass(Context& ctx, double c) {
  std::vector<T> moved;
  for (const double value : values_) moved.push_back(static_cast<T>(value + c));
  auto& lines = std::get<TensorOperator<T>>(lines_.storage());
  copy_from_host(ctx, moved.data(), (direction_ == Direction::y ? lines.e : lines.column_e).view());
}

template <class T>
void PartialDiagonalisation<T>::apply(Context& ctx, GridView<const T> b, GridView<T> x) {
  expects_fit(ctx, "b", b, shape_);
  expects_fit(ctx, "x", x, shape_);
  const int size = padded(length(direction_, shape_));
  const T *const by_nodes = matrices_.cview().data + unaligned, *const by_modes = by_nodes + size * size;
  const GridView<T> u = u_.view();
  const auto solve_lines = [&] { sweep_(ctx, across(direction_), lines_, u, u, u, Guess::zero, SweepOrder::forward); };
  if (direction_ == Direction::y) {
    multiply<Grid::right>(ctx, Product<T>{by_modes, size, b, u});
    solve_lines();
    multiply<Grid::right>(ctx, Product<T>{by_nodes, size, u, x});
  } else {
    multiply<Grid::left>(ctx, Product<T>{by_nodes, size, b, u});
    solve_lines();
    multiply<Grid::left>(ctx, Product<T>{by_modes, size, u, x});
  }
}

template class PartialDiagonalisation<float>;
template class PartialDiagonalisation<double>;

}  // namespace stratum
