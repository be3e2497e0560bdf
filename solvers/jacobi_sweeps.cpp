#include <stratum/solvers/jacobi_sweeps.hpp>

#include <cmath>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

/// z = D^-1 t, and d the difference to the z before.
template <class T>
struct Sweep {
  static constexpr bool hot = true;
  FieldView<const T> inverse, t;
  FieldView<T> z, d;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const T next = inverse(i, j) * t(i, j);
    d(i, j) = next - z(i, j);
    z(i, j) = next;
  }
};

/// d = t - D z = r - A z
template <class T>
struct Remainder {
  static constexpr bool hot = true;
  FieldView<const T> inverse, t, z;
  FieldView<T> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    d(i, j) = t(i, j) - z(i, j) / inverse(i, j);
  }
};

}  // namespace

void JacobiSweepsParams::validate() const {
  expects(std::isfinite(tolerance) && tolerance > 0, "the tolerance of the sweeps must be finite and positive, not ",
          tolerance);
  expects(max_sweeps >= 1, "the limit of the sweeps must be 1 or more, not ", max_sweeps);
}

SparseRows without_diagonal(const SparseRows& a) {
  SparseRows n;
  n.rows = a.rows;
  n.columns = a.columns;
  for (int i = 0; i < a.rows; ++i) {
    for (auto k = static_cast<std::size_t>(a.start[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.start[static_cast<std::size_t>(i) + 1]); ++k) {
      if (a.column[k] == i) continue;
      n.column.push_back(a.column[k]);
      n.value.push_back(a.value[k]);
    }
    n.start.push_back(static_cast<int>(n.value.size()));
  }
  return n;
}

template <class T>
JacobiSweeps<T>::JacobiSweeps(Context& ctx, Shared<const LinearOperator<T>> off_diagonal,
                              JacobiPreconditioner<T> diagonal, const JacobiSweepsParams& params)
    : off_diagonal_(std::move(off_diagonal)), diagonal_(std::move(diagonal)), params_(params),
      t_(ctx, off_diagonal_->shape()), d_(ctx, off_diagonal_->shape()) {
  params_.validate();
}

template <class T>
void JacobiSweeps<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  const auto entered = work_->guard.enter("inner iteration");
  const auto t = t_.view(), d = d_.view();
  const bool by_residual = params_.test == SweepTest::residual;
  const double target = by_residual ? params_.tolerance * norm2(ctx, r) : 0;
  diagonal_.apply(ctx, r, z);
  off_diagonal_->residual(ctx, r, z, t);
  int& sweeps = work_->iterations;
  for (sweeps = 0; sweeps < params_.max_sweeps;) {
    for_each_node(ctx, all_nodes(z), Sweep<T>{diagonal_.inverse(), t, z, d});
    ++sweeps;
    double size = 0, limit = target;
    if (by_residual) {
      off_diagonal_->residual(ctx, r, z, t);
      for_each_node(ctx, all_nodes(z), Remainder<T>{diagonal_.inverse(), t, z, d});
      size = norm2(ctx, d_.cview());
    } else {
      size = norm_max(ctx, d_.cview());
      limit = params_.tolerance * norm_max<T>(ctx, z);
    }
    if (!std::isfinite(size) || !std::isfinite(limit)) {
      copy<T, T>(ctx, r, z);
      return;
    }
    if (size < limit || size == 0) return;
    if (!by_residual) off_diagonal_->residual(ctx, r, z, t);
  }
}

template class JacobiSweeps<float>;
template class JacobiSweeps<double>;

}  // namespace stratum
