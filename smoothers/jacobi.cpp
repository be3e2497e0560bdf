// Damped Jacobi: x <- x + omega D^-1 (b - A x), D the diagonal of A. Source: Goeddeke, Strzodka 2011, Section 3.1.
//
// omega = 0.7 by default, right for square cells; from an aspect ratio of 4 on it hardly smooths, and on strongly stretched
// cells it diverges. Out of place, between x and one scratch vector: 3 words a node and the coefficients.

#include <stratum/core/blas.hpp>
#include <stratum/core/for_each_node.hpp>
#include <stratum/smoothers/smoother.hpp>

namespace stratum {

void register_jacobi(SmootherRegistry& registry);

namespace {

constexpr double default_damping = 0.7;

template <class View, class T>
struct JacobiStep {
  View a;
  GridView<const T> b, x;
  GridView<T> y;
  T omega;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const {
    return x(i, j) + omega * (b(i, j) - a.sum(x, i, j)) / a.template coefficient<0, 0>(i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

template <class View, class T>
struct JacobiStepFromZero {
  View a;
  GridView<const T> b;
  GridView<T> y;
  T omega;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const {
    return omega * b(i, j) / a.template coefficient<0, 0>(i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

template <class T>
class Jacobi final : public Smoother<T> {
 public:
  Jacobi(Context& ctx, const GridShape& shape, const SmootherParams& params)
      : scratch_(ctx, shape), omega_(static_cast<T>(damping_or(params, default_damping))) {}
  [[nodiscard]] static std::int64_t required_bytes(const Context& ctx, const GridShape& shape,
                                                   const SmootherParams& /*params*/) {
    return vector_bytes<T>(ctx.backend(), shape);
  }

  void smooth(Context& ctx, const GridOperator<T>& a, GridView<const T> b, GridView<T> x, int steps, Guess guess,
              SweepOrder /*order*/) override {
    a.visit([&](const auto& view) {
      using View = std::decay_t<decltype(view)>;
      GridView<T> current = x, other = scratch_.view();
      int left = steps;
      if (guess == Guess::zero) {
        if (steps == 0) return set(ctx, T(0), x);
        // Start where an even number of swaps ends in x.
        if (--left % 2 == 1) std::swap(current, other);
        for_each_node(ctx, all_nodes(x), JacobiStepFromZero<View, T>{view, b, current, omega_});
      }
      for (; left > 0; --left) {
        exchange(ctx, current);
        for_each_node(ctx, all_nodes(x), JacobiStep<View, T>{view, b, current, other, omega_});
        std::swap(current, other);
      }
      if (current.data != x.data) copy<T, T>(ctx, current, x);
    });
  }

  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 3.0 + coefficient_words; }

 private:
  Vector<T> scratch_;
  T omega_;
};

}  // namespace

void register_jacobi(SmootherRegistry& registry) {
  registry.add<Jacobi>("jacobi", "damped Jacobi (0.7), for square cells");
}

}  // namespace stratum
