// An example of a smoother, added by tests/additions: x <- x + D^-1 (b - A x), D the sums of magnitudes of the rows of A. It
// converges for every symmetric positive definite A. Source: Baker, Falgout, Kolev, Yang 2011.

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/smoothers/smoother.hpp>

namespace stratum {

void register_l1_jacobi(SmootherRegistry& registry);

namespace {

template <class View, class T>
struct AddRowScaled {
  View a;
  FieldView<const T> r;
  FieldView<T> x;
  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T size(int i, int j) const {
    const T entry = a.template coefficient<dx, dy>(i, j);
    return entry < 0 ? -entry : entry;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const {
    const T sum = size<0, 0>(i, j) + size<-1, 0>(i, j) + size<1, 0>(i, j) + size<-1, -1>(i, j) + size<0, -1>(i, j) +
                  size<1, -1>(i, j) + size<-1, 1>(i, j) + size<0, 1>(i, j) + size<1, 1>(i, j);
    return x(i, j) + r(i, j) / sum;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { x(i, j) = value; }
};

template <class T>
class L1Jacobi final : public Smoother<T> {
 public:
  L1Jacobi(Context& ctx, const GridLayout<2>& shape, const SmootherParams& /*params*/)
      : Smoother<T>(shape), residual_(ctx, shape) {}

  void smooth(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<T> x, int sweeps, Guess guess,
              SweepOrder /*order*/, Ghosts /*ghosts_of_x*/) override {
    const auto hold = this->begin(ctx, a, b, x);
    if (guess == Guess::zero) set(ctx, T(0), x);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      a.residual(ctx, b, x, residual_.view());
      a.visit([&]<class View>(const View& view) {
        for_each_node(ctx, all_nodes(x), AddRowScaled<View, T>{view, residual_.cview(), x});
      });
    }
  }
  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 6.0 + 2 * coefficient_words; }

 private:
  Field<T> residual_;
};

}  // namespace

void register_l1_jacobi(SmootherRegistry& registry) {
  registry.add<L1Jacobi>("l1_jacobi", "Jacobi by the magnitudes of rows");
}

}  // namespace stratum
