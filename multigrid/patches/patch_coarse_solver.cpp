#include <stratum/multigrid/patches/patch_coarse_solver.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/patches/in_memory.hpp>

namespace stratum {

namespace {

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// Reverse Cuthill-McKee.
std::vector<int> reverse_cuthill_mckee(const PatchUnknowns& a) {
  const int n = a.count();
  const auto degree = [&](int k) { return a.row_begin[at(k) + 1] - a.row_begin[at(k)]; };
  std::vector<int> order;
  std::vector<int> level(at(n), -1);
  const auto from = [&](int root, std::vector<int>& nodes) {
    const std::size_t first = nodes.size();
    nodes.push_back(root);
    level[at(root)] = 0;
    for (std::size_t k = first; k < nodes.size(); ++k) {
      const int u = nodes[k];
      const std::size_t begin = nodes.size();
      for (int c = a.row_begin[at(u)]; c < a.row_begin[at(u) + 1]; ++c) {
        const int w = a.column[at(c)];
        if (level[at(w)] >= 0) continue;
        level[at(w)] = level[at(u)] + 1;
        nodes.push_back(w);
      }
      std::sort(nodes.begin() + static_cast<std::ptrdiff_t>(begin), nodes.end(),
                [&](int p, int q) { return std::pair(degree(p), p) < std::pair(degree(q), q); });
    }
  };
  for (int k = 0; k < n; ++k) {
    if (level[at(k)] >= 0) continue;
    // From a node that is far from others: the last of a search from the last of a search.
    int root = k;
    for (int times = 0; times < 3; ++times) {
      std::vector<int> nodes;
      from(root, nodes);
      root = nodes.back();
      for (const int u : nodes) level[at(u)] = -1;
    }
    from(root, order);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

#if defined(__CUDACC__)

template <class T>
__global__ void gather_kernel(const int* copies, const int* begin, int unknowns, const T* b, double* rhs) {
  cuda::after_previous();
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= unknowns) return;
  double sum = 0;
  for (int c = begin[k]; c < begin[k + 1]; ++c) sum += static_cast<double>(b[copies[c]]);
  rhs[k] = sum;
}

/// Numbers k .. k + 3 of a row, which begins at a multiple of four.
__device__ STRATUM_INLINE void four(const float* from, double (&to)[4]) {
  const float4 numbers = *reinterpret_cast<const float4*>(from);
  to[0] = static_cast<double>(numbers.x);
  to[1] = static_cast<double>(numbers.y);
  to[2] = static_cast<double>(numbers.z);
  to[3] = static_cast<double>(numbers.w);
}
__device__ STRATUM_INLINE void four(const double* from, double (&to)[4]) {
  const double2 first = *reinterpret_cast<const double2*>(from), second = *reinterpret_cast<const double2*>(from + 2);
  to[0] = first.x;
  to[1] = first.y;
  to[2] = second.x;
  to[3] = second.y;
}

/// A warp for two rows.
template <class Entry, class T>
__global__ void multiply_kernel(const Entry* inverse, int pitch, const double* rhs, const int* copies, const int* begin,
                                int unknowns, T* x) {
  cuda::after_previous();
  const int row = 2 * static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y), lane = static_cast<int>(threadIdx.x);
  if (row >= unknowns) return;
  const int next = row + 1 < unknowns ? row + 1 : row;
  const Entry* numbers[2] = {inverse + static_cast<long long>(row) * pitch,
                             inverse + static_cast<long long>(next) * pitch};
  double sum[2] = {};
#pragma unroll 4
  for (int k = 4 * lane; k < pitch; k += 128) {
    double b[4], a[2][4];
    four(rhs + k, b);
    four(numbers[0] + k, a[0]);
    four(numbers[1] + k, a[1]);
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      sum[0] += a[0][m] * b[m];
      sum[1] += a[1][m] * b[m];
    }
  }
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    for (int step = 16; step > 0; step /= 2) sum[m] += __shfl_xor_sync(0xffffffffU, sum[m], step);
    const int of = m == 0 ? row : next;
    for (int c = begin[of] + lane; c < begin[of + 1]; c += 32) x[copies[c]] = static_cast<T>(sum[m]);
  }
}

#endif

}  // namespace

PatchCoarseSolver::PatchCoarseSolver(Context& ctx, const PatchLevelOnHost& level, bool singular, bool single)
    : singular_(singular) {
  const PatchUnknowns a = unknowns_of(level);
  unknowns_ = a.count();
  factor(a);
  numbers_.resize(at(unknowns_));
  host_copies_ = a.copies;
  host_begin_ = a.begin;
  if (!ctx.on_gpu()) return;
  const std::int64_t n = unknowns_;
  constexpr std::int64_t most = 12000;
  expects(n <= most, "the coarsest level of the patches has ", n, " unknowns; at most ", most,
          " are solved on a GPU. Use numbers of cells that can be halved, or fewer patches");
  copies_ = vector_from_host(ctx, a.copies);
  begin_ = vector_from_host(ctx, a.begin);
  pitch_ = (unknowns_ + 3) / 4 * 4;
  // From the beginning of a cache line on, where a Field is not. Where all nodes are Dirichlet nodes there are no numbers.
  rhs_ = in_memory(ctx, std::vector<double>(at(pitch_), 0.0));
  std::vector<double> inverse(at(n * pitch_), 0.0);
#pragma omp parallel num_threads(ctx.threads())
  {
    std::vector<double> column(at(n));
#pragma omp for schedule(dynamic, 8)
    for (int k = 0; k < unknowns_; ++k) {
      std::fill(column.begin(), column.end(), 0.0);
      column[at(k)] = 1;
      solve_factored(column);
      std::copy(column.begin(), column.end(), inverse.begin() + static_cast<std::ptrdiff_t>(std::int64_t{k} * pitch_));
    }
  }
  in_single_ = single && condition(a, inverse) < most_in_single;
  inverse_ = in_single_ ? in_memory(ctx, std::vector<float>(inverse.begin(), inverse.end())) : in_memory(ctx, inverse);
}

double PatchCoarseSolver::condition(const PatchUnknowns& a, const std::vector<double>& inverse) const {
  const int n = unknowns_;
  std::vector<double> root(at(n));
  for (int u = 0; u < n; ++u)
    for (int c = a.row_begin[at(u)]; c < a.row_begin[at(u) + 1]; ++c)
      if (a.column[at(c)] == u) root[at(u)] = std::sqrt(a.entry[at(c)]);
  double of_matrix = 0, of_inverse = 0;
  for (int u = 0; u < n; ++u) {
    double sum = 0, sum_of_inverse = 0;
    for (int c = a.row_begin[at(u)]; c < a.row_begin[at(u) + 1]; ++c)
      sum += std::abs(a.entry[at(c)]) / (root[at(u)] * root[at(a.column[at(c)])]);
    for (int k = 0; k < n; ++k)
      sum_of_inverse += std::abs(inverse[at(std::int64_t{u} * pitch_ + k)]) * (root[at(u)] * root[at(k)]);
    of_matrix = std::max(of_matrix, sum);
    of_inverse = std::max(of_inverse, sum_of_inverse);
  }
  return of_matrix * of_inverse;
}

void PatchCoarseSolver::factor(const PatchUnknowns& a) {
  const int n = unknowns_;
  order_ = reverse_cuthill_mckee(a);
  std::vector<int> row_of(at(n));
  for (int k = 0; k < n; ++k) row_of[at(order_[at(k)])] = k;
  for (int u = 0; u < n; ++u)
    for (int c = a.row_begin[at(u)]; c < a.row_begin[at(u) + 1]; ++c)
      width_ = std::max(width_, std::abs(row_of[at(u)] - row_of[at(a.column[at(c)])]));
  const std::int64_t w = width_, stride = w + 1;
  factor_.assign(at(n * stride), 0.0);
  const auto entry = [&](int row, int column) -> double& { return factor_[at(row * stride + column - row + w)]; };
  for (int u = 0; u < n; ++u)
    for (int c = a.row_begin[at(u)]; c < a.row_begin[at(u) + 1]; ++c) {
      const int row = row_of[at(u)], column = row_of[at(a.column[at(c)])];
      if (column <= row) entry(row, column) = a.entry[at(c)];
    }
  if (singular_ && n > 0) {
    for (int k = std::max(0, n - 1 - width_); k < n - 1; ++k) entry(n - 1, k) = 0;
    entry(n - 1, n - 1) = 1;
  }
  for (int i = 0; i < n; ++i) {
    const int first = std::max(0, i - width_);
    const double given = entry(i, i);
    for (int j = first; j <= i; ++j) {
      double sum = entry(i, j);
      const int begin = std::max(first, j - width_);
      const double *p = &entry(i, begin), *q = &entry(j, begin);
      for (int k = 0; k < j - begin; ++k) sum -= p[k] * q[k];
      if (j < i) {
        entry(i, j) = sum / entry(j, j);
        continue;
      }
      breaks_down_unless(sum > 0 && std::isfinite(sum),
                         "the matrix of the coarsest level of the patches is not positive ", "definite: pivot ", sum,
                         " in a row with ", given,
                         " on its diagonal. Cells or coefficients differ by more than double precision holds");
      entry(i, i) = std::sqrt(sum);
    }
  }
}

void PatchCoarseSolver::solve_factored(std::vector<double>& v) const {
  const int n = unknowns_;
  const std::int64_t w = width_, stride = w + 1;
  const auto project = [&] {
    if (!singular_ || n == 0) return;
    const double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
    for (double& number : v) number -= mean;
  };
  project();
  std::vector<double> y(at(n));
  for (int i = 0; i < n; ++i) y[at(i)] = v[at(order_[at(i)])];
  if (singular_ && n > 0) y[at(n - 1)] = 0;
  for (int i = 0; i < n; ++i) {
    const int first = std::max(0, i - width_);
    const double* row = factor_.data() + i * stride + w - i;
    double sum = y[at(i)];
    for (int k = first; k < i; ++k) sum -= row[k] * y[at(k)];
    y[at(i)] = sum / row[i];
  }
  for (int i = n - 1; i >= 0; --i) {
    const int first = std::max(0, i - width_);
    const double* row = factor_.data() + i * stride + w - i;
    const double value = y[at(i)] / row[i];
    y[at(i)] = value;
    for (int k = first; k < i; ++k) y[at(k)] -= row[k] * value;
  }
  for (int i = 0; i < n; ++i) v[at(order_[at(i)])] = y[at(i)];
  project();
}

template <class T>
void PatchCoarseSolver::solve(Context& ctx, const Partial<T>& b, Consistent<T>& x) {
  if (ctx.is_dry_run() || unknowns_ == 0) return;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    const auto blocks = [](int items, int each) { return static_cast<unsigned>((items + each - 1) / each); };
    cuda::Launch{blocks(unknowns_, 128), 128}(ctx, gather_kernel<T>, copies_.view().data, begin_.view().data, unknowns_,
                                              b.numbers.view().data, static_cast<double*>(rhs_.get()));
    const auto multiply = [&](auto* inverse, auto kernel) {
      cuda::Launch{blocks(unknowns_, 8), dim3(32, 4)}(ctx, kernel, inverse, pitch_, static_cast<double*>(rhs_.get()),
                                                      copies_.view().data, begin_.view().data, unknowns_,
                                                      x.numbers.view().data);
    };
    if (in_single_)
      multiply(static_cast<float*>(inverse_.get()), multiply_kernel<float, T>);
    else
      multiply(static_cast<double*>(inverse_.get()), multiply_kernel<double, T>);
    return;
  }
#endif
  const T* from = b.numbers.view().data;
  for (int k = 0; k < unknowns_; ++k) {
    double sum = 0;
    for (int c = host_begin_[at(k)]; c < host_begin_[at(k) + 1]; ++c)
      sum += static_cast<double>(from[host_copies_[at(c)]]);
    numbers_[at(k)] = sum;
  }
  solve_factored(numbers_);
  T* to = x.numbers.view().data;
  for (int k = 0; k < unknowns_; ++k)
    for (int c = host_begin_[at(k)]; c < host_begin_[at(k) + 1]; ++c)
      to[host_copies_[at(c)]] = static_cast<T>(numbers_[at(k)]);
}

template void PatchCoarseSolver::solve(Context&, const Partial<float>&, Consistent<float>&);
template void PatchCoarseSolver::solve(Context&, const Partial<double>&, Consistent<double>&);

}  // namespace stratum
