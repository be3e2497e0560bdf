#include <stratum/solvers/row_scaled.hpp>

#include <utility>

#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

struct TimesRows {
  static constexpr bool hot = true;
  const double* d;
  FieldView<const double> r;
  FieldView<double> z;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const {
    return d[std::int64_t{j} * r.nx + i] * r(i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double v) const { z(i, j) = v; }
};

}  // namespace

void times_rows(Context& ctx, const Field<double>& d, FieldView<const double> r, FieldView<double> z) {
  for_each_node(ctx, all_nodes(r), TimesRows{d.cview().data, r, z});
}

RowScaled::RowScaled(Context& ctx, const GridLayout<2>& shape, std::span<const double> d,
                     Shared<Preconditioner<double>> m)
    : m_(std::move(m)), scaled_(ctx, shape),
      d_(std::make_shared<Field<double>>(ctx, GridLayout<2>::flat(static_cast<int>(shape.nodes())))) {
  if (!ctx.is_dry_run()) copy_from_host(ctx, d.data(), d_->view());
}

void RowScaled::apply(Context& ctx, FieldView<const double> r, FieldView<double> z) {
  const auto entered = guard_->enter("row scales");
  expects_fit(ctx, "r", r, scaled_.shape());
  times_rows(ctx, *d_, r, scaled_.view());
  m_->apply(ctx, scaled_.cview(), z);
}

}  // namespace stratum
