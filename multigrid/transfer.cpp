#include <stratum/multigrid/transfer.hpp>

#include <algorithm>
#include <vector>

#include <stratum/core/blas.hpp>
#include <stratum/core/for_each_node.hpp>
#include <stratum/core/residual_row.hpp>
#include <stratum/core/simd.hpp>
#include <stratum/multigrid/transfer_functors.hpp>

namespace stratum {

namespace {

/// CPU: one fine row of a coarsened x direction, in blocks that stay in the nearest cache.
template <bool add, class T>
STRATUM_SIMD_CLONES void prolongate_row(const ProlongateCoarsened<add, T> p, const int j) {
  constexpr int block = 256;
  const auto rows = coarse_rows(p.y, j);
  T edge[block + 1], middle[block];  // the coarse rows combined, from node begin - 1 on; the new nodes
  const int pairs = p.coarse.nx;
  for (int begin = 0; begin < pairs; begin += block) {
    const int length = std::min(block, pairs - begin);
    const T *c0 = &p.coarse(begin - 1, rows.j0), *c1 = &p.coarse(begin - 1, rows.j1);
    const T *left = p.x.left + begin, *right = p.x.right + begin;
#pragma omp simd
    for (int n = 0; n <= length; ++n) edge[n] = rows.w0 * c0[n] + rows.w1 * c1[n];
#pragma omp simd
    for (int n = 0; n < length; ++n) middle[n] = left[n] * edge[n] + right[n] * edge[n + 1];
    simd::interleave<add>(middle, edge + 1, length, &p.fine(2 * begin, j));
  }
  p(pairs, j);
}

/// CPU: coarse rows begin .. end - 1; every fine row is computed once and kept while coarse rows need it.
template <class View, class T>
STRATUM_SIMD_CLONES void restrict_rows(const ComputedDefect<View, T> defect, const TransferView<T> x,
                                       const TransferView<T> y, const GridView<T> coarse, const int begin,
                                       const int end, T* lower, T* middle) {
  const int fine_nx = defect.b.nx;
  const auto add_row = [&](int j, T weight, T* to) __attribute__((always_inline)) {
    residual_row<T>(
        defect.a, defect.b, defect.x, j, 0, fine_nx,
        [ to, weight ](int i, T d) __attribute__((always_inline)) { to[i] += weight * d; });
  };
  const bool coarsened_y = y.left != nullptr;
  std::fill_n(lower, fine_nx, T(0));
  if (coarsened_y) add_row(2 * begin, y.right[begin], lower);
  for (int j = begin; j < end; ++j) {
    if (coarsened_y) {
      add_row(2 * j + 1, T(1), lower);
      // Fine row 2 j + 2 belongs to this coarse row and to the next.
      const T here = y.left[j + 1], next = j + 1 < end ? y.right[j + 1] : T(0);
      residual_row<T>(
          defect.a, defect.b, defect.x, 2 * j + 2, 0, fine_nx,
          [ lower, middle, here, next ](int i, T d) __attribute__((always_inline)) {
            lower[i] += here * d;
            middle[i] = next * d;
          });
    } else {
      std::fill_n(middle, fine_nx, T(0));
      add_row(j, T(1), lower);
    }
    if (x.left != nullptr) {
#pragma omp simd
      for (int i = 0; i < coarse.nx; ++i)
        coarse(i, j) = x.right[i] * lower[2 * i] + lower[2 * i + 1] + x.left[i + 1] * lower[2 * i + 2];
    } else {
      for (int i = 0; i < coarse.nx; ++i) coarse(i, j) = lower[i];
    }
    std::swap(lower, middle);
  }
}

}  // namespace

template <class T>
TransferView<T> Transfer<T>::Direction::view() const {
  if (left.empty()) return {};
  return {left.view().data, right.view().data};
}

template <class T>
Transfer<T>::Transfer(Context& ctx, const TensorMesh& fine, const TensorMesh& coarse) {
  const auto build = [&](const Intervals& f, const Intervals& c, Direction& direction) {
    if (f.size() == c.size()) return;
    expects(f.size() == 2 * c.size(), "a transfer needs as many intervals or twice as many, not ", f.size(), " over ",
            c.size());
    std::vector<T> left, right;
    for (std::size_t k = 0; k < c.widths().size(); ++k) {
      const double wl = f.widths()[2 * k], wr = f.widths()[2 * k + 1];
      left.push_back(static_cast<T>(wr / (wl + wr)));
      right.push_back(static_cast<T>(wl / (wl + wr)));
    }
    direction.left = Vector<T>(ctx, c.size());
    direction.right = Vector<T>(ctx, c.size());
    copy_from_host(ctx, left.data(), direction.left.view());
    copy_from_host(ctx, right.data(), direction.right.view());
  };
  build(fine.x(), coarse.x(), x_);
  build(fine.y(), coarse.y(), y_);
  if (!ctx.on_gpu()) rows_ = Vector<T>(ctx, GridShape{fine.unknowns().nx, 2 * ctx.threads(), 0, 0});
}

namespace {

template <bool add, class T>
void prolongate_impl(Context& ctx, const TransferView<T>& x, const TransferView<T>& y, GridView<const T> coarse,
                     GridView<T> fine) {
  exchange(ctx, coarse);
  if (x.left == nullptr) return for_each_node(ctx, all_nodes(fine), ProlongateIdentity<add, T>{y, coarse, fine});
  const ProlongateCoarsened<add, T> node{x, y, coarse, fine};
  if (ctx.on_gpu()) return for_each_node(ctx, {0, coarse.nx + 1, 1, 0, fine.ny, 1}, node);
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (fine.nodes() > serial_limit)
  for (int j = 0; j < fine.ny; ++j) prolongate_row(node, j);
}

}  // namespace

template <class T>
void Transfer<T>::prolongate_add(Context& ctx, GridView<const T> coarse, GridView<T> fine) const {
  prolongate_impl<true>(ctx, x_.view(), y_.view(), coarse, fine);
}

template <class T>
void Transfer<T>::prolongate(Context& ctx, GridView<const T> coarse, GridView<T> fine) const {
  prolongate_impl<false>(ctx, x_.view(), y_.view(), coarse, fine);
}

template <class T>
void Transfer<T>::restrict_to(Context& ctx, GridView<const T> fine, GridView<T> coarse) const {
  for_each_node(ctx, all_nodes(coarse), Restrict<GivenDefect<T>, T>{x_.view(), y_.view(), {fine}, coarse});
}

template <class T>
void Transfer<T>::restrict_residual(Context& ctx, const GridOperator<T>& a, GridView<const T> b, GridView<const T> x,
                                    GridView<T> coarse) const {
  exchange(ctx, x);
  a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    const ComputedDefect<View, T> defect{view, b, x};
    if (ctx.on_gpu())
      return for_each_node(ctx, all_nodes(coarse),
                           Restrict<ComputedDefect<View, T>, T>{x_.view(), y_.view(), defect, coarse});
    const int team = std::min(ctx.threads(), rows_.shape().ny / 2);
    const GridView<T> rows = rows_.view();
#pragma omp parallel for schedule(static, 1) num_threads(team) if (b.nodes() > serial_limit)
    for (int part = 0; part < team; ++part) {
      const auto share = [&](int p) { return static_cast<int>(std::int64_t{coarse.ny} * p / team); };
      if (share(part) == share(part + 1)) continue;
      restrict_rows<View, T>(defect, x_.view(), y_.view(), coarse, share(part), share(part + 1), &rows(0, 2 * part),
                             &rows(0, 2 * part + 1));
    }
  });
}

template class Transfer<float>;
template class Transfer<double>;

}  // namespace stratum
