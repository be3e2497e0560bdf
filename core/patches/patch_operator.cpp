#include <stratum/core/patches/patch_operator.hpp>

#include <cmath>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/patches/for_each_patch_node.hpp>

namespace stratum {

namespace {

template <class T>
struct Residual {
  PatchBands<T> a;
  const T *b, *x;
  T* r;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int /*number*/, const PatchLayout::Patch& p, int i, int j) const {
    const int k = p.node(i, j);
    const auto row = a.row(k, p.pitch);
    const T value = b[k] - a.product(row, x, k, p.pitch);  // infinite, perhaps, in fixed rows
    r[k] = a.is_fixed(row) ? T(0) : value;
  }
};

template <class T>
struct Product {
  PatchBands<T> a;
  const T* x;
  T* y;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int /*number*/, const PatchLayout::Patch& p, int i, int j) const {
    const int k = p.node(i, j);
    const auto row = a.row(k, p.pitch);
    const T value = a.product(row, x, k, p.pitch);
    y[k] = a.is_fixed(row) ? T(0) : value;
  }
};

struct Magnitude {
  PatchBands<double> a;
  const double *b, *x;
  double* y;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int /*number*/, const PatchLayout::Patch& p, int i, int j) const {
    const int k = p.node(i, j);
    const auto row = a.row(k, p.pitch);
    double own = row.excess, sum = std::abs(b[k]);
    for (int dj = -1; dj <= 1; ++dj)
      for (int di = -1; di <= 1; ++di) {
        if (dj == 0 && di == 0) continue;
        const double entry = row.to[dj + 1][di + 1];
        own -= entry;
        sum += std::abs(entry * x[k + dj * p.pitch + di]);
      }
    y[k] = a.is_fixed(row) ? 0 : sum + std::abs(own * x[k]);
  }
};

template <class T>
Field<T> rounded(Context& ctx, const std::vector<double>& numbers) {
  return vector_from_host(ctx, std::vector<T>(numbers.begin(), numbers.end()));
}

}  // namespace

template <class T>
PatchOperator<T>::PatchOperator(Context& ctx, const PatchRowsOnHost& rows, const std::vector<int>& fixed)
    : east_(rounded<T>(ctx, rows.east)), north_(rounded<T>(ctx, rows.north)),
      north_east_(rounded<T>(ctx, rows.north_east)), north_west_(rounded<T>(ctx, rows.north_west)) {
  std::vector<T> excess(rows.excess.begin(), rows.excess.end());
  for (const int k : fixed) excess[static_cast<std::size_t>(k)] = fixed_row<T>;
  excess_ = vector_from_host(ctx, excess);
}

template <class T>
PatchBands<T> PatchOperator<T>::bands() const {
  return {excess_.view().data, east_.view().data, north_.view().data, north_east_.view().data, north_west_.view().data};
}

template <class T>
void residual(Context& ctx, const PatchRows& rows, const PatchOperator<T>& a, const Partial<T>& b,
              const Consistent<T>& x, Partial<T>& r) {
  for_each_patch_node(ctx, rows,
                      Residual<T>{a.bands(), b.numbers.view().data, x.numbers.view().data, r.numbers.view().data});
}
template <class T>
void product(Context& ctx, const PatchRows& rows, const PatchOperator<T>& a, const Consistent<T>& x, Partial<T>& y) {
  for_each_patch_node(ctx, rows, Product<T>{a.bands(), x.numbers.view().data, y.numbers.view().data});
}
void product(Context& ctx, const PatchRows& rows, const PatchOperator<double>& a, const Field<double>& x,
             Field<double>& y) {
  for_each_patch_node(ctx, rows, Product<double>{a.bands(), x.view().data, y.view().data});
}
void magnitude(Context& ctx, const PatchRows& rows, const PatchOperator<double>& a, const Partial<double>& b,
               const Consistent<double>& x, Partial<double>& y) {
  for_each_patch_node(ctx, rows,
                      Magnitude{a.bands(), b.numbers.view().data, x.numbers.view().data, y.numbers.view().data});
}

#define STRATUM_INSTANTIATE(T)                                                                                         \
  template class PatchOperator<T>;                                                                                     \
  template void residual(Context&, const PatchRows&, const PatchOperator<T>&, const Partial<T>&, const Consistent<T>&, \
                         Partial<T>&);                                                                                 \
  template void product(Context&, const PatchRows&, const PatchOperator<T>&, const Consistent<T>&, Partial<T>&);
STRATUM_INSTANTIATE(float)
STRATUM_INSTANTIATE(double)
#undef STRATUM_INSTANTIATE

}  // namespace stratum
