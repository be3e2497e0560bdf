#include <stratum/solvers/preconditioners/incomplete_poisson.hpp>

#include <cmath>

#include <stratum/core/operators/band_matrix.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/solvers/preconditioner.hpp>

namespace stratum {

void register_incomplete_poisson(PreconditionerRegistry& registry);

namespace {

/// The sum over k of l_ik l_jk.
double product_of_rows(const SparseRows& l, std::size_t i, std::size_t j) {
  double sum = 0;
  auto p = static_cast<std::size_t>(l.start[i]), q = static_cast<std::size_t>(l.start[j]);
  const auto p_end = static_cast<std::size_t>(l.start[i + 1]), q_end = static_cast<std::size_t>(l.start[j + 1]);
  while (p < p_end && q < q_end) {
    const int column_p = l.column[p], column_q = l.column[q];
    if (column_p == column_q) sum += l.value[p] * l.value[q];
    p += column_p <= column_q ? 1 : 0;
    q += column_q <= column_p ? 1 : 0;
  }
  return sum;
}

template <class T>
std::shared_ptr<const LinearOperator<T>> stored(Context& ctx, const GridLayout<2>& shape, const SparseRows& inverse) {
  if (!shape.is_flat) return std::make_shared<GridOperator<T>>(convert<T>(ctx, grid_operator(ctx, inverse, shape)));
  if (bands_pay(inverse)) return std::make_shared<BandMatrix<T>>(ctx, inverse);
  return std::make_shared<CsrMatrix<T>>(ctx, inverse);
}

}  // namespace

SparseRows incomplete_poisson(const SparseRows& a, IncompletePoissonForm form) {
  a.validate();
  expects(a.is_symmetric(1e-12), "incomplete Poisson needs a symmetric matrix; use jacobi or none");
  const auto n = static_cast<std::size_t>(a.rows);
  const bool scaled = form == IncompletePoissonForm::scaled;
  const auto c = a.diagonal();
  std::vector<double> root(n);
  for (std::size_t i = 0; i < n; ++i) {
    breaks_down_unless(c[i] > 0 && std::isfinite(c[i]), "incomplete Poisson: the diagonal entry of row ",
                       a.first_row + static_cast<std::int64_t>(i), " is ", c[i], ", and must be above 0");
    root[i] = std::sqrt(c[i]);
  }
  // K K^T = E (I - l) (I - l)^T E, E diagonal: first l, then what lies below the diagonal.
  SparseRows l;
  l.rows = l.columns = a.rows;
  for (std::size_t i = 0; i < n; ++i) {
    for (auto k = static_cast<std::size_t>(a.start[i]); k < static_cast<std::size_t>(a.start[i + 1]); ++k) {
      const auto j = static_cast<std::size_t>(a.column[k]);
      if (j >= i || a.value[k] == 0) continue;
      l.column.push_back(a.column[k]);
      l.value.push_back(a.value[k] / (scaled ? root[i] * root[j] : c[j]));
    }
    l.start.push_back(static_cast<int>(l.value.size()));
  }
  const auto e = [&](std::size_t i) { return scaled ? 1 / root[i] : 1; };
  SparseRows lower = l;
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = static_cast<std::size_t>(l.start[i]); k < static_cast<std::size_t>(l.start[i + 1]); ++k) {
      const auto j = static_cast<std::size_t>(l.column[k]);
      lower.value[k] = (product_of_rows(l, i, j) - l.value[k]) * (e(i) * e(j));
    }
  const SparseRows upper = transposed(lower);
  SparseRows inverse;
  inverse.rows = inverse.columns = a.rows;
  inverse.first_row = a.first_row;
  const auto append = [&inverse](const SparseRows& from, std::size_t i) {
    for (auto k = static_cast<std::size_t>(from.start[i]); k < static_cast<std::size_t>(from.start[i + 1]); ++k) {
      inverse.column.push_back(from.column[k]);
      inverse.value.push_back(from.value[k]);
    }
  };
  for (std::size_t i = 0; i < n; ++i) {
    append(lower, i);
    inverse.column.push_back(static_cast<int>(i));
    inverse.value.push_back((1 + product_of_rows(l, i, i)) * (e(i) * e(i)));
    append(upper, i);
    inverse.start.push_back(static_cast<int>(inverse.value.size()));
  }
  return inverse;
}

template <class T>
IncompletePoisson<T>::IncompletePoisson(Context& ctx, const GridLayout<2>& shape, const SparseRows& a,
                                        IncompletePoissonForm form) {
  expects(shape.nodes() == a.rows, "a matrix of ", a.rows, " rows for vectors of ", shape.nodes());
  inverse_ = stored<T>(ctx, shape, incomplete_poisson(a, form));
}

template class IncompletePoisson<float>;
template class IncompletePoisson<double>;

namespace {

template <class T>
std::unique_ptr<Preconditioner<T>> make(Context& ctx, const GridLayout<2>& shape, const PreconditionerParams& params) {
  return std::make_unique<IncompletePoisson<T>>(ctx, shape, params.matrix, params.incomplete_poisson);
}

}  // namespace

void register_incomplete_poisson(PreconditionerRegistry& registry) {
  registry.add({{.symmetric = true},
                "incomplete-poisson",
                "an approximate inverse with the pattern of A, as parallel as a product: A symmetric",
                make<float>,
                make<double>});
}

}  // namespace stratum
