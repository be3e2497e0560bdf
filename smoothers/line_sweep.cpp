#include <stratum/smoothers/line_sweep.hpp>

#include <algorithm>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/lines/algebra/chunks.hpp>
#include <stratum/solvers/lines/cpu/thomas.hpp>

namespace stratum {

namespace {

constexpr double simultaneous_damping = 0.8;

}  // namespace

template <class T>
LineSweep<T>::LineSweep(Context& ctx, const GridLayout<2>& shape, const SmootherParams& params, bool along_y)
    : line_order_(params.line_order),
      omega_(static_cast<T>(damping_or(params, params.line_order == LineOrder::zebra ? 1.0 : simultaneous_damping))),
      threads_(ctx.threads()), grid_(shape) {
  if (shape.below || shape.above || !params.chunks.empty()) cut_ = line::PartitionedLines<T>(ctx, shape, params.chunks);
  if (shape.has_halo() || !cut_.empty()) zeros_ = Field<T>(ctx, std::max(shape.nx, shape.ny));
  if (ctx.on_gpu()) {
    interface_ = Field<T>(ctx, line::interface_numbers(shape.nx, shape.ny));
    if (!along_y) return;
    constexpr int tile_width = static_cast<int>(128 / sizeof(T));
    if (const int numbers = line::passed_numbers(shape.nx, shape.ny, tile_width); numbers > 0)
      passed_ = Field<T>(ctx, numbers);
#if defined(STRATUM_HAVE_CUDA)
    if (line_order_ != LineOrder::zebra || omega_ != T(1) || !cut_.empty()) return;
    if (const GridLayout<2> records = line::records_shape<T>(ctx, shape, params.format); records.ny > 0)
      tiles_ = Field<T>(ctx, records);
#endif
    return;
  }
  const auto size = line::LineScratch<T>::size(shape, threads_, params.format);
  elimination_ = Field<T>(ctx, GridLayout<2>{static_cast<int>(size), threads_});
}

template <class T>
void LineSweep<T>::set_up(Context& ctx, const GridOperator<T>& a) {
  if (!cut_.empty()) cut_.set_up(ctx, a, zeros_.view().data);
#if defined(STRATUM_HAVE_CUDA)
  if (ctx.is_dry_run() || !has_tiles_for(a)) return;
  line::tile_bands(ctx, a, tiles_.view());
  tiled_ = a;
#endif
}

template <class T>
typename LineSweep<T>::Start LineSweep<T>::start(Context& ctx, FieldView<T> x, Start given) const {
  // On the CPU damped sweeps have no form of their own that starts from zero.
  const bool damped = !ctx.on_gpu() && (line_order_ == LineOrder::simultaneous || omega_ != T(1));
  if (given.guess == Guess::given || !(grid_.has_halo() || !cut_.empty() || damped)) return given;
  set_zero_with_halo(ctx, x);
  return {Guess::given, Ghosts::current};
}

template <class T>
const T* LineSweep<T>::zeros() const {
  return grid_.periodic_x || grid_.periodic_y ? zeros_.view().data : nullptr;
}

template <class T>
void LineSweep<T>::operator()(Context& ctx, Direction direction, const GridOperator<T>& a, FieldView<const T> b,
                              FieldView<const T> x, Ghosts ghosts_of_x, FieldView<T> y, Guess guess, SweepOrder order) {
  exchange(ctx, grid_, x, ghosts_of_x);
  if (!cut_.empty() && direction == Direction::y)
    return cut_.sweep(ctx, a, zeros_.view().data, b, x, y, omega_, line_order_, order, elimination_.view());
#if defined(STRATUM_HAVE_CUDA)
  if (ctx.on_gpu()) return sweep_on_gpu(ctx, direction, a, b, x, y, guess, order);
#endif
  const auto sweep = [&]<Direction d>() {
    const auto format = traits(a.format());
    format.has_bands || format.is_separable ? sweep_on_cpu<d, false>(ctx, a, b, x, y, guess, order)
                                            : sweep_on_cpu<d, true>(ctx, a, b, x, y, guess, order);
  };
  direction == Direction::x ? sweep.template operator()<Direction::x>() : sweep.template operator()<Direction::y>();
}

template class LineSweep<float>;
template class LineSweep<double>;

}  // namespace stratum
