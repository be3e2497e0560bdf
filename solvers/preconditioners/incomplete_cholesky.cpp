#include <stratum/solvers/preconditioners/incomplete_cholesky.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/for_each_node.hpp>
#include <stratum/solvers/preconditioner.hpp>

namespace stratum {

void register_incomplete_cholesky(PreconditionerRegistry& registry);

namespace {

struct Factor {
  SparseRows lower;  // L, strictly below the diagonal
  std::vector<double> pivots;
};

/// Row by row: l_ij d_j = a_ij - sum over k < j of l_ik d_k l_jk on the pattern of a, d_i = a_ii - sum of l_ik^2 d_k.
Factor factorise(const SparseRows& a, int block_size, double shift) {
  Factor f;
  f.lower.rows = f.lower.columns = a.rows;
  f.pivots.resize(static_cast<std::size_t>(a.rows));
  auto& l = f.lower;
  for (int i = 0; i < a.rows; ++i) {
    const int first = i - i % block_size;
    const auto begin = l.value.size();
    double diagonal = 0;
    for (int k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1]; ++k) {
      const int j = a.column[static_cast<std::size_t>(k)];
      const double a_ij = a.value[static_cast<std::size_t>(k)];
      if (j == i) diagonal = a_ij;
      if (j < first || j >= i) continue;
      // Row i as far as it is known and row j, both with increasing columns.
      double sum = a_ij;
      auto p = begin;
      auto q = static_cast<std::size_t>(l.start[static_cast<std::size_t>(j)]);
      const auto q_end = static_cast<std::size_t>(l.start[static_cast<std::size_t>(j) + 1]);
      while (p < l.value.size() && q < q_end) {
        if (l.column[p] == l.column[q])
          sum -= l.value[p] * f.pivots[static_cast<std::size_t>(l.column[p])] * l.value[q];
        const int column_p = l.column[p], column_q = l.column[q];
        p += column_p <= column_q ? 1 : 0;
        q += column_q <= column_p ? 1 : 0;
      }
      l.column.push_back(j);
      l.value.push_back(sum / f.pivots[static_cast<std::size_t>(j)]);
    }
    double pivot = diagonal * (1 + shift);
    for (auto k = begin; k < l.value.size(); ++k)
      pivot -= l.value[k] * l.value[k] * f.pivots[static_cast<std::size_t>(l.column[k])];
    breaks_down_unless(pivot > std::numeric_limits<double>::epsilon() * std::abs(diagonal) && std::isfinite(pivot),
                       "incomplete Cholesky breaks down in row ", a.first_row + i, ": the pivot is ", pivot,
                       " where the diagonal is ", diagonal,
                       shift > 0 ? ", even with a shift of " : "; the matrix is indefinite, or wants a shift above ",
                       shift, " (0.001, 0.01, ...)");
    f.pivots[static_cast<std::size_t>(i)] = pivot;
    l.start.push_back(static_cast<int>(l.value.size()));
  }
  return f;
}

/// Rows in the order of their levels, and the beginnings of levels: a row's level is one above its highest predecessor's.
struct Levels {
  std::vector<int> rows, begin;
};

Levels find_levels(const SparseRows& triangle, bool backward) {
  const int n = triangle.rows;
  std::vector<int> level(static_cast<std::size_t>(n));
  int highest = -1;
  for (int m = 0; m < n; ++m) {
    const auto i = static_cast<std::size_t>(backward ? n - 1 - m : m);
    int own = 0;
    for (int k = triangle.start[i]; k < triangle.start[i + 1]; ++k)
      own = std::max(own, level[static_cast<std::size_t>(triangle.column[static_cast<std::size_t>(k)])] + 1);
    level[i] = own;
    highest = std::max(highest, own);
  }
  Levels levels;
  levels.begin.assign(static_cast<std::size_t>(highest) + 2, 0);
  for (const int own : level) ++levels.begin[static_cast<std::size_t>(own) + 1];
  for (std::size_t k = 1; k < levels.begin.size(); ++k) levels.begin[k] += levels.begin[k - 1];
  levels.rows.resize(static_cast<std::size_t>(n));
  auto next = levels.begin;
  for (int i = 0; i < n; ++i)
    levels.rows[static_cast<std::size_t>(next[static_cast<std::size_t>(level[static_cast<std::size_t>(i)])]++)] = i;
  return levels;
}

/// The number of unknown k on the grid.
template <class X>
STRATUM_HOST_DEVICE STRATUM_INLINE auto& number(const X& x, int k) {
  return x.ny == 1 ? x.data[k] : x(k % x.nx, k / x.nx);
}

/// z_i = r_i - sum over j of l_ij z_j, and z_i = z_i / d_i - sum over j of l_ji z_j.
template <bool backward, class T>
struct SolveRow {
  CsrView<T> triangle;
  const T* inverse_pivots;
  GridView<const T> r;
  GridView<T> z;
  const int* rows = nullptr;  // of the levels, on a GPU

  STRATUM_HOST_DEVICE STRATUM_INLINE void row(int i) const {
    T sum = backward ? inverse_pivots[i] * number(z, i) : number(r, i);
    for (int k = triangle.start[i]; k < triangle.start[i + 1]; ++k)
      sum -= triangle.value[k] * number(z, triangle.column[k]);
    number(z, i) = sum;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int m, int /*j*/) const { row(rows[m]); }
};

}  // namespace

template <class T>
typename IncompleteCholesky<T>::Triangle IncompleteCholesky<T>::upload(Context& ctx, const SparseRows& rows) const {
  Triangle t{{ctx, static_cast<int>(rows.start.size())},
             {ctx, static_cast<int>(rows.column.size())},
             {ctx, static_cast<int>(rows.value.size())}};
  const std::vector<T> values(rows.value.begin(), rows.value.end());
  copy_from_host(ctx, rows.start.data(), t.start.view());
  copy_from_host(ctx, rows.column.data(), t.column.view());
  copy_from_host(ctx, values.data(), t.value.view());
  return t;
}

template <class T>
IncompleteCholesky<T>::IncompleteCholesky(Context& ctx, const GridShape& shape, const SparseRows& a,
                                          const IncompleteCholeskyParams& params)
    : shape_(shape), block_size_(params.block_size > 0 ? params.block_size : std::max(a.rows, 1)) {
  expects(params.block_size >= 0, "a block has 1 row or more (0: all), not ", params.block_size);
  expects(params.shift >= 0 && std::isfinite(params.shift), "the shift must be from 0 on, not ", params.shift);
  a.validate();
  expects(shape.nodes() == a.rows, "a matrix of ", a.rows, " rows for vectors of ", shape.nodes());
  expects(a.is_symmetric(1e-12), "incomplete Cholesky needs a symmetric matrix; use jacobi or none");
  blocks_ = (a.rows + block_size_ - 1) / block_size_;
  const auto factor = factorise(a, block_size_, params.shift);
  const auto upper = transposed(factor.lower);
  lower_ = upload(ctx, factor.lower);
  upper_ = upload(ctx, upper);
  std::vector<T> inverse(factor.pivots.size());
  for (std::size_t i = 0; i < inverse.size(); ++i) inverse[i] = static_cast<T>(1 / factor.pivots[i]);
  inverse_pivots_ = SharedVector<T>(ctx, a.rows);
  copy_from_host(ctx, inverse.data(), inverse_pivots_.view());
  auto forward = find_levels(factor.lower, false), backward = find_levels(upper, true);
  if (ctx.on_gpu()) {
    forward_rows_ = SharedVector<int>(ctx, a.rows);
    backward_rows_ = SharedVector<int>(ctx, a.rows);
    copy_from_host(ctx, forward.rows.data(), forward_rows_.view());
    copy_from_host(ctx, backward.rows.data(), backward_rows_.view());
  }
  forward_levels_ = std::move(forward.begin);
  backward_levels_ = std::move(backward.begin);
}

template <class T>
void IncompleteCholesky<T>::apply(Context& ctx, GridView<const T> r, GridView<T> z) {
  expects_fit(ctx, "r", r, shape_);
  expects_fit(ctx, "z", z, shape_);
  const auto view = [](const Triangle& t) {
    return CsrView<T>{t.start.view().data, t.column.view().data, t.value.view().data};
  };
  const T* pivots = inverse_pivots_.view().data;
  SolveRow<false, T> forward{view(lower_), pivots, r, z};
  SolveRow<true, T> backward{view(upper_), pivots, r, z};
  if (ctx.on_gpu()) {
    forward.rows = forward_rows_.view().data;
    backward.rows = backward_rows_.view().data;
    recording_.run(ctx, r.data, z.data, [&] {
      for (std::size_t k = 0; k + 1 < forward_levels_.size(); ++k)
        for_each_node(ctx, {forward_levels_[k], forward_levels_[k + 1], 1, 0, 1, 1}, forward);
      for (std::size_t k = 0; k + 1 < backward_levels_.size(); ++k)
        for_each_node(ctx, {backward_levels_[k], backward_levels_[k + 1], 1, 0, 1, 1}, backward);
    });
    return;
  }
  const int n = static_cast<int>(shape_.nodes());
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (n > serial_limit && blocks_ > 1)
  for (int block = 0; block < blocks_; ++block) {
    const int first = block * block_size_, end = block + 1 < blocks_ ? first + block_size_ : n;
    for (int i = first; i < end; ++i) forward.row(i);
    for (int i = end - 1; i >= first; --i) backward.row(i);
  }
}

template class IncompleteCholesky<float>;
template class IncompleteCholesky<double>;

namespace {

template <class T>
std::unique_ptr<Preconditioner<T>> make_ic(Context& ctx, const GridShape& shape, const PreconditionerParams& params) {
  return std::make_unique<IncompleteCholesky<T>>(ctx, shape, params.matrix,
                                                 IncompleteCholeskyParams{.shift = params.incomplete_cholesky.shift});
}

template <class T>
std::unique_ptr<Preconditioner<T>> make_block_ic(Context& ctx, const GridShape& shape,
                                                 const PreconditionerParams& params) {
  IncompleteCholeskyParams blocks = params.incomplete_cholesky;
  if (blocks.block_size == 0) blocks.block_size = IncompleteCholeskyParams::usual_block_size;
  return std::make_unique<IncompleteCholesky<T>>(ctx, shape, params.matrix, blocks);
}

}  // namespace

void register_incomplete_cholesky(PreconditionerRegistry& registry) {
  registry.add(
      {{.symmetric = true}, "ic", "incomplete Cholesky without fill: A symmetric", make_ic<float>, make_ic<double>});
  registry.add({{.symmetric = true},
                "block-ic",
                "incomplete Cholesky in independent blocks of rows, which run in parallel: A symmetric",
                make_block_ic<float>,
                make_block_ic<double>});
}

}  // namespace stratum
