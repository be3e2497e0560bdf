#include <stratum/solvers/direct/box_diagonalization.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <stratum/core/field/for_each_node.hpp>

#if defined(__CUDACC__)
#include <stratum/core/device/launch.hpp>
#endif

namespace stratum {

namespace {

/// One step of the elimination along a line; zero pivots have an inverse of zero.
struct LineStep {
  double before, behind;  // couplings
  double inverse;
  double excess;  // of the row
  double left;    // E / D: what is left of the row sum for the next row

  STRATUM_HOST_DEVICE STRATUM_INLINE LineStep(const AxisFactorsView& line, int k, double beta, double left_before)
      : before(line.k[k] - beta * line.m[k]), behind(line.k[k + 1] - beta * line.m[k + 1]),
        excess(3 * beta * (line.m[k] + line.m[k + 1])) {
    const double sum = excess + before * left_before, pivot = behind + sum;
    inverse = pivot != 0 ? 1 / pivot : 0;
    left = sum * inverse;
  }
};

/// Rows of a line that a GPU's thread loads together.
constexpr int line_chunk = 8;

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

#if defined(__CUDACC__)

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

#endif

constexpr std::int64_t gpu_room = std::int64_t{1} << 23;  // numbers, 64 MiB: enough to fill a GPU

template <class T>
FieldView<T, 3> planes_of(FieldView<T, 3> box, int first, int count) {
  box.data += first * box.strides.plane;
  box.extents.nz = count;
  return box;
}

}  // namespace

BoxDiagonalization::BoxDiagonalization(Context& ctx, const std::array<AxisFactors, 3>& axes, double reaction,
                                       const LineModes& x, const LineModes& y)
    : n_{axes[0].unknowns(), axes[1].unknowns(), axes[2].unknowns()}, reaction_(reaction),
      periodic_lines_(axes[2].periodic), products_(std::make_shared<DenseProducts>(ctx)) {
  const int sx = padded_size(n_[0]), sy = padded_size(n_[1]);
  const auto square = [](int size) { return static_cast<std::size_t>(size) * static_cast<std::size_t>(size); };
  const std::size_t count =
      2 * (square(sx) + square(sy)) + static_cast<std::size_t>(sx + sy) + axes[2].k.size() + axes[2].m.size();
  numbers_ = allocate(ctx, count * sizeof(double));
  auto* next = static_cast<double*>(numbers_.get());
  const auto put = [&](const std::vector<double>& numbers) {
    const double* const at = next;
    if (ctx.is_dry_run()) return at;
    copy_bytes(ctx, numbers.data(), next, numbers.size() * sizeof(double));
    ctx.synchronise();
    next += numbers.size();
    return at;
  };
  const auto matrix = [&](const LineModes& modes, int n, int size, bool transposed) {
    std::vector<double> numbers;
    if (!ctx.is_dry_run()) {
      numbers.assign(square(size), 0.0);
      for (int a = 0; a < n; ++a)
        for (int i = 0; i < n; ++i)
          numbers[static_cast<std::size_t>(transposed ? i * size + a : a * size + i)] =
              modes.vectors[static_cast<std::size_t>(a) * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)];
    }
    return DenseMatrix{put(numbers), size};
  };
  x_forward_ = matrix(x, n_[0], sx, true);
  x_back_ = matrix(x, n_[0], sx, false);
  y_forward_ = matrix(y, n_[1], sy, false);
  y_back_ = matrix(y, n_[1], sy, true);
  const auto values = [&](const LineModes& modes, int size) {
    std::vector<double> numbers(modes.values);
    numbers.resize(static_cast<std::size_t>(size), 1.0);
    return put(numbers);
  };
  values_x_ = values(x, sx);
  values_y_ = values(y, sy);
  lines_ = {put(axes[2].k), put(axes[2].m)};

  const std::int64_t plane = std::int64_t{sx} * sy, all = plane * n_[2];
  if (ctx.on_gpu())
    room_ = std::max({plane, numbers_of_lines(1), std::min(std::max(gpu_room, all / 8), all)});
  else
    room_ = ctx.threads() * (std::max(plane, std::int64_t{together} * n_[2] * 2) +
                             static_cast<std::int64_t>(product_scratch(std::max(sx, sy))));
  planes_ = allocate(ctx, static_cast<std::size_t>(room_) * sizeof(double));
}

std::int64_t BoxDiagonalization::numbers_of_lines(int rows) const {
  const std::int64_t columns = std::int64_t{rows} * n_[0];
  return columns * (periodic_lines_ ? 2 * n_[2] : (n_[2] + line_chunk - 1) / line_chunk);
}

void BoxDiagonalization::apply_on_host(const Context& ctx, const FieldView<const double, 3>& b,
                                       const FieldView<double, 3>& v, const FieldView<double, 3>& x, bool add) {
  const int nx = n_[0], ny = n_[1], nz = n_[2];
  const std::int64_t own = room_ / ctx.threads(),
                     panel = static_cast<std::int64_t>(product_scratch(std::max(x_back_.size, y_back_.size)));
  // Rows of the scratch plane, a multiple of 8 numbers.
  const std::int64_t pitch = x_back_.size;
  const std::int64_t parts = (nx + together - 1) / together;
#pragma omp parallel num_threads(ctx.threads()) if (v.nodes() > serial_limit)
  {
#pragma omp for schedule(static)
    for (int thread = 0; thread < ctx.threads(); ++thread) {
      double* const scratch = static_cast<double*>(planes_.get()) + thread * own;
      double* const plane = scratch + panel;
      const int first = static_cast<int>(std::int64_t{nz} * thread / ctx.threads());
      const int end = static_cast<int>(std::int64_t{nz} * (thread + 1) / ctx.threads());
      for (int k = first; k < end; ++k) {
        multiply(ny, nx, nx, b.row(0, k), b.strides.row, x_forward_.data, x_forward_.size, plane, pitch, false,
                 scratch);
        multiply(ny, nx, ny, y_forward_.data, y_forward_.size, plane, pitch, v.row(0, k), v.strides.row, false,
                 scratch);
      }
    }
#pragma omp for schedule(static)
    for (int thread = 0; thread < ctx.threads(); ++thread) {
      double* const scratch = static_cast<double*>(planes_.get()) + thread * own;
      const std::int64_t blocks = parts * ny;
      const Lines lines{lines_,  values_x_, values_y_, reaction_, v, scratch, scratch + std::int64_t{together} * nz,
                        together};
      for (std::int64_t block = blocks * thread / ctx.threads(); block < blocks * (thread + 1) / ctx.threads();
           ++block) {
        const int i = static_cast<int>(block % parts) * together, j = static_cast<int>(block / parts);
        if (periodic_lines_)
          solve_columns<true>(lines, i, std::min(together, nx - i), j);
        else
          solve_columns<false>(lines, i, std::min(together, nx - i), j);
      }
    }
#pragma omp for schedule(static)
    for (int thread = 0; thread < ctx.threads(); ++thread) {
      double* const scratch = static_cast<double*>(planes_.get()) + thread * own;
      double* const plane = scratch + panel;
      const int first = static_cast<int>(std::int64_t{nz} * thread / ctx.threads());
      const int end = static_cast<int>(std::int64_t{nz} * (thread + 1) / ctx.threads());
      for (int k = first; k < end; ++k) {
        multiply(ny, nx, ny, y_back_.data, y_back_.size, v.row(0, k), v.strides.row, plane, pitch, false, scratch);
        multiply(ny, nx, nx, plane, pitch, x_back_.data, x_back_.size, x.row(0, k), x.strides.row, add, scratch);
      }
    }
  }
}

void BoxDiagonalization::apply(Context& ctx, FieldView<const double, 3> b, FieldView<double, 3> v,
                               FieldView<double, 3> x, bool add) {
  if (ctx.is_dry_run()) return;
  if (!ctx.on_gpu()) return apply_on_host(ctx, b, v, x, add);
#if defined(__CUDACC__)
  const int sx = x_back_.size, sy = y_back_.size, nz = n_[2];
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
    products_->along_rows(ctx, padded(b, k, count), x_forward_, scratch_of(count), false);
    products_->across_rows(ctx, y_forward_, scratch_of(count), padded(v, k, count));
  }
  FieldView<double, 3> columns = v;
  columns.extents = {n_[0], n_[1], nz};
  const int rows = static_cast<int>(std::clamp<std::int64_t>(room_ / numbers_of_lines(1), 1, n_[1]));
  for (int j = 0; j < n_[1]; j += rows) {
    const int count = std::min(rows, n_[1] - j);
    const std::int64_t width = std::int64_t{count} * n_[0];
    const Lines lines{
        lines_, values_x_, values_y_, reaction_, columns, scratch, periodic_lines_ ? scratch + width * nz : nullptr,
        width};
    constexpr int threads = 128;
    const auto blocks = static_cast<unsigned>((width + threads - 1) / threads);
    cuda::Launch{dim3(blocks), dim3(threads)}(ctx, lines_kernel, lines, j, count);
  }
  for (int k = 0; k < nz; k += planes) {
    const int count = std::min(planes, nz - k);
    products_->across_rows(ctx, y_back_, padded(v, k, count), scratch_of(count));
    products_->along_rows(ctx, scratch_of(count), x_back_, padded(x, k, count), add);
  }
#endif
}

}  // namespace stratum
