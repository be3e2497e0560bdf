#include <stratum/core/patches/patch_nodes.hpp>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

struct CopyThere {
  const int* numbers;
  FieldView<const double> x;
  FieldView<double> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int /*j*/) const { y[numbers[k]] = x[numbers[k]]; }
};
struct SetThere {
  const int* numbers;
  double a;
  FieldView<double> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int /*j*/) const { x[numbers[k]] = a; }
};
struct Multiply {
  FieldView<const double> d;
  FieldView<double> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int /*j*/) const { return d[i] * x[i]; }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int /*j*/, double number) const { x[i] = number; }
};

}  // namespace

PatchNumbers::PatchNumbers(Context& ctx, const std::vector<int>& numbers)
    : count_(static_cast<int>(numbers.size())),
      numbers_(vector_from_host(ctx, numbers.empty() ? std::vector<int>{0} : numbers)) {}

void PatchNumbers::copy(Context& ctx, const Field<double>& x, Field<double>& y) const {
  for_each_node(ctx, {0, count_, 1, 0, 1, 1}, CopyThere{numbers_.cview().data, x.cview(), y.view()});
}
void PatchNumbers::set(Context& ctx, double a, Field<double>& x) const {
  for_each_node(ctx, {0, count_, 1, 0, 1, 1}, SetThere{numbers_.cview().data, a, x.view()});
}

void multiply(Context& ctx, const Field<double>& d, Field<double>& x) {
  for_each_node(ctx, all_nodes(x.view()), Multiply{d.cview(), x.view()});
}

}  // namespace stratum
