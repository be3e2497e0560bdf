#include <stratum/solvers/preconditioners/jacobi.hpp>

#include <cmath>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/solvers/preconditioner.hpp>

namespace stratum {

void register_jacobi(PreconditionerRegistry& registry);

namespace {

template <class T>
struct Multiply {
  static constexpr bool hot = true;
  FieldView<const T> factor, x;
  FieldView<T> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return factor(i, j) * x(i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

template <class T>
std::unique_ptr<Preconditioner<T>> make_jacobi(Context& ctx, const GridLayout<2>& shape,
                                               const PreconditionerParams& params) {
  return std::make_unique<JacobiPreconditioner<T>>(ctx, shape, params.matrix.diagonal(), params.matrix.first_row);
}

}  // namespace

template <class T>
JacobiPreconditioner<T>::JacobiPreconditioner(Context& ctx, const GridLayout<2>& shape,
                                              const std::vector<double>& diagonal, int first_row)
    : inverse_(ctx, shape) {
  expects(static_cast<std::int64_t>(diagonal.size()) == shape.nodes(), diagonal.size(), " diagonal entries for ",
          shape.nodes(), " unknowns");
  std::vector<T> inverse(diagonal.size());
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    inverse[i] = static_cast<T>(1 / diagonal[i]);
    breaks_down_unless(diagonal[i] != 0 && std::isfinite(inverse[i]), "jacobi: the diagonal entry of row ",
                       first_row + static_cast<std::int64_t>(i), " is ", diagonal[i],
                       ", which has no reciprocal; use another preconditioner");
  }
  copy_from_host(ctx, inverse.data(), inverse_.view());
}

template <class T>
void JacobiPreconditioner<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  expects_fit(ctx, "r", r, inverse_.shape());
  expects_fit(ctx, "z", z, inverse_.shape());
  for_each_node(ctx, all_nodes(z), Multiply<T>{inverse_.cview(), r, z});
}

template class JacobiPreconditioner<float>;
template class JacobiPreconditioner<double>;

void register_jacobi(PreconditionerRegistry& registry) {
  registry.add({{}, "jacobi", "the diagonal", make_jacobi<float>, make_jacobi<double>});
}

}  // namespace stratum
