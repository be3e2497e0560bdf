// Four-colour Gauss-Seidel: nodes of one colour (x % 2, y % 2) are not coupled by a nine-point operator, so that
//
//     x_ij <- x_ij + omega (b - A x)_ij / a_(0,0)(i, j)
//
// runs in parallel over a colour, colour after colour, in place. Source: Goeddeke, Strzodka 2011, Section 3.2.
//
// Forward order of the global indices (x, y): (odd, odd), (even, odd), (odd, even), (even, even). The two colours of a row only
// need the rows beside it, which have other colours, so that a row does both while it is in cache: 3 words a node and
// the coefficients. omega = 1 by default.

#include <algorithm>

#include <stratum/core/blas.hpp>
#include <stratum/core/for_each_node.hpp>
#include <stratum/core/residual_row.hpp>
#include <stratum/smoothers/smoother.hpp>

namespace stratum {

void register_colour_gs(SmootherRegistry& registry);

namespace {

template <class View, class T>
struct ColourStep {
  View a;
  GridView<const T> b;
  GridView<T> x;
  T omega;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const {
    return x(i, j) + omega * (b(i, j) - a.sum(x, i, j)) / a.template coefficient<0, 0>(i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { x(i, j) = value; }
};

/// One colour of a row on the CPU. Updates are formed at every node, contiguously, and applied at every second one: nodes of
/// one colour are not coupled, so that none notices its neighbours of the same colour changing.
template <class View, class T>
STRATUM_SIMD_CLONES void relax_row(const ColourStep<View, T> step, const int j, const int parity) {
  constexpr int block = 256;
  T update[block];
  for (int begin = 0; begin < step.x.nx; begin += block) {
    const int end = std::min(begin + block, step.x.nx);
    residual_row<T>(
        step.a, step.b, GridView<const T>(step.x), j, begin, end,
        [&step, &update, begin, j ](int i, T d) __attribute__((always_inline)) {
          update[i - begin] = step.omega * d / step.a.template coefficient<0, 0>(i, j);
        });
    for (int i = begin + ((begin ^ parity) & 1); i < end; i += 2) step.x(i, j) += update[i - begin];
  }
}

/// The first colour from a zero guess; sets all others to zero.
template <class View, class T>
struct FirstColourFromZero {
  View a;
  GridView<const T> b;
  GridView<T> x;
  T omega;
  int begin_x, begin_y;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const bool mine = ((i ^ begin_x) & 1) == 0 && ((j ^ begin_y) & 1) == 0;
    x(i, j) = mine ? omega * b(i, j) / a.template coefficient<0, 0>(i, j) : T(0);
  }
};

template <class T>
class ColourGaussSeidel final : public Smoother<T> {
 public:
  ColourGaussSeidel(Context& /*ctx*/, const GridShape& /*shape*/, const SmootherParams& params)
      : omega_(static_cast<T>(damping_or(params, 1.0))) {}
  [[nodiscard]] static std::int64_t required_bytes(const Context& /*ctx*/, const GridShape& /*shape*/,
                                                   const SmootherParams& /*params*/) {
    return 0;
  }

  void smooth(Context& ctx, const GridOperator<T>& a, GridView<const T> b, GridView<T> x, int steps, Guess guess,
              SweepOrder order) override {
    if (guess == Guess::zero && steps == 0) return set(ctx, T(0), x);
    // Local index of the first odd line.
    const int odd_x = 1 - (x.origin_x & 1), odd_y = 1 - (x.origin_y & 1);
    const bool forward = order == SweepOrder::forward;
    a.visit([&](const auto& view) {
      using View = std::decay_t<decltype(view)>;
      const ColourStep<View, T> step{view, b, x, omega_};
      bool skip_first = false;
      if (guess == Guess::zero) {
        const int begin_x = forward ? odd_x : 1 - odd_x, begin_y = forward ? odd_y : 1 - odd_y;
        for_each_node(ctx, all_nodes(x), FirstColourFromZero<View, T>{view, b, x, omega_, begin_x, begin_y});
        skip_first = true;
      }
      for (int s = 0; s < steps; ++s) {
        for (int half = 0; half < 2; ++half) {
          const int begin_y = (half == 0) == forward ? odd_y : 1 - odd_y;
          exchange(ctx, x);
          rows(ctx, step, begin_y, forward ? odd_x : 1 - odd_x, skip_first);
          skip_first = false;
        }
      }
    });
  }

  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 3.0 + coefficient_words; }

 private:
  /// Both colours of every second row from begin_y on, the columns of begin_x first.
  template <class Step>
  static void rows(Context& ctx, const Step& step, int begin_y, int begin_x, bool skip_first) {
    const auto& x = step.x;
    if (ctx.on_gpu()) {
      for (int colour = skip_first ? 1 : 0; colour < 2; ++colour)
        for_each_node(ctx, {colour == 0 ? begin_x : 1 - begin_x, x.nx, 2, begin_y, x.ny, 2}, step);
      return;
    }
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (x.nodes() > serial_limit)
    for (int j = begin_y; j < x.ny; j += 2) {
      if (!skip_first) relax_row(step, j, begin_x);
      relax_row(step, j, 1 - begin_x);
    }
  }

  T omega_;
};

}  // namespace

void register_colour_gs(SmootherRegistry& registry) {
  registry.add<ColourGaussSeidel>("colour_gs", "four-colour Gauss-Seidel, for nearly square cells");
}

}  // namespace stratum
