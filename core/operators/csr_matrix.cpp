#include <stratum/core/operators/csr_matrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <tuple>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/field/reduce.hpp>
#include <stratum/core/operators/row_sums.hpp>
#include <stratum/core/operators/sliced_rows.hpp>

namespace stratum {

namespace {

/// The nine coefficients of a node, row by row of its neighbours, 9 numbers a node from row `first` on.
template <class View>
struct StoreStencil {
  View a;
  double* to;
  int nx, first;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    double* const own = to + 9 * (std::int64_t{j - first} * nx + i);
    own[0] = a.template coefficient<-1, -1>(i, j);
    own[1] = a.template coefficient<0, -1>(i, j);
    own[2] = a.template coefficient<1, -1>(i, j);
    own[3] = a.template coefficient<-1, 0>(i, j);
    own[4] = a.template coefficient<0, 0>(i, j);
    own[5] = a.template coefficient<1, 0>(i, j);
    own[6] = a.template coefficient<-1, 1>(i, j);
    own[7] = a.template coefficient<0, 1>(i, j);
    own[8] = a.template coefficient<1, 1>(i, j);
  }
};

/// Calls of the columns and the values of node (i, j): what reaches a node of the grid and is not zero. `beside`: rows of other
/// subdomains below this one's and above, which are of the grid then.
template <class Take>
void for_entries(const double* stencil, const GridLayout<2>& shape, int beside, int i, int j, const Take& take) {
  const auto neighbour = [](int k, int n, bool periodic) { return periodic ? (k + n) % n : k >= 0 && k < n ? k : -1; };
  for (int e = 0; e < 9; ++e) {
    if (stencil[e] == 0) continue;
    const int p = neighbour(i + e % 3 - 1, shape.nx, shape.periodic_x), to = j + e / 3 - 1;
    const bool there = beside > 0 && ((to < 0 && shape.below) || (to == shape.ny && shape.above));
    const int q = there ? to : neighbour(to, shape.ny, shape.periodic_y && !shape.below);
    if (p >= 0 && (there || q >= 0)) take((q + beside) * shape.nx + p, stencil[e]);
  }
}

/// Entries begin .. end by columns: neighbours across a periodic boundary come out of order.
void sort_row(SparseRows& rows, std::size_t begin, std::size_t end) {
  std::vector<std::pair<int, double>> entries;
  for (std::size_t k = begin; k < end; ++k) entries.emplace_back(rows.column[k], rows.value[k]);
  std::sort(entries.begin(), entries.end());
  for (std::size_t k = 0; k < entries.size(); ++k) std::tie(rows.column[begin + k], rows.value[begin + k]) = entries[k];
}

/// For a few rows of numbers in the operator's memory, which the host need not be able to read.
Field<double> stencil_buffer(Context& ctx, const GridLayout<2>& shape) {
  expects(shape.nodes() <= std::numeric_limits<int>::max() / 9, shape.nodes(), " unknowns have more than 2^31 entries");
  if (shape.nodes() == 0) return {};
  constexpr int nodes_at_once = 1 << 18;
  return {ctx, 9 * shape.nx * std::clamp(nodes_at_once / shape.nx, 1, shape.ny)};
}

/// `buffer`: 9 numbers a node of so many rows as fit, one at least.
SparseRows rows_of(Context& ctx, const GridOperator<double>& a, int beside, Field<double>& buffer) {
  const auto shape = a.shape();
  SparseRows rows;
  rows.rows = static_cast<int>(shape.nodes());
  rows.columns = rows.rows + 2 * beside * shape.nx;
  if (rows.rows == 0) return rows;
  rows.start.resize(static_cast<std::size_t>(rows.rows) + 1);
  const int rows_at_once = std::min(static_cast<int>(buffer.shape().nodes()) / (9 * shape.nx), shape.ny);
  expects(rows_at_once > 0, "memory for the entries of a row is of ", 9 * shape.nx, " numbers, not ",
          buffer.shape().nodes());
  std::vector<double> copied(ctx.on_gpu() ? static_cast<std::size_t>(buffer.shape().nodes()) : 0);
  const double* const stencils = ctx.on_gpu() ? copied.data() : buffer.view().data;
  for (int first = 0; first < shape.ny; first += rows_at_once) {
    const int end = std::min(first + rows_at_once, shape.ny);
    a.visit([&]<class View>(const View& view) {
      for_each_node(ctx, {0, shape.nx, 1, first, end, 1},
                    StoreStencil<View>{view, buffer.view().data, shape.nx, first});
    });
    if (ctx.on_gpu()) copy_to_host(ctx, buffer.cview(), copied.data());
    const auto stencil = [&](int i, int j) { return stencils + 9 * (std::int64_t{j - first} * shape.nx + i); };
    const auto node = [&](int i, int j) { return static_cast<std::size_t>(std::int64_t{j} * shape.nx + i); };
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
    for (int j = first; j < end; ++j)
      for (int i = 0; i < shape.nx; ++i) {
        int count = 0;
        for_entries(stencil(i, j), shape, beside, i, j, [&](int /*column*/, double /*value*/) { ++count; });
        rows.start[node(i, j) + 1] = count;
      }
    for (std::size_t k = node(0, first); k < node(0, end); ++k) rows.start[k + 1] += rows.start[k];
    const auto entries = static_cast<std::size_t>(rows.start[node(0, end)]);
    // Room for all that follows, if it is like what came so far.
    if (first == 0 && end < shape.ny) {
      const std::size_t all =
          entries / static_cast<std::size_t>(end) * static_cast<std::size_t>(shape.ny + rows_at_once);
      rows.column.reserve(all);
      rows.value.reserve(all);
    }
    rows.column.resize(entries);
    rows.value.resize(entries);
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
    for (int j = first; j < end; ++j)
      for (int i = 0; i < shape.nx; ++i) {
        const auto begin = static_cast<std::size_t>(rows.start[node(i, j)]);
        std::size_t k = begin;
        for_entries(stencil(i, j), shape, beside, i, j, [&](int column, double value) {
          rows.column[k] = column;
          rows.value[k++] = value;
        });
        if (shape.periodic_x || shape.periodic_y) sort_row(rows, begin, k);
      }
  }
  return rows;
}

}  // namespace

SparseRows sparse_rows(Context& ctx, const GridOperator<double>& a, Field<double>& stencils) {
  return rows_of(ctx, a, 0, stencils);
}

SparseRows sparse_rows(Context& ctx, const GridOperator<double>& a) {
  Field<double> buffer = stencil_buffer(ctx, a.shape());
  return rows_of(ctx, a, 0, buffer);
}

SparseRows subdomain_rows(Context& ctx, const GridOperator<double>& a) {
  Field<double> buffer = stencil_buffer(ctx, a.shape());
  return rows_of(ctx, a, 1, buffer);
}

GridOperator<double> grid_operator(Context& ctx, const SparseRows& a, const GridLayout<2>& shape) {
  a.validate();
  expects(a.rows == a.columns && shape.nodes() == a.rows, "a grid of ", shape.nx, " x ", shape.ny,
          " unknowns does not fit a matrix of ", a.rows, " x ", a.columns);
  const bool symmetric = a.is_symmetric(0);  // bit for bit: five bands must hold the same matrix
  const auto nodes = static_cast<std::size_t>(shape.nodes());
  // Of a symmetric matrix the centre and what follows it, the second half of the nine.
  const std::size_t count = symmetric ? 5 : 9;
  std::vector<std::vector<double>> bands(count, std::vector<double>(nodes));
  for (std::size_t row = 0; row < nodes; ++row)
    for (auto k = static_cast<std::size_t>(a.start[row]); k < static_cast<std::size_t>(a.start[row + 1]); ++k) {
      const int i = static_cast<int>(row) % shape.nx, j = static_cast<int>(row) / shape.nx;
      const int dx = a.column[k] % shape.nx - i, dy = a.column[k] / shape.nx - j;
      expects(std::abs(dx) <= 1 && std::abs(dy) <= 1, "entry (", row + static_cast<std::size_t>(a.first_row), ", ",
              a.column[k] + a.first_row, ") couples nodes that are no ", "neighbours on a grid of ", shape.nx, " x ",
              shape.ny);
      const int band = band_index(dx, dy) - (symmetric ? 4 : 0);
      if (band >= 0) bands[static_cast<std::size_t>(band)][row] = a.value[k];
    }
  if (symmetric) {
    SymmetricNineBand<double> grid(ctx, shape);
    for (std::size_t b = 0; b < count; ++b) copy_from_host(ctx, bands[b].data(), grid.band[b].view());
    return {std::move(grid)};
  }
  NineBandMatrix<double> grid(ctx, shape);
  for (std::size_t b = 0; b < count; ++b) copy_from_host(ctx, bands[b].data(), grid.band[b].view());
  return {std::move(grid)};
}

namespace {

template <RowSums what, class T>
STRATUM_SIMD_CLONES void csr_rows(const CsrView<T> a, const T* b, const T* x, T* r, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    // Four sums, so that additions need not wait for each other.
    T sum[4] = {};
    int k = a.start[i];
    const int row_end = a.start[i + 1];
    for (; k + 4 <= row_end; k += 4)
#pragma GCC unroll 4
      for (int s = 0; s < 4; ++s) sum[s] += a.value[k + s] * x[a.column[k + s]];
    for (int s = 0; k < row_end; ++k, ++s) sum[s] += a.value[k] * x[a.column[k]];
    const T total = (sum[0] + sum[2]) + (sum[1] + sum[3]);
    r[i] = row_result<what>(b, i, total);
  }
}

#if defined(__CUDACC__)
/// `width` neighbouring threads take a row together and add up in a tree.
template <int width, RowSums what, class T>
__global__ void csr_kernel(const CsrView<T> a, const T* b, const T* x, T* r, int n) {
  cuda::after_previous();
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto i = static_cast<int>(thread / width);
  const auto lane = static_cast<int>(thread % width);
  T sum = 0;
  if (i < n)
    for (int k = a.start[i] + lane; k < a.start[i + 1]; k += width) sum += a.value[k] * x[a.column[k]];
  for (int distance = width / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(~0U, sum, distance, width);
  if (i < n && lane == 0) r[i] = row_result<what>(b, i, sum);
}

template <int width, RowSums what, class T>
void launch_csr(Context& ctx, const CsrView<T>& a, const T* b, const T* x, T* r, int n) {
  constexpr int threads = 128;
  const auto blocks = static_cast<unsigned>((std::int64_t{n} * width + threads - 1) / threads);
  cuda::Launch{blocks, threads}(ctx, csr_kernel<width, what, T>, a, b, x, r, n);
}
#endif

/// What a kernel makes of the sum of row i.
template <RowSums what, class T>
struct StoreRow {
  const T* b;
  T* r;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, T sum) const { r[i] = row_result<what>(b, i, sum); }
};

/// (|A| |x| + |b|)_i
template <class T>
struct SlicedRowMagnitude {
  SlicedView<T> a;
  const T *b, *x;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int /*j*/) const {
    T sum = magnitude_of(b[i]);
    const int rows = 32 / a.lanes, slice = i / rows;
    for (int step = a.start[slice]; step < a.start[slice + 1]; ++step)
      for (int l = i % rows; l < 32; l += rows) {
        const std::int64_t k = std::int64_t{step} * 32 + l;
        sum += magnitude_of(a.value[k] * x[a.column[k]]);
      }
    return static_cast<double>(sum);
  }
};
template <class T>
struct CsrRowMagnitude {
  CsrView<T> a;
  const T *b, *x;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int /*j*/) const {
    T sum = magnitude_of(b[i]);
    for (int k = a.start[i]; k < a.start[i + 1]; ++k) sum += magnitude_of(a.value[k] * x[a.column[k]]);
    return static_cast<double>(sum);
  }
};

template <RowSums what, class T>
void run_rows(Context& ctx, const CsrMatrix<T>& a, const T* b, const T* x, T* r) {
  const int n = a.shape().nx;
  const auto view = a.view();
  if (n == 0) return;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    if (a.slices() != nullptr) return a.slices()->run(ctx, x, StoreRow<what, T>{b, r});
    const std::int64_t mean = a.entries() / n;
    if (mean <= 2) return launch_csr<1, what>(ctx, view, b, x, r, n);
    if (mean <= 4) return launch_csr<2, what>(ctx, view, b, x, r, n);
    if (mean <= 8) return launch_csr<4, what>(ctx, view, b, x, r, n);
    if (mean <= 16) return launch_csr<8, what>(ctx, view, b, x, r, n);
    if (mean <= 32) return launch_csr<16, what>(ctx, view, b, x, r, n);
    return launch_csr<32, what>(ctx, view, b, x, r, n);
  }
#endif
  // Parts of equal numbers of rows, taken as threads come free: rows may differ in length.
  constexpr int part = 1024;
  const int parts = (n - 1) / part + 1;
#pragma omp parallel for schedule(dynamic, 4) num_threads(ctx.threads()) if (a.entries() > serial_limit)
  for (int k = 0; k < parts; ++k) csr_rows<what, T>(view, b, x, r, k * part, std::min(n, (k + 1) * part));
}

}  // namespace

template <class T>
CsrMatrix<T>::CsrMatrix(Context& ctx, const SparseRows& a, RowLayout layout, int lanes)
    : n_(a.rows), entries_(a.entries()) {
  a.validate();
  expects(a.rows == a.columns, "an operator is square, not ", a.rows, " x ", a.columns);
  expects(a.rows < std::numeric_limits<int>::max(), "too many rows: ", a.rows);
  std::vector<T> values(a.value.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    expects(!(std::abs(a.value[k]) > static_cast<double>(std::numeric_limits<T>::max())), "an entry of ", a.value[k],
            " does not fit the precision of the operator; compute in double precision (--precision double; in Python "
            "single_precision=False)");
    values[k] = static_cast<T>(a.value[k]);
  }
  if (ctx.on_gpu() && n_ > 0 && layout != RowLayout::rows) {
    constexpr double tolerated_padding = 1.25;
    constexpr std::int64_t long_row = 64;
    if (lanes == 0) lanes = SlicedRows<T>::usual_lanes(n_);
    const auto padded = static_cast<double>(32 * SlicedRows<T>::steps(a, lanes));
    if (layout == RowLayout::slices ||
        (entries_ <= long_row * n_ && padded <= tolerated_padding * static_cast<double>(entries_))) {
      slices_ = std::make_shared<const SlicedRows<T>>(ctx, a, lanes);
      return;
    }
  }
  start_ = vector_from_host(ctx, a.start);
  column_ = vector_from_host(ctx, a.column);
  value_ = vector_from_host(ctx, values);
}

template <class T>
void CsrMatrix<T>::apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "A x", y, shape());
  run_rows<RowSums::product, T>(ctx, *this, nullptr, x.data, y.data);
}

template <class T>
void CsrMatrix<T>::residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const {
  expects_fit(ctx, "b", b, shape());
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "b - A x", r, shape());
  run_rows<RowSums::residual, T>(ctx, *this, b.data, x.data, r.data);
}

template <class T>
double CsrMatrix<T>::magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const {
  expects_fit(ctx, "b", b, shape());
  expects_fit(ctx, "x", x, shape());
  if (slices_) return norm_of(ctx, n_, 1, SlicedRowMagnitude<T>{slices_->view(), b.data, x.data});
  return norm_of(ctx, n_, 1, CsrRowMagnitude<T>{view(), b.data, x.data});
}

template class CsrMatrix<float>;
template class CsrMatrix<double>;

}  // namespace stratum
