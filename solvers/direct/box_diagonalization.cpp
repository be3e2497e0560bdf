#include <stratum/solvers/direct/box_diagonalization.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/solvers/direct/box_lines.hpp>

#if defined(__CUDACC__)
#include <stratum/core/device/launch.hpp>
#endif

namespace stratum {

namespace {

using namespace box_lines;
using Product = ModeProducts::Product;

/// Lines along z, of the columns (i, j) of v, in place.
struct Lines {
  AxisFactorsView line;
  const double *values_x, *values_y;
  double c;
  FieldView<double, 3> v;
  double* multipliers;     // of some columns, `width` a row, or a chunk of rows
  double* sums = nullptr;  // of periodic lines: the solutions for row sums, alike
  std::int64_t width = 0;

#if defined(__CUDACC__)
  /// Column (i, j): E / D at the beginning of every chunk of rows goes to multipliers[at + chunk * width].
  __device__ STRATUM_INLINE void solve(int i, int j, std::int64_t at) const {
    constexpr int chunk = line_chunk;
    const int n = v.extents.nz, chunks = (n + chunk - 1) / chunk;
    const std::int64_t stride = v.strides.plane;
    const double beta = values_x[i] + values_y[j] + c;
    double* const column = &v(i, j, 0);
    double left = 1, y = 0;
    for (int first = 0; first < n; first += chunk) {
      multipliers[at + first / chunk * width] = left;
      double numbers[chunk];
#pragma unroll
      for (int t = 0; t < chunk; ++t) numbers[t] = first + t < n ? column[(first + t) * stride] : 0;
#pragma unroll
      for (int t = 0; t < chunk; ++t) {
        if (first + t >= n) break;
        const LineStep step(line, first + t, beta, left);
        y = (numbers[t] + step.before * y) * step.inverse;
        column[(first + t) * stride] = y;
        left = step.left;
      }
    }
    y = 0;
    for (int p = chunks - 1; p >= 0; --p) {
      const int first = p * chunk;
      left = multipliers[at + p * width];
      double numbers[chunk], factors[chunk];
#pragma unroll
      for (int t = 0; t < chunk; ++t) numbers[t] = first + t < n ? column[(first + t) * stride] : 0;
#pragma unroll
      for (int t = 0; t < chunk; ++t) {
        factors[t] = 0;
        if (first + t >= n) continue;
        const LineStep step(line, first + t, beta, left);
        factors[t] = step.behind * step.inverse;
        left = step.left;
      }
#pragma unroll
      for (int t = chunk - 1; t >= 0; --t) {
        if (first + t >= n) continue;
        y = numbers[t] + factors[t] * y;
        column[(first + t) * stride] = y;
      }
    }
  }
#endif
  STRATUM_HOST_DEVICE STRATUM_INLINE void solve_periodic(int i, int j, std::int64_t at) const {
    const int n = v.extents.nz - 1;  // the last one is taken out
    const double beta = values_x[i] + values_y[j] + c;
    double left = 1, y = 0, s = 0;
    for (int k = 0; k < n; ++k) {
      const LineStep step(line, k, beta, left);
      y = (v(i, j, k) + (k > 0 ? step.before : 0) * y) * step.inverse;
      s = (step.excess + (k > 0 ? step.before : 0) * s) * step.inverse;
      v(i, j, k) = y;
      sums[at + k * width] = s;
      multipliers[at + k * width] = step.behind * step.inverse;
      left = step.left;
    }
    const double y_behind = y, s_behind = s;
    for (int k = n - 2; k >= 0; --k) {
      const double multiplier = multipliers[at + k * width];
      y = v(i, j, k) + multiplier * y;
      s = sums[at + k * width] + multiplier * s;
      v(i, j, k) = y;
      sums[at + k * width] = s;
    }
    const LineStep last(line, n, beta, 0);
    const double pivot = last.excess + last.behind * s + last.before * s_behind;
    const double u = pivot != 0 ? (v(i, j, n) + last.behind * y + last.before * y_behind) / pivot : 0;
    for (int k = 0; k < n; ++k) v(i, j, k) += (1 - sums[at + k * width]) * u;
    v(i, j, n) = u;
  }
};

/// Columns that a CPU takes together: registers, and pieces of cache lines that lie apart.
constexpr int together = 64;

/// The same for columns i0 .. i0 + count - 1 of row j at once, plane by plane.
template <bool periodic>
STRATUM_SIMD_CLONES void solve_columns(const Lines& lines, int i0, int count, int j) {
  const int all = lines.v.extents.nz, n = periodic ? all - 1 : all;
  const AxisFactorsView line = lines.line;
  double beta[together], left[together], y[together], s[together];
  for (int l = 0; l < count; ++l) {
    beta[l] = lines.values_x[i0 + l] + lines.values_y[j] + lines.c;
    left[l] = 1;
    y[l] = s[l] = 0;
  }
  for (int k = 0; k < n; ++k) {
    double* const v = &lines.v(i0, j, k);
    double* const multipliers = lines.multipliers + k * lines.width;
    double* const sums = periodic ? lines.sums + k * lines.width : nullptr;
    const double joined = periodic && k == 0 ? 0 : 1;
#pragma omp simd
    for (int l = 0; l < count; ++l) {
      const LineStep step(line, k, beta[l], left[l]);
      v[l] = y[l] = (v[l] + joined * step.before * y[l]) * step.inverse;
      if constexpr (periodic) sums[l] = s[l] = (step.excess + joined * step.before * s[l]) * step.inverse;
      multipliers[l] = step.behind * step.inverse;
      left[l] = step.left;
    }
  }
  double y_behind[together], s_behind[together];
  std::copy_n(y, together, y_behind);
  std::copy_n(s, together, s_behind);
  for (int k = n - 2; k >= 0; --k) {
    double* const v = &lines.v(i0, j, k);
    const double* const multipliers = lines.multipliers + k * lines.width;
    double* const sums = periodic ? lines.sums + k * lines.width : nullptr;
#pragma omp simd
    for (int l = 0; l < count; ++l) {
      v[l] = y[l] = v[l] + multipliers[l] * y[l];
      if constexpr (periodic) sums[l] = s[l] = sums[l] + multipliers[l] * s[l];
    }
  }
  if constexpr (periodic) {
    double u[together];
    double* const v = &lines.v(i0, j, n);
    for (int l = 0; l < count; ++l) {
      const LineStep last(line, n, beta[l], 0);
      const double pivot = last.excess + last.behind * s[l] + last.before * s_behind[l];
      v[l] = u[l] = pivot != 0 ? (v[l] + last.behind * y[l] + last.before * y_behind[l]) / pivot : 0;
    }
    for (int k = 0; k < n; ++k) {
      double* const inner = &lines.v(i0, j, k);
      const double* const sums = lines.sums + k * lines.width;
#pragma omp simd
      for (int l = 0; l < count; ++l) inner[l] += (1 - sums[l]) * u[l];
    }
  }
}

/// Columns i0 .. i0 + count - 1 of row j of parts, plane by plane.
STRATUM_SIMD_CLONES void eliminate_columns(const Parts& parts, int i0, int count, int j) {
  const int n = parts.v.extents.nz - 1;
  const AxisFactorsView line = parts.line;
  double beta[together], to_left[together], excess[together], y[together], of_left[together];
  for (int l = 0; l < count; ++l) {
    beta[l] = parts.values_x[i0 + l] + parts.values_y[j] + parts.c;
    const PartRows rows(line, beta[l]);
    to_left[l] = rows.to_left;
    excess[l] = rows.excess;
    y[l] = of_left[l] = 0;
  }
  for (int k = 0; k < n; ++k) {
    double* const v = &parts.v(i0, j, k);
    const double joined = k == 0 ? 0 : 1;
#pragma omp simd
    for (int l = 0; l < count; ++l) {
      PartRows rows(to_left[l], excess[l]);
      v[l] = y[l] = (v[l] + joined * coupling(line, k, beta[l]) * y[l]) * rows.eliminate(line, k, beta[l]).inverse;
      of_left[l] += to_left[l] * y[l];
      to_left[l] = rows.to_left;
      excess[l] = rows.excess;
    }
  }
  const std::int64_t at = std::int64_t{j} * parts.v.extents.nx + i0;
  const double joined = n > 0 ? 1 : 0;
  for (int l = 0; l < count; ++l) {
    parts.left[at + l] = of_left[l];
    parts.right[at + l] = parts.v(i0 + l, j, n) + joined * coupling(line, n, beta[l]) * y[l];
  }
}

STRATUM_SIMD_CLONES void substitute_columns(const Parts& parts, int i0, int count, int j) {
  const int n = parts.v.extents.nz - 1;
  const AxisFactorsView line = parts.line;
  double beta[together], to_left[together], excess[together], u[together];
  for (int l = 0; l < count; ++l) {
    beta[l] = parts.values_x[i0 + l] + parts.values_y[j] + parts.c;
    const PartRows rows(line, beta[l]);
    to_left[l] = rows.to_left;
    excess[l] = rows.excess;
  }
  double* const all_of_left = parts.factors;
  double* const all_of_right = parts.factors + n * parts.width;
  for (int k = 0; k < n; ++k) {
    double *const of_left = all_of_left + k * parts.width, *const of_right = all_of_right + k * parts.width;
#pragma omp simd
    for (int l = 0; l < count; ++l) {
      PartRows rows(to_left[l], excess[l]);
      const PartRows::Row row = rows.eliminate(line, k, beta[l]);
      of_left[l] = row.of_left;
      of_right[l] = row.of_right;
      to_left[l] = rows.to_left;
      excess[l] = rows.excess;
    }
  }
  const std::int64_t at = std::int64_t{j} * parts.v.extents.nx + i0;
  const double *const u_left = parts.left + at, *const u_right = parts.right + at;
  for (int l = 0; l < count; ++l) parts.v(i0 + l, j, n) = u[l] = u_right[l];
  for (int k = n - 1; k >= 0; --k) {
    double* const v = &parts.v(i0, j, k);
    const double *const of_left = all_of_left + k * parts.width, *const of_right = all_of_right + k * parts.width;
#pragma omp simd
    for (int l = 0; l < count; ++l) v[l] = u[l] = v[l] + of_left[l] * u_left[l] + of_right[l] * u[l];
  }
}

#if defined(__CUDACC__)

__global__ void eliminate_kernel(const Parts parts) {
  cuda::after_previous();
  const std::int64_t number = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int nx = parts.v.extents.nx;
  if (number < std::int64_t{parts.v.extents.ny} * nx)
    parts.eliminate(static_cast<int>(number % nx), static_cast<int>(number / nx));
}
/// Rows first .. first + rows - 1.
__global__ void substitute_kernel(const Parts parts, int first, int rows) {
  cuda::after_previous();
  const std::int64_t number = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int nx = parts.v.extents.nx;
  if (number < std::int64_t{rows} * nx)
    parts.substitute(static_cast<int>(number % nx), first + static_cast<int>(number / nx), number);
}

/// A thread has a column; rows first .. first + rows - 1.
__global__ void lines_kernel(const Lines lines, int first, int rows) {
  cuda::after_previous();
  const std::int64_t number = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int nx = lines.v.extents.nx;
  if (number >= std::int64_t{rows} * nx) return;
  const int i = static_cast<int>(number % nx), j = first + static_cast<int>(number / nx);
  if (lines.sums != nullptr)
    lines.solve_periodic(i, j, number);
  else
    lines.solve(i, j, number);
}

/// A thread a column.
cuda::Launch launch_columns(std::int64_t columns) {
  constexpr int threads = 128;
  return {dim3(static_cast<unsigned>((columns + threads - 1) / threads)), dim3(threads)};
}

#endif

// Numbers, 64 MiB: enough to fill a GPU; and 4 GiB: half of v otherwise, since cuBLAS multiplies few planes of 1000 x 100
// numbers at 39 TFLOP/s of an H200, and many at 53.
constexpr std::int64_t gpu_room = std::int64_t{1} << 23, most_gpu_room = std::int64_t{1} << 29;

/// Of `count` things the share of a thread.
struct ShareOfThread {
  std::int64_t begin, end;
  ShareOfThread(const Context& ctx, int thread, std::int64_t count)
      : begin(count * thread / ctx.threads()), end(count * (thread + 1) / ctx.threads()) {}
};

template <class T>
FieldView<T, 3> planes_of(FieldView<T, 3> box, int first, int count) {
  box.data += first * box.strides.plane;
  box.extents.nz = count;
  return box;
}

}  // namespace

BoxDiagonalization::BoxDiagonalization(Context& ctx, const std::array<AxisFactors, 3>& axes, double reaction,
                                       const LineModes& x, const LineModes& y, std::span<const int> cuts)
    : n_{axes[0].unknowns(), axes[1].unknowns(), axes[2].unknowns()}, reaction_(reaction),
      periodic_lines_(axes[2].periodic), x_(ctx, axes[0], x), y_(ctx, axes[1], y),
      products_(std::make_shared<DenseProducts>(ctx)) {
  if (cuts.size() > 2) {
    ranks_ = static_cast<int>(cuts.size()) - 1;
    rank_ = ctx.communicator()->rank();
    const auto own = cuts.subspan(static_cast<std::size_t>(rank_), 2);
    n_[2] = own[1] - own[0];
    cuts_.assign(cuts.begin(), cuts.end());
  }
  const int sx = x_.size(), sy = y_.size();
  const std::vector<double>&k = axes[2].k, &m = axes[2].m;
  numbers_ = allocate(ctx, (k.size() + m.size()) * sizeof(double));
  auto* const numbers = static_cast<double*>(numbers_.get());
  if (!ctx.is_dry_run()) {
    copy_bytes(ctx, k.data(), numbers, k.size() * sizeof(double));
    copy_bytes(ctx, m.data(), numbers + k.size(), m.size() * sizeof(double));
    ctx.synchronise();
  }
  const int before = ranks_ > 1 ? cuts_[static_cast<std::size_t>(rank_)] : 0;
  lines_ = {numbers + before, numbers + k.size() + before};

  const std::int64_t plane = std::int64_t{sx} * sy, all = plane * n_[2];
  if (ctx.on_gpu())
    room_ = std::max({plane, numbers_of_lines(1), std::clamp(all / 2, std::min(gpu_room, all), most_gpu_room)});
  else
    room_ = ctx.threads() *
            (std::max({plane, std::int64_t{2} * planes_together() * n_[1] * sx, std::int64_t{together} * n_[2] * 2}) +
             panel());
  planes_ = allocate(ctx, static_cast<std::size_t>(room_) * sizeof(double));
  if (ranks_ == 1) return;
  const auto of_columns = [&](int rows) {
    return allocate(ctx, static_cast<std::size_t>(std::int64_t{rows} * n_[0] * n_[1] * ranks_) * sizeof(double));
  };
  joints_ = of_columns(Joints::rows(periodic_lines_));
  sides_ = of_columns(2);
  join_parts(ctx);
}

void BoxDiagonalization::set_reaction(Context& ctx, double c) {
  reaction_ = c;
  if (ranks_ > 1) join_parts(ctx);
}

void BoxDiagonalization::join_parts(Context& ctx) {
  if (ctx.is_dry_run()) return;
  const NodeRange<2> all{0, n_[0], 1, 0, n_[1], 1};
  const int columns = n_[0] * n_[1];
  const Joints joints{static_cast<double*>(joints_.get()), columns, ranks_, periodic_lines_};
  // Parts are added.
  set(ctx, 0, FieldView<double>{joints.numbers, columns, Joints::rows(periodic_lines_) * ranks_, columns});
  const int own = cuts_[static_cast<std::size_t>(rank_)];
  const AxisFactorsView whole{lines_.k - own, lines_.m - own};
  for (int r = 0; r < ranks_; ++r) {
    const int first = cuts_[static_cast<std::size_t>(r)], n = cuts_[static_cast<std::size_t>(r) + 1] - first;
    const int before = r > 0 ? r - 1 : periodic_lines_ ? ranks_ - 1 : -1;
    const AxisFactorsView part{whole.k + first, whole.m + first};
    for_each_node(ctx, all, JoinPart{part, x_.values(), y_.values(), reaction_, n, r, before, joints, n_[0]});
  }
  for_each_node(ctx, all, FactorJoints{whole, x_.values(), y_.values(), reaction_, cuts_.back(), joints, n_[0]});
}

#if defined(__CUDACC__)
/// run(first row, rows, their columns, launch) for as many rows at once as there is room for what their lines keep.
template <class Run>
void BoxDiagonalization::in_batches(const Run& run) const {
  const int batch = static_cast<int>(std::clamp<std::int64_t>(room_ / numbers_of_lines(1), 1, n_[1]));
  for (int j = 0; j < n_[1]; j += batch) {
    const int rows = std::min(batch, n_[1] - j);
    const std::int64_t width = std::int64_t{rows} * n_[0];
    run(j, rows, width, launch_columns(width));
  }
}
#endif

std::int64_t BoxDiagonalization::panel() const {
  return static_cast<std::int64_t>(std::max(x_.scratch(), y_.scratch()));
}

std::int64_t BoxDiagonalization::numbers_of_lines(int rows) const {
  const std::int64_t columns = std::int64_t{rows} * n_[0];
  const std::int64_t chunks = (n_[2] + line_chunk - 1) / line_chunk;
  return columns * (ranks_ > 1 ? 2 * chunks : periodic_lines_ ? 2 * n_[2] : chunks);
}

template <class Work>
void BoxDiagonalization::on_threads(const Context& ctx, const Work& work) const {
  const std::int64_t own = room_ / ctx.threads();
#pragma omp parallel for schedule(static) \
    num_threads(ctx.threads()) if (std::int64_t{n_[0]} * n_[1] * n_[2] > serial_limit)
  for (int thread = 0; thread < ctx.threads(); ++thread)
    work(thread, static_cast<double*>(planes_.get()) + thread * own);
}

int BoxDiagonalization::planes_together() const {
  // Products read the whole matrix, and transforms take sixteen lines at once, for as many rows as they are given.
  const int enough_rows = std::max(64, n_[0] / 8);
  return std::clamp(enough_rows / n_[1], 1, n_[2]);
}

template <class Work>
void BoxDiagonalization::on_planes(const Context& ctx, const Work& work) const {
  const std::int64_t room = std::int64_t{planes_together()} * n_[1] * x_.size();
  on_threads(ctx, [&](int thread, double* scratch) {
    double* const rows = scratch + panel();
    const ShareOfThread share(ctx, thread, n_[2]);
    const int end = static_cast<int>(share.end);
    for (int k = static_cast<int>(share.begin); k < end; k += planes_together())
      work(k, std::min(planes_together(), end - k), rows, rows + room, scratch);
  });
}

void BoxDiagonalization::to_modes_on_host(const Context& ctx, const FieldView<const double, 3>& b,
                                          const FieldView<double, 3>& v) {
  const int nx = n_[0], ny = n_[1];
  // Rows of scratch planes, a multiple of 8 numbers.
  const std::int64_t pitch = x_.size();
  on_planes(ctx, [&](int first, int count, double* rows, double* taken, double* scratch) {
    if (count == 1) {
      x_.along_rows(Product::to_modes, ny, b.row(0, first), b.strides.row, rows, pitch, false, scratch);
    } else {
      double* to = taken;
      for (int k = first; k < first + count; ++k)
        for (int j = 0; j < ny; ++j, to += pitch) std::copy_n(b.row(j, k), nx, to);
      x_.along_rows(Product::to_modes, count * ny, taken, pitch, rows, pitch, false, scratch);
    }
    for (int k = 0; k < count; ++k)
      y_.across_rows(Product::to_modes, nx, rows + k * ny * pitch, pitch, v.row(0, first + k), v.strides.row, scratch);
  });
}

void BoxDiagonalization::from_modes_on_host(const Context& ctx, const FieldView<const double, 3>& v,
                                            const FieldView<double, 3>& x, bool add) {
  const int nx = n_[0], ny = n_[1];
  const std::int64_t pitch = x_.size();
  on_planes(ctx, [&](int first, int count, double* rows, double* result, double* scratch) {
    for (int k = 0; k < count; ++k)
      y_.across_rows(Product::from_modes, nx, v.row(0, first + k), v.strides.row, rows + k * ny * pitch, pitch,
                     scratch);
    if (count == 1)
      return x_.along_rows(Product::from_modes, ny, rows, pitch, x.row(0, first), x.strides.row, add, scratch);
    x_.along_rows(Product::from_modes, count * ny, rows, pitch, result, pitch, false, scratch);
    const double* from = result;
    for (int k = first; k < first + count; ++k)
      for (int j = 0; j < ny; ++j, from += pitch) {
        double* const to = x.row(j, k);
        for (int i = 0; i < nx; ++i) to[i] = add ? to[i] + from[i] : from[i];
      }
  });
}

template <class Work>
void BoxDiagonalization::on_columns(const Context& ctx, const Work& work) const {
  const std::int64_t parts = (n_[0] + together - 1) / together, blocks = parts * n_[1];
  on_threads(ctx, [&](int thread, double* scratch) {
    const ShareOfThread share(ctx, thread, blocks);
    for (std::int64_t block = share.begin; block < share.end; ++block) {
      const int i = static_cast<int>(block % parts) * together, j = static_cast<int>(block / parts);
      work(i, std::min(together, n_[0] - i), j, scratch);
    }
  });
}

void BoxDiagonalization::solve_lines(Context& ctx, const FieldView<double, 3>& v) {
#if defined(__CUDACC__)
  if (ctx.on_gpu())
    return in_batches([&](int first, int rows, std::int64_t width, const cuda::Launch& launch) {
      auto* const scratch = static_cast<double*>(planes_.get());
      double* const sums = periodic_lines_ ? scratch + width * n_[2] : nullptr;
      launch(ctx, lines_kernel, Lines{lines_, x_.values(), y_.values(), reaction_, v, scratch, sums, width}, first,
             rows);
    });
#endif
  on_columns(ctx, [&](int i, int count, int j, double* own) {
    double* const sums = own + std::int64_t{together} * n_[2];
    const Lines lines{lines_, x_.values(), y_.values(), reaction_, v, own, sums, together};
    if (periodic_lines_)
      solve_columns<true>(lines, i, count, j);
    else
      solve_columns<false>(lines, i, count, j);
  });
}

void BoxDiagonalization::solve_parts(Context& ctx, const FieldView<double, 3>& v) {
  const std::int64_t columns = std::int64_t{n_[0]} * n_[1];
  auto* const sides = static_cast<double*>(sides_.get());
  double* const own = sides + 2 * rank_ * columns;
  Parts parts{lines_, x_.values(), y_.values(), reaction_, v, own, own + columns};
#if defined(__CUDACC__)
  if (ctx.on_gpu())
    launch_columns(columns)(ctx, eliminate_kernel, parts);
  else
#endif
    on_columns(ctx, [&](int i, int count, int j, double* /*scratch*/) { eliminate_columns(parts, i, count, j); });
  ctx.communicator()->gather(ctx, own, sides, static_cast<std::size_t>(2 * columns) * sizeof(double));
  const Joints joints{static_cast<double*>(joints_.get()), columns, ranks_, periodic_lines_};
  for_each_node(ctx, {0, n_[0], 1, 0, n_[1], 1}, SolveJoints{joints, sides, rank_, n_[0]});
#if defined(__CUDACC__)
  if (ctx.on_gpu())
    return in_batches([&](int first, int rows, std::int64_t width, const cuda::Launch& launch) {
      parts.factors = static_cast<double*>(planes_.get());
      parts.width = width;
      launch(ctx, substitute_kernel, parts, first, rows);
    });
#endif
  on_columns(ctx, [&](int i, int count, int j, double* scratch) {
    Parts with_scratch = parts;
    with_scratch.factors = scratch;
    with_scratch.width = together;
    substitute_columns(with_scratch, i, count, j);
  });
}

void BoxDiagonalization::apply(Context& ctx, FieldView<const double, 3> b, FieldView<double, 3> v,
                               FieldView<double, 3> x, bool add) {
  if (ctx.is_dry_run()) return;
  FieldView<double, 3> columns = v;
  columns.extents = {n_[0], n_[1], n_[2]};
  const auto solve = [&] { ranks_ > 1 ? solve_parts(ctx, columns) : solve_lines(ctx, columns); };
  if (!ctx.on_gpu()) {
    to_modes_on_host(ctx, b, v);
    solve();
    return from_modes_on_host(ctx, v, x, add);
  }
#if defined(__CUDACC__)
  const int sx = x_.size(), sy = y_.size(), nz = n_[2];
  const std::int64_t plane = std::int64_t{sx} * sy;
  const int planes = static_cast<int>(std::clamp<std::int64_t>(room_ / plane, 1, nz));
  auto* const scratch = static_cast<double*>(planes_.get());
  const auto padded = [&](auto box, int first, int count) {
    box.extents = {sx, sy, nz};
    return planes_of(box, first, count);
  };
  const auto scratch_of = [&](int count) { return FieldView<double, 3>{scratch, {sx, sy, count}, {sx, plane}}; };
  for (int k = 0; k < nz; k += planes) {
    const int count = std::min(planes, nz - k);
    products_->along_rows(ctx, padded(b, k, count), x_.v(), scratch_of(count), false);
    products_->across_rows(ctx, y_.transposed(), scratch_of(count), padded(v, k, count));
  }
  solve();
  for (int k = 0; k < nz; k += planes) {
    const int count = std::min(planes, nz - k);
    products_->across_rows(ctx, y_.v(), padded(v, k, count), scratch_of(count));
    products_->along_rows(ctx, scratch_of(count), x_.transposed(), padded(x, k, count), add);
  }
#endif
}

}  // namespace stratum
