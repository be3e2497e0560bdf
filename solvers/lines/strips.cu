// The three steps on a GPU, in segments. solvers/lines/strips.hpp says what is computed.

#include <stratum/solvers/lines/cut_lines.hpp>

namespace stratum::line {

template <class T>
void CutLines<T>::solve_on_gpu(Context& ctx, const GridOperator<T>& a, const T* zeros, GridView<const T> b,
                               GridView<const T> x, GridView<T> y, T omega, const SomeLines& lines) {
  visit(a, zeros, [&]<class View>(const View& view) {
    if constexpr (!is_tensor<View> || by_sums<View>)
      solve_in_segments<segment_rows<T>>(ctx, CutLine<View, T>{{view, b, x}, y, omega, lines}, interface_of(lines),
                                         segments_.view().data);
  });
}

template void CutLines<float>::solve_on_gpu(Context&, const GridOperator<float>&, const float*, GridView<const float>,
                                            GridView<const float>, GridView<float>, float, const SomeLines&);
template void CutLines<double>::solve_on_gpu(Context&, const GridOperator<double>&, const double*,
                                             GridView<const double>, GridView<const double>, GridView<double>, double,
                                             const SomeLines&);

}  // namespace stratum::line
