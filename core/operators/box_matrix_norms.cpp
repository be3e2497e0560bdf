// What takes as long to compile as all else of box_matrix.cpp: magnitude and backward_error.
#include <stratum/core/operators/box_matrix.hpp>

#include <cmath>
#include <type_traits>

#include <stratum/core/field/reduce_3d.hpp>

namespace stratum {

namespace {

template <class Rows, class T = typename Rows::Number>
struct MagnitudeOfRows {
  static constexpr bool takes_maximum = false;
  Rows rows;
  FieldView<const T, 3> b, u;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j, int k) const {
    return static_cast<double>(std::abs(b(i, j, k)) + rows.template product<true>(u, i, j, k).value);
  }
};

/// |u|, or `least` where that is more.
template <class T>
struct AtLeast {
  FieldView<const T, 3> u;
  T least;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(int i, int j, int k) const {
    const T size = std::abs(u(i, j, k));
    return size > least ? size : least;
  }
};

template <class Rows, class T = typename Rows::Number>
struct BackwardErrorOfRows {
  static constexpr bool takes_maximum = true;
  Rows rows;
  FieldView<const T, 3> b, u;
  T least;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j, int k) const {
    const double size = static_cast<double>(std::abs(b(i, j, k))) +
                        static_cast<double>(rows.template product<true>(AtLeast<T>{u, least}, i, j, k).value);
    const double r = std::abs(static_cast<double>(b(i, j, k) - rows.product(u, i, j, k).value));
    return size > 0 ? r / size : 0;
  }
};

}  // namespace

template <class T>
double BoxMatrix<T>::magnitude(Context& ctx, FieldView<const T, 3> b, FieldView<const T, 3> u) const {
  return with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
    return norm_of(ctx, b.extents, MagnitudeOfRows<Rows>{rows, b, u});
  });
}

template <class T>
double BoxMatrix<T>::backward_error(Context& ctx, FieldView<const T, 3> b, FieldView<const T, 3> u,
                                    double least) const {
  return with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
    return reduce(ctx, b.extents, BackwardErrorOfRows<Rows>{rows, b, u, static_cast<T>(least)});
  });
}

template double BoxMatrix<float>::magnitude(Context&, FieldView<const float, 3>, FieldView<const float, 3>) const;
template double BoxMatrix<double>::magnitude(Context&, FieldView<const double, 3>, FieldView<const double, 3>) const;
template double BoxMatrix<float>::backward_error(Context&, FieldView<const float, 3>, FieldView<const float, 3>,
                                                 double) const;
template double BoxMatrix<double>::backward_error(Context&, FieldView<const double, 3>, FieldView<const double, 3>,
                                                  double) const;

}  // namespace stratum
