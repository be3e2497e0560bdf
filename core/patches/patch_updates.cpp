#include <stratum/core/patches/patch_updates.hpp>

#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

template <class T>
struct UpdateDirection {
  static constexpr bool hot = true;
  FieldView<const T> z;
  double beta;
  FieldView<double> p;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int /*j*/) const {
    return static_cast<double>(z[i]) + beta * p[i];
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int /*j*/, double number) const { p[i] = number; }
};

struct TakeStep {
  static constexpr bool hot = true;
  double alpha;
  FieldView<const double> p, q;
  FieldView<double> x, r;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int /*j*/) const {
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
  }
};

}  // namespace

template <class T>
void update_direction(Context& ctx, const Consistent<T>& z, double beta, Consistent<double>& p) {
  for_each_node(ctx, all_nodes(p.numbers.view()), UpdateDirection<T>{z.numbers.view(), beta, p.numbers.view()});
}
template void update_direction(Context&, const Consistent<float>&, double, Consistent<double>&);
template void update_direction(Context&, const Consistent<double>&, double, Consistent<double>&);

void take_step(Context& ctx, double alpha, const Consistent<double>& p, const Partial<double>& q, Consistent<double>& x,
               Partial<double>& r) {
  for_each_node(ctx, all_nodes(x.numbers.view()),
                TakeStep{alpha, p.numbers.view(), q.numbers.view(), x.numbers.view(), r.numbers.view()});
}

}  // namespace stratum
