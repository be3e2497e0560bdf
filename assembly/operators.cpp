#include <stratum/assembly/operators.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <stratum/core/blas.hpp>
#include <stratum/core/for_each_node.hpp>

namespace stratum {

namespace {

/// 1 / h and h / 6 of every interval.
void one_dimensional_factors(Context& ctx, const Intervals& line, Vector<double>& k, Vector<double>& m) {
  std::vector<double> stiffness, mass;
  for (const double h : line.widths()) {
    stiffness.push_back(1 / h);
    mass.push_back(h / 6);
  }
  copy_from_host(ctx, stiffness.data(), k.view());
  copy_from_host(ctx, mass.data(), m.view());
}

TensorOperator<double> tensor_laplace(Context& ctx, const TensorMesh& mesh) {
  TensorOperator<double> a(ctx, mesh.unknowns());
  one_dimensional_factors(ctx, mesh.x(), a.kx, a.mx);
  one_dimensional_factors(ctx, mesh.y(), a.ky, a.my);
  return a;
}

/// Writes one band of a tensor operator; a coefficient that reaches across a side of the grid is zero.
template <int dx, int dy, class T>
struct FillBand {
  TensorView<double> a;
  GridView<T> band;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const bool inside = i + dx >= 0 && i + dx < band.nx && j + dy >= 0 && j + dy < band.ny;
    band(i, j) = inside ? static_cast<T>(a.template coefficient<dx, dy>(i, j)) : T(0);
  }
};

template <int dx, int dy, class T>
void fill_band(Context& ctx, const TensorOperator<double>& a, Vector<T>& band) {
  for_each_node(ctx, all_nodes(band.view()), FillBand<dx, dy, T>{a.view(), band.view()});
}

template <class T>
NineBandMatrix<T> nine_band(Context& ctx, const TensorOperator<double>& a) {
  NineBandMatrix<T> c(ctx, a.shape());
  fill_band<-1, -1>(ctx, a, c.band[0]);
  fill_band<0, -1>(ctx, a, c.band[1]);
  fill_band<1, -1>(ctx, a, c.band[2]);
  fill_band<-1, 0>(ctx, a, c.band[3]);
  fill_band<0, 0>(ctx, a, c.band[4]);
  fill_band<1, 0>(ctx, a, c.band[5]);
  fill_band<-1, 1>(ctx, a, c.band[6]);
  fill_band<0, 1>(ctx, a, c.band[7]);
  fill_band<1, 1>(ctx, a, c.band[8]);
  return c;
}

template <class T>
SymmetricNineBand<T> symmetric_nine_band(Context& ctx, const TensorOperator<double>& a) {
  SymmetricNineBand<T> c(ctx, a.shape());
  fill_band<0, 0>(ctx, a, c.band[0]);
  fill_band<1, 0>(ctx, a, c.band[1]);
  fill_band<-1, 1>(ctx, a, c.band[2]);
  fill_band<0, 1>(ctx, a, c.band[3]);
  fill_band<1, 1>(ctx, a, c.band[4]);
  return c;
}

/// 1 / h, h / 6 and their products, the entries, must all be numbers of T.
template <class T>
void check_range(const TensorMesh& mesh) {
  const double smallest = mesh.smallest_width();
  const double largest = std::max(*std::max_element(mesh.x().widths().begin(), mesh.x().widths().end()),
                                  *std::max_element(mesh.y().widths().begin(), mesh.y().widths().end()));
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min()),
                   high = static_cast<double>(std::numeric_limits<T>::max());
  const bool fits = 16 * largest < high && 8 / smallest < high && 8 / smallest * std::max(largest, 1.0) < high &&
                    smallest / 6 > low && 1 / largest > low;
  expects(fits, "interval widths from ", smallest, " to ", largest, " on mesh ", mesh.name(), " leave the range of ",
          sizeof(T) == 4 ? "float; use double precision" : "double; use a coarser level");
}

}  // namespace

template <class T>
GridOperator<T> assemble_laplace(Context& ctx, const TensorMesh& mesh, OperatorForm form) {
  check_range<T>(mesh);
  TensorOperator<double> a = tensor_laplace(ctx, mesh);
  switch (form) {
    case OperatorForm::nine_band: return nine_band<T>(ctx, a);
    case OperatorForm::symmetric: return symmetric_nine_band<T>(ctx, a);
    case OperatorForm::tensor: break;
  }
  if constexpr (std::is_same_v<T, double>)
    return GridOperator<double>(std::move(a));
  else
    return convert<T>(ctx, GridOperator<double>(std::move(a)));
}

template GridOperator<float> assemble_laplace(Context&, const TensorMesh&, OperatorForm);
template GridOperator<double> assemble_laplace(Context&, const TensorMesh&, OperatorForm);

}  // namespace stratum
