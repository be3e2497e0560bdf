#include <stratum/multigrid/fast_diagonalization.hpp>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/direct/dense_products.hpp>

#if defined(__CUDACC__)
#include <cuda_pipeline.h>

#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/streaming_stencil.hpp>
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

int length(Direction direction, const GridLayout<2>& shape) { return direction == Direction::x ? shape.nx : shape.ny; }
Direction crosswise(Direction direction) { return direction == Direction::x ? Direction::y : Direction::x; }

/// Whether the grid is the left factor of a product or the right one.
enum class Grid : std::uint8_t { left, right };

/// out = grid q or p grid, of a square matrix of `size` rows, of which as many count as the grid has columns or rows.
template <class T>
struct Product {
  const T* matrix;
  int size;
  FieldView<const T> grid;
  FieldView<T> out;
  bool aligned = false;  // rows of the grid from column -1 on
};

#if defined(__CUDACC__)

constexpr int tile_warps = 16, tile_threads = tile_warps * 32;
constexpr int stages = 4;  // parts of the sum that are in shared memory at a time

/// Column of the grid where the first tile begins: one that is aligned, where columns of the grid are columns of the product.
constexpr int first_column(Grid side) { return side == Grid::right ? -1 : 0; }

/// What the tensor cores of a multiprocessor multiply at once, a warp together: sum += left right, of `height` x `depth` and
/// `depth` x 8 numbers. Lane 4 g + t has numbers (g, t) of left, (t, g) of right and (g, 2 t), (g, 2 t + 1) of the sum, and
/// those 8 rows or 4 columns further.
template <class T>
struct Fragments;

/// In three products of the leading and the trailing 11 bits of a number: all but 2^-22 of it.
template <>
struct Fragments<float> {
  static constexpr int height = 16, depth = 8, sums = 4;
  static constexpr int left_padding = 4, right_padding = 8;  // of rows in shared memory, for no bank conflicts
  struct Split {
    unsigned high, low;
    Split() = default;
    __device__ STRATUM_INLINE explicit Split(float x) {
      asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(high) : "f"(x));
      low = __float_as_uint(x - __uint_as_float(high));
    }
  };
  struct Left {
    Split v[4];
    __device__ STRATUM_INLINE Left(const float* at, int pitch)
        : v{Split(at[0]), Split(at[8 * pitch]), Split(at[4]), Split(at[8 * pitch + 4])} {}
  };
  struct Right {
    Split v[2];
    __device__ STRATUM_INLINE Right(const float* at, int pitch) : v{Split(at[0]), Split(at[4 * pitch])} {}
  };
  __device__ STRATUM_INLINE static void multiply(float (&sum)[sums], const Left& a, const Right& b) {
    const auto add = [&sum](unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
      asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
          : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    };
    add(a.v[0].low, a.v[1].low, a.v[2].low, a.v[3].low, b.v[0].high, b.v[1].high);
    add(a.v[0].high, a.v[1].high, a.v[2].high, a.v[3].high, b.v[0].low, b.v[1].low);
    add(a.v[0].high, a.v[1].high, a.v[2].high, a.v[3].high, b.v[0].high, b.v[1].high);
  }
};

template <>
struct Fragments<double> {
  static constexpr int height = 8, depth = 4, sums = 2;
  static constexpr int left_padding = 4, right_padding = 4;
  struct Left {
    double v;
    __device__ STRATUM_INLINE Left(const double* at, int /*pitch*/) : v(*at) {}
  };
  using Right = Left;
  __device__ STRATUM_INLINE static void multiply(double (&sum)[sums], const Left& a, const Right& b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[0]), "+d"(sum[1])
        : "d"(a.v), "d"(b.v));
  }
};

/// A block's part of a product: warps have down x across fragments of the sum each, `rows` x `columns` of them side by side,
/// and the others take their parts of every row's sum, slices of it.
template <class T, int rows, int columns, int down_, int across_, int part_bytes = 256>
struct Tile {
  using Fragment = Fragments<T>;
  static constexpr int row_warps = rows, column_warps = columns, down = down_, across = across_;
  static constexpr int slices = tile_warps / (rows * columns);
  static constexpr int height = rows * down * Fragment::height, width = columns * across * 8;
  static constexpr int together = 16 / static_cast<int>(sizeof(T));      // numbers that come together
  static constexpr int part = part_bytes / static_cast<int>(sizeof(T));  // of the sum
  static constexpr int left_pitch = part + Fragment::left_padding, right_pitch = width + Fragment::right_padding;
  static constexpr int left_numbers = height * left_pitch, stage = left_numbers + part * right_pitch;
  static constexpr int sums = slices * height * width;
  static constexpr std::size_t bytes = std::max(stages * stage, sums) * sizeof(T);
  static int blocks(Grid side, const GridLayout<2>& shape) {
    return cuda::divide_up(shape.nx - first_column(side), width) * cuda::divide_up(shape.ny, height);
  }
};

/// A block has a tile of the product. Shared memory: of a part of the sum rows of the left factor and columns of the right one.
template <Grid side, class Sizes, class T>
__global__ void __launch_bounds__(tile_threads, 2) product_kernel(const Product<T> product) {
  using Fragment = Fragments<T>;
  constexpr int height = Sizes::height, width = Sizes::width, slices = Sizes::slices, part = Sizes::part;
  constexpr int left_pitch = Sizes::left_pitch, right_pitch = Sizes::right_pitch;
  extern __shared__ __align__(16) unsigned char memory[];
  T* const numbers = reinterpret_cast<T*>(memory);
  const int size = product.size, parts = cuda::divide_up(size, part);
  const FieldView<const T> grid = product.grid;
  const FieldView<T> out = product.out;
  const int tiles = cuda::divide_up(out.nx - first_column(side), width);
  const int r0 = static_cast<int>(blockIdx.x) / tiles * height;
  const int s0 = static_cast<int>(blockIdx.x) % tiles * width + first_column(side);
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
  const auto left_of = [&](int p) { return numbers + p % stages * Sizes::stage; };
  const auto right_of = [&](int p) { return left_of(p) + Sizes::left_numbers; };
  /// f(row, column) of every `together` numbers of a part of `rows` x `columns`.
  const auto share = [t]<int rows, int columns, int together>(const auto& f) {
    constexpr int across = columns / together, at_once = tile_threads / across;
    static_assert(tile_threads % across == 0);
#pragma unroll
    for (int row = 0; row < rows; row += at_once)
      if (rows % at_once == 0 || row + t / across < rows) f(row + t / across, t % across * together);
  };
  // The matrix is padded: rows and chunks of columns are there or not.
  const auto bring_matrix = [&](int p) {
    const int first = p * part;
    if constexpr (side == Grid::right)
      share.template operator()<height, part, Sizes::together>([&](int r, int k) {
        if (first + k < size && r0 + r < size)
          __pipeline_memcpy_async(left_of(p) + r * left_pitch + k, product.matrix + (r0 + r) * size + first + k, 16);
      });
    else
      share.template operator()<part, width, Sizes::together>([&](int k, int s) {
        if (first + k < size && s0 + s < size)
          __pipeline_memcpy_async(right_of(p) + k * right_pitch + s, product.matrix + (first + k) * size + s0 + s, 16);
      });
  };
  const auto bring_grid = [&](int p) {
    const int first = p * part;
    const auto bring = [&]<int together>(T* to, int i, int j) {
      if (j < grid.ny && i < grid.nx && i + together > 0)
        __pipeline_memcpy_async(to, &grid(i, j), together * sizeof(T));
      else
#pragma unroll
        for (int e = 0; e < together; ++e) to[e] = T(0);
    };
    const auto bring_right = [&]<int together>() {
      share.template operator()<part, width, together>([&](int k, int s) {
        bring.template operator()<together>(right_of(p) + k * right_pitch + s, s0 + s, first + k);
      });
    };
    if constexpr (side == Grid::left)
      share.template operator()<height, part, 1>(
          [&](int r, int k) { bring.template operator()<1>(left_of(p) + r * left_pitch + k, first + k, r0 + r); });
    else if (product.aligned)
      bring_right.template operator()<Sizes::together>();
    else
      bring_right.template operator()<1>();
    __pipeline_commit();
  };
  for (int p = 0; p < min(stages, parts); ++p) bring_matrix(p);
  cuda::after_previous();
  for (int p = 0; p < stages; ++p) p < parts ? bring_grid(p) : __pipeline_commit();

  constexpr int rows = Sizes::row_warps, columns = Sizes::column_warps, down = Sizes::down, across = Sizes::across;
  T sum[down][across][Fragment::sums] = {};
  const int row0 = warp % rows * down * Fragment::height, column0 = warp / rows % columns * across * 8;
  const int slice = warp / (rows * columns), quad = lane / 4, in_quad = lane % 4;
  for (int p = 0; p < parts; ++p) {
    __pipeline_wait_prior(stages - 1);
    __syncthreads();
    const T* const left = left_of(p) + (row0 + quad) * left_pitch + in_quad;
    const T* const right = right_of(p) + in_quad * right_pitch + column0 + quad;
    // Where a row's sum is not cut into slices, parts are summed by themselves first: rounding grows with the length of a sum.
    constexpr bool by_parts = slices == 1;
    T part_sum[down][across][Fragment::sums] = {};
#pragma unroll
    for (int k0 = 0; k0 < part; k0 += slices * Fragment::depth) {
      const int k = k0 + slice * Fragment::depth;
      if (k >= part || p * part + k >= size) break;
#pragma unroll
      for (int d = 0; d < down; ++d) {
        const typename Fragment::Left a(left + d * Fragment::height * left_pitch + k, left_pitch);
#pragma unroll
        for (int s = 0; s < across; ++s)
          Fragment::multiply(by_parts ? part_sum[d][s] : sum[d][s], a,
                             typename Fragment::Right(right + k * right_pitch + s * 8, right_pitch));
      }
    }
    if constexpr (by_parts)
#pragma unroll
      for (int d = 0; d < down; ++d)
#pragma unroll
        for (int s = 0; s < across; ++s)
#pragma unroll
          for (int e = 0; e < Fragment::sums; ++e) sum[d][s][e] += part_sum[d][s][e];
    __syncthreads();
    if (p + stages < parts) {
      bring_matrix(p + stages);
      bring_grid(p + stages);
    } else {
      __pipeline_commit();
    }
  }
  // Slices of the sum, one behind the other, in the place of both factors.
  T* const mine = numbers + slice * height * width;
#pragma unroll
  for (int d = 0; d < down; ++d)
#pragma unroll
    for (int s = 0; s < across; ++s)
#pragma unroll
      for (int e = 0; e < Fragment::sums; ++e)
        mine[(row0 + d * Fragment::height + quad + e / 2 * 8) * width + column0 + s * 8 + in_quad * 2 + e % 2] =
            sum[d][s][e];
  __syncthreads();
  for (int c = t; c < height * width; c += tile_threads) {
    const int i = s0 + c % width, j = r0 + c / width;
    T whole = 0;
#pragma unroll
    for (int k = 0; k < slices; ++k) whole += numbers[k * height * width + c];
    if (i >= 0 && i < out.nx && j < out.ny) out(i, j) = whole;
  }
}

/// Large tiles, which read less of the factors, as soon as most multiprocessors have one.
template <Grid side, class T>
void multiply_on_gpu(Context& ctx, Product<T> product) {
  product.aligned = cuda::has_chunks(product.grid);
  const GridLayout<2> shape{product.out.nx, product.out.ny};
  constexpr bool single = sizeof(T) == 4;
  using Small = std::conditional_t<single, Tile<T, 1, 2, 1, 2>, Tile<T, 2, 2, 1, 2>>;
  using Medium = std::conditional_t<single, Tile<T, 2, 2, 1, 4>, Tile<T, 2, 2, 2, 2>>;
  using Large = std::conditional_t<single, Tile<T, 2, 4, 2, 4, 128>, Tile<T, 4, 4, 2, 2, 128>>;
  const int multiprocessors = cuda::device_attribute(cudaDevAttrMultiProcessorCount);
  const auto suits = [&]<class Sizes>() {
    return 4 * Sizes::blocks(side, shape) > 3 * multiprocessors && cuda::Launch{1, tile_threads, Sizes::bytes}.fits();
  };
  const auto take = [&]<class Sizes>() {
    cuda::Launch launch{Sizes::blocks(side, shape), tile_threads, Sizes::bytes};
    // Blocks that come while the kernel before drains are not to share a multiprocessor where each could have its own.
    const auto half = static_cast<std::size_t>(cuda::device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)) / 2;
    if (static_cast<int>(launch.grid.x) <= multiprocessors) launch.bytes = std::max(launch.bytes, half);
    launch(ctx, product_kernel<side, Sizes, T>, product);
  };
  if (suits.template operator()<Large>()) return take.template operator()<Large>();
  if (suits.template operator()<Medium>()) return take.template operator()<Medium>();
  take.template operator()<Small>();
}

/// So many modes: not where doubles are much slower than floats.
template <class T>
bool is_worth_it(int modes) {
  constexpr int few = 64, half = 2;
  return sizeof(T) == 4 || modes <= few || cuda::device_attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio) <= half;
}

#endif

template <Grid side, class T>
void multiply(Context& ctx, const Product<T>& product) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) return multiply_on_gpu<side>(ctx, product);
#endif
  // Rows of the product are shared by the threads.
  const int rows = product.out.ny, columns = product.out.nx, threads = ctx.threads();
  const FieldView<const T>& grid = product.grid;
  const FieldView<T>& out = product.out;
#pragma omp parallel for num_threads(threads) if (threads > 1)
  for (int t = 0; t < threads; ++t) {
    const int first = rows * t / threads, own = rows * (t + 1) / threads - first;
    std::vector<T> scratch(product_scratch(product.size));
    if (own > 0 && side == Grid::left)
      stratum::multiply(own, columns, grid.nx, &grid(0, first), grid.pitch, product.matrix, product.size,
                        &out(0, first), out.pitch, false, scratch.data());
    else if (own > 0)
      stratum::multiply(own, columns, grid.ny, product.matrix + std::int64_t{first} * product.size, product.size,
                        &grid(0, 0), grid.pitch, &out(0, first), out.pitch, false, scratch.data());
  }
}

/// What line solves are to see: factors of A along the lines, and modes across.
template <class T>
TensorOperator<T> line_operator(Context& ctx, const TensorOperator<T>& a, Direction modes) {
  TensorOperator<T> lines(ctx, a.grid, true);
  if (ctx.is_dry_run()) return lines;
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
      sweep_(ctx, shape_, {LineOrder::simultaneous, 1.0, StorageFormat::tensor}, modes == Direction::x),
      u_(ctx, shape_) {
  if (!ctx.on_gpu()) zeros_ = Field<T>(ctx, shape_);
}

template <class T>
std::unique_ptr<PartialDiagonalisation<T>> PartialDiagonalisation<T>::make(Context& ctx, const GridOperator<T>& a,
                                                                           bool singular) {
  const GridLayout<2> shape = a.shape();
  const auto* const separable = std::get_if<TensorOperator<T>>(&a.storage());
  if (separable == nullptr || shape.has_halo() || shape.nodes() == 0) return nullptr;
  LineFactors factors[2];  // of x and y
  double reaction = 0, lost[2] = {};
  if (!ctx.is_dry_run()) {
    for (const int d : {0, 1}) {
      factors[d] = line_factors(ctx, *separable, d == 0 ? Direction::x : Direction::y);
      lost[d] = lost_to_rounding<T>(factors[d]);
    }
    reaction = reaction_of(ctx, *separable);
  }
  // Where rows of V are equal, and they are inside a layer, so are all products with them. Solutions along lines may differ by
  // rounding: modes for the direction with the thinner layers.
  constexpr double much = 1e-9, much_more = 100;
  const auto lost_along = [&lost](Direction direction) { return lost[direction == Direction::x ? 0 : 1]; };
  Direction first = shape.nx < shape.ny ? Direction::x : Direction::y;
  const double across = lost_along(crosswise(first));
  if (across > much && across > much_more * lost_along(first)) first = crosswise(first);
  for (const Direction direction : {first, crosswise(first)}) {
    if (length(direction, shape) > max_modes || !(lost_along(crosswise(direction)) <= most_lost)) continue;
#if defined(__CUDACC__)
    if (ctx.on_gpu() && !is_worth_it<T>(length(direction, shape))) continue;
#endif
    std::unique_ptr<PartialDiagonalisation> solver(
        new PartialDiagonalisation(ctx, a, direction));  // NOLINT: the constructor is private
    const int d = direction == Direction::x ? 0 : 1;
    if (ctx.is_dry_run() || solver->find_modes(ctx, factors[d], factors[1 - d], reaction, singular)) return solver;
  }
  return nullptr;
}

template <class T>
bool PartialDiagonalisation<T>::find_modes(Context& ctx, const LineFactors& line, const LineFactors& other,
                                           double reaction, bool singular) {
  LineModes modes = line_modes(line, ctx.threads());
  if (modes.values.empty() || !survive_rounding<T>(line, modes)) return false;
  if (singular) {
    // So little that smooth x does not see it, and so much that the line of constants is solved: 1 / (sum of 1 / k times all of
    // M) is about a tenth of the first eigenvalue of the other direction.
    constexpr double little = 1e-3;
    const double mass = 6 * std::accumulate(other.m.begin(), other.m.end(), 0.0);
    const double resistance = std::accumulate(other.k.begin(), other.k.end(), 0.0,
                                              [](double sum, double k) { return k > 0 ? sum + 1 / k : sum; });
    modes.values.front() = resistance > 0 ? little / (resistance * mass) : 1;
  }
  for (double& value : modes.values) value += reaction;
  const auto nodes = modes.values.size(), size = static_cast<std::size_t>(padded(static_cast<int>(nodes)));
  std::vector<T> packed(2 * size * size, T(0));
  T *const by_nodes = packed.data(), *const by_modes = by_nodes + size * size;
  for (std::size_t c = 0; c < nodes; ++c)
    for (std::size_t i = 0; i < nodes; ++i)
      by_nodes[i * size + c] = by_modes[c * size + i] = static_cast<T>(modes.vectors[c * nodes + i]);
  FieldView<T> to = matrices_.view();
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
void PartialDiagonalisation<T>::apply(Context& ctx, FieldView<const T> b, FieldView<T> x) {
  expects_fit(ctx, "b", b, shape_);
  expects_fit(ctx, "x", x, shape_);
  const int size = padded(length(direction_, shape_));
  const T *const by_nodes = matrices_.cview().data + unaligned, *const by_modes = by_nodes + size * size;
  const FieldView<T> u = u_.view();
  const auto solve_lines = [&] {
    // Sweeps of all lines at once start from zeros that are written, on CPUs; ghosts of zeros are zero.
    const bool has_zeros = !zeros_.empty();
    sweep_(ctx, crosswise(direction_), lines_, u, has_zeros ? zeros_.cview() : u, Ghosts::current, u,
           has_zeros ? Guess::given : Guess::zero, SweepOrder::forward);
  };
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
