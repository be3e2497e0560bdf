#include <stratum/solvers/mixed/precision_cast.hpp>

#include <cmath>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/field_functors.hpp>
#include <stratum/core/field/reduce.hpp>

namespace stratum {

namespace {

/// scale[0] = 2^-e and scale[1] = 2^e with 2^e <= largest < 2^(e + 1); ones where there is nothing to scale or to save.
struct PowersOfTwo {
  const double* largest;
  double* scale;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int /*i*/, int /*j*/) const {
    int e = 0;
    if (*largest > 0 && *largest <= 1.7e308) e = ilogb(*largest);
    // Both must be finite: a power of two beyond 2^1023 has no reciprocal.
    e = e < -1000 ? -1000 : e > 1000 ? 1000 : e;
    scale[0] = ldexp(1.0, -e);
    scale[1] = ldexp(1.0, e);
  }
};

template <class From, class To>
struct Scale {
  static constexpr bool hot = true;
  const double* scale;
  FieldView<const From> x;
  FieldView<To> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE To value(int i, int j) const {
    return static_cast<To>(*scale * static_cast<double>(x(i, j)));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, To value) const { y(i, j) = value; }
};

}  // namespace

template <class High, class Low>
PrecisionCast<High, Low>::PrecisionCast(Context& ctx, const GridLayout<2>& shape, Shared<Preconditioner<Low>> m)
    : m_(std::move(m)), r_(ctx, shape), z_(ctx, shape), scale_(ctx, 2) {}

template <class High, class Low>
void PrecisionCast<High, Low>::apply_scaled(Context& ctx, FieldView<const High> r, FieldView<High> z) {
  expects_fit(ctx, "r", r, r_.shape());
  expects_fit(ctx, "z", z, r_.shape());
  double* scale = scale_.view().data;
  for_each_node(ctx, {0, 1, 1, 0, 1, 1}, PowersOfTwo{norm_max_in_place(ctx, r), scale});
  for_each_node(ctx, all_nodes(r), Scale<High, Low>{scale, r, r_.view()});
  m_->apply(ctx, r_.cview(), z_.view());
}

template <class High, class Low>
void PrecisionCast<High, Low>::apply(Context& ctx, FieldView<const High> r, FieldView<High> z) {
  const auto entered = guard_->enter("precision cast");
  apply_scaled(ctx, r, z);
  for_each_node(ctx, all_nodes(z), Scale<Low, High>{scale_.cview().data + 1, z_.cview(), z});
}

template <class High, class Low>
double PrecisionCast<High, Low>::apply_dot(Context& ctx, FieldView<const High> r, FieldView<High> z) {
  if (ctx.on_gpu()) return Preconditioner<High>::apply_dot(ctx, r, z);
  const auto entered = guard_->enter("precision cast");
  apply_scaled(ctx, r, z);
  const Scale<Low, High> widen{scale_.cview().data + 1, z_.cview(), z};
  return reduce_prepared(
      ctx, z.nx, z.ny, [&widen](int begin, int end, int j) { for_row(widen, begin, end, 1, j); }, Product<High>{r, z});
}

template class PrecisionCast<double, float>;
template class PrecisionCast<double, double>;

}  // namespace stratum
