// Damped Jacobi: x <- x + omega D^-1 (b - A x), D the diagonal of A. Source: Goeddeke, Strzodka 2011, Section 3.1.
//
// omega = 0.7 by default, right for square cells; from an aspect ratio of 4 on it hardly smooths, and on strongly stretched
// cells it diverges. Out of place, between x and one scratch vector: 3 words per unknown and the coefficients. On a GPU two
// sweeps of a tensor operator take one pass where that ends in x: 1.5 words a step, and 1 from a zero guess. Not where the grid
// is cut or periodic: a step, an exchange.

#include <algorithm>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/operators/residual_row.hpp>
#include <stratum/core/operators/stencil_formulas.hpp>
#include <stratum/smoothers/smoother.hpp>
#if defined(__CUDACC__)
#include <stratum/core/field/streaming_stencil.hpp>
#endif

namespace stratum {

void register_jacobi(SmootherRegistry& registry);

namespace {

constexpr double default_damping = 0.7;

template <class View, class T>
struct JacobiStep {
  View a;
  FieldView<const T> b, x;
  FieldView<T> y;
  RelaxFormula<T> formula;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return formula(a, b, x, i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

/// The same for a row, on the CPU.
template <class View, class T>
struct JacobiRow {
  JacobiStep<View, T> step;
  int j;
  template <int bytes>
  STRATUM_INLINE void run() const {
    ResidualRow<bytes, View> row(step.a, step.b, step.x, j);
    const T *const from = &step.x(0, j), omega = step.formula.omega;
    T* const to = &step.y(0, j);
    for (int i = row.begin; i < row.end; i += row.width) {
      const auto change = omega * row.next(i) / row.centre();
      const int first = i - row.width;
      row.store(simd::pack<bytes>(from + first) + change, first, to);
    }
  }
};

template <class View, class T>
struct JacobiStepFromZero {
  static constexpr bool hot = true;
  View a;
  FieldView<const T> b;
  FieldView<T> y;
  RelaxFromZeroFormula<T> formula;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return formula(a, b, i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

#if defined(__CUDACC__)

/// One step from x to y, or two in the same pass.
template <class View, class T>
void stream(const Context& ctx, const GridLayout<2>& grid, const View& a, FieldView<const T> b, FieldView<const T> x,
            FieldView<T> y, T omega, int sweeps) {
  if (sweeps == 1)
    return cuda::with_rows_of(grid, x, [&](const auto& rows) {
      using Only = cuda::Stencil<View, std::decay_t<decltype(rows)>, RelaxFormula<T>>;
      cuda::run_stream(ctx, cuda::StoreRows<Only>{{a, {b}, rows, {omega}}, y}, b.nx, b.ny);
    });
  using One = cuda::Stencil<View, cuda::Given<T>, RelaxFormula<T>>;
  using Two = cuda::Stencil<View, One, RelaxFormula<T>>;
  cuda::run_stream(ctx, cuda::StoreRows<Two>{{a, {b}, {a, {b}, {x}, {omega}}, {omega}}, y}, b.nx, b.ny);
}

/// Two sweeps from zero.
template <class View, class T>
void stream_from_zero(const Context& ctx, const View& a, FieldView<const T> b, FieldView<T> y, T omega) {
  using One = cuda::Pointwise<View, RelaxFromZeroFormula<T>>;
  using Two = cuda::Stencil<View, One, RelaxFormula<T>>;
  cuda::run_stream(ctx, cuda::StoreRows<Two>{{a, {b}, {a, {b}, {omega}}, {omega}}, y}, b.nx, b.ny);
}

#endif

template <class T>
class Jacobi final : public Smoother<T> {
 public:
  Jacobi(Context& ctx, const GridLayout<2>& shape, const SmootherParams& params)
      : Smoother<T>(shape), scratch_(ctx, shape), omega_(static_cast<T>(damping_or(params, default_damping))) {}

  void smooth(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<T> x, int sweeps, Guess guess,
              SweepOrder /*order*/, Ghosts ghosts_of_x) override {
    const auto hold = this->begin(ctx, a, b, x);
    if (guess == Guess::zero && sweeps == 0) return set(ctx, T(0), x);
    a.visit([&](const auto& view) {
      using View = std::decay_t<decltype(view)>;
      FieldView<T> current = x, other = scratch_.view();
      Ghosts ghosts = guess == Guess::zero ? Ghosts::stale : ghosts_of_x;  // of `current`
#if defined(__CUDACC__)
      if constexpr (View::streams_alone)
        if (ctx.on_gpu() && cuda::can_stream(this->layout(), b, x)) {
          int left = sweeps;
          const int at_once = this->layout().has_halo() ? 1 : 2;
          const auto passes_of = [at_once](int count) { return (count + at_once - 1) / at_once; };
          if (guess == Guess::zero) {
            const int first = std::min(sweeps, at_once);
            if (passes_of(sweeps - first) % 2 == 1) std::swap(current, other);
            if (first == 1)
              for_each_node(ctx, all_nodes(x), JacobiStepFromZero<View, T>{view, b, current, {omega_}});
            else
              stream_from_zero(ctx, view, b, current, omega_);
            left -= first;
          }
          // An even number of passes from a given guess, so that the last ends in x.
          int passes = passes_of(left);
          if (guess == Guess::given && passes % 2 == 1 && left > passes) ++passes;
          for (; left > 0; --passes) {
            const int now = left > passes ? 2 : 1;
            exchange(ctx, this->layout(), current, std::exchange(ghosts, Ghosts::stale));
            stream<View, T>(ctx, this->layout(), view, b, current, other, omega_, now);
            std::swap(current, other);
            left -= now;
          }
          if (current.data != x.data) copy<T, T>(ctx, current, x);
          return;
        }
#endif
      int left = sweeps;
      if (guess == Guess::zero) {
        // Start where an even number of swaps ends in x.
        if (--left % 2 == 1) std::swap(current, other);
        for_each_node(ctx, all_nodes(x), JacobiStepFromZero<View, T>{view, b, current, {omega_}});
      }
      for (; left > 0; --left) {
        exchange(ctx, this->layout(), current, std::exchange(ghosts, Ghosts::stale));
        const JacobiStep<View, T> step{view, b, current, other, {omega_}};
        if (ctx.on_gpu()) {
          for_each_node_on_gpu(ctx, all_nodes(x), step);
        } else {
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (x.nodes() > serial_limit)
          for (int j = 0; j < x.ny; ++j) simd::run_widest(JacobiRow<View, T>{step, j});
        }
        std::swap(current, other);
      }
      if (current.data != x.data) copy<T, T>(ctx, current, x);
    });
  }

  [[nodiscard]] std::optional<typename Smoother<T>::Reach> reach(int sweeps) const override {
    return {{sweeps, false}};
  }
  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 3.0 + coefficient_words; }

 private:
  Field<T> scratch_;
  T omega_;
};

}  // namespace

void register_jacobi(SmootherRegistry& registry) {
  registry.add<Jacobi>("jacobi", "damped Jacobi (0.7), for square cells");
}

}  // namespace stratum
