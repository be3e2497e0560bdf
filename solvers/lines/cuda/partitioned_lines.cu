// The three steps on a GPU, in segments. solvers/lines/partitioned_lines.hpp says what is computed.

#include <stratum/solvers/lines/partitioned_equations.hpp>

namespace stratum::line {

template <class T>
void PartitionedLines<T>::solve_on_gpu(Context& ctx, const GridOperator<T>& a, const T* zeros, FieldView<const T> b,
                                       FieldView<const T> x, FieldView<T> y, T omega, const LineBatch& lines) {
  const Interface<T> interface = interface_of(lines, 0);
  const auto put_together = [&] {
    if (count_ > 1)
      ctx.communicator()->gather(ctx, interface.own.numbers, interface.sides.numbers,
                                 sizeof(T) * ChunksOfLines<T>::sides * static_cast<std::size_t>(lines.count));
  };
  visit(a, zeros, [&]<class View>(const View& view) {
    if constexpr (!is_tensor<View> || by_row_sums<View>)
      solve_in_segments<segment_rows<T>>(
          ctx, PartitionedLine<View, T>{{view, b, x}, y, omega, lines, grid_.below, grid_.above}, interface,
          segments_.view().data, put_together);
  });
  if (grid_.periodic_x) for_each_node(ctx, WrapRow<T>::range(y), WrapRow<T>{y});
}

template <class T>
void PartitionedLines<T>::set_up_on_gpu(Context& ctx, const GridOperator<T>& a, const T* zeros, FieldView<T> shape) {
  const LineBatch lines{Direction::y, 0, 1, shape.nx};
  visit(a, zeros, [&]<class View>(const View& view) {
    if constexpr (!is_tensor<View> || by_row_sums<View>)
      eliminate_matrix<segment_rows<T>>(ctx, PartitionedLine<View, T>{{view, shape, shape}, shape, T(1), lines},
                                        interface_of(lines, 0), segments_.view().data);
  });
  for_each_node(ctx, {0, grid_.nx, 1, 0, 1, 1}, gathered_factors(ctx));
}

template void PartitionedLines<float>::solve_on_gpu(Context&, const GridOperator<float>&, const float*,
                                                    FieldView<const float>, FieldView<const float>, FieldView<float>,
                                                    float, const LineBatch&);
template void PartitionedLines<double>::solve_on_gpu(Context&, const GridOperator<double>&, const double*,
                                                     FieldView<const double>, FieldView<const double>,
                                                     FieldView<double>, double, const LineBatch&);
template void PartitionedLines<float>::set_up_on_gpu(Context&, const GridOperator<float>&, const float*,
                                                     FieldView<float>);
template void PartitionedLines<double>::set_up_on_gpu(Context&, const GridOperator<double>&, const double*,
                                                      FieldView<double>);

}  // namespace stratum::line
