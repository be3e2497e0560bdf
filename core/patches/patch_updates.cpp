#include <stratum/core/patches/patch_updates.hpp>

#include <cmath>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/field_functors.hpp>
#include <stratum/core/field/reduce.hpp>

namespace stratum {

namespace {

template <class T>
struct Turn {
  static constexpr bool hot = true;
  const double *now, *before;
  FieldView<const T> z;
  FieldView<double> p;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int /*j*/) const {
    const double beta = *now / *before, along = static_cast<double>(z[i]);
    return beta == 0 ? along : along + beta * p[i];
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int /*j*/, double number) const { p[i] = number; }
};

struct TakeStep {
  static constexpr bool hot = true;
  const double *preconditioned, *curvature;
  FieldView<const double> p, q;
  FieldView<double> x, r;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int /*j*/) const {
    const double rz = *preconditioned, pq = *curvature, alpha = rz > 0 && pq > 0 ? rz / pq : 0;
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
  }
};

}  // namespace

PatchSteps::PatchSteps(Context& ctx, const PatchLayout& layout)
    : size_(layout.size()), apart_((reduction_numbers(ctx, layout.size(), 1) + 31) / 32 * 32),
      numbers_(ctx, count * apart_),
      host_(std::static_pointer_cast<double>(allocate_on_host(ctx, count * sizeof(double)))) {}

template <class Term>
void PatchSteps::reduce(Context& ctx, int k, const Term& term) {
  reduce_to(ctx, size_, 1, term, number(k), host_.get() + (k < curvature ? 0 : k));
}

void PatchSteps::restart(Context& ctx) {
  current_ = 0;
  set(ctx, HUGE_VAL, FieldView<double>{number(0), 1, 1, 1});
  for (const int k : {0, static_cast<int>(curvature), static_cast<int>(square)}) Context::expect(host_.get() + k);
}

template <class T>
void PatchSteps::preconditioned(Context& ctx, const Partial<double>& r, const Consistent<T>& z) {
  current_ = 1 - current_;
  reduce(ctx, current_, Product<double, T>{r.numbers.cview(), z.numbers.cview()});
}
template <class T>
void PatchSteps::turn(Context& ctx, const Consistent<T>& z, Consistent<double>& p) {
  for_each_node(ctx, all_nodes(p.numbers.view()),
                Turn<T>{number(current_), number(1 - current_), z.numbers.cview(), p.numbers.view()});
}
void PatchSteps::curved(Context& ctx, const Consistent<double>& p, const Partial<double>& q) {
  reduce(ctx, curvature, Product<double, double>{p.numbers.cview(), q.numbers.cview()});
}
void PatchSteps::step(Context& ctx, const Consistent<double>& p, const Partial<double>& q, Consistent<double>& x,
                      Partial<double>& r) {
  for_each_node(ctx, all_nodes(x.numbers.view()),
                TakeStep{number(current_), number(curvature), p.numbers.cview(), q.numbers.cview(), x.numbers.view(),
                         r.numbers.view()});
}
void PatchSteps::left(Context& ctx, const Partial<double>& r) {
  reduce(ctx, square, Product<double, double>{r.numbers.cview(), r.numbers.cview()});
}

PatchSteps::Products PatchSteps::fetch(Context& ctx) {
  if (!ctx.on_gpu()) return {*number(current_), *number(curvature), *number(square)};
  double found[count]{};
  for (const int k : {0, static_cast<int>(curvature), static_cast<int>(square)}) {
    found[k] = ctx.await(host_.get() + k);
    Context::expect(host_.get() + k);
  }
  return {found[0], found[curvature], found[square]};
}

template void PatchSteps::preconditioned(Context&, const Partial<double>&, const Consistent<float>&);
template void PatchSteps::preconditioned(Context&, const Partial<double>&, const Consistent<double>&);
template void PatchSteps::turn(Context&, const Consistent<float>&, Consistent<double>&);
template void PatchSteps::turn(Context&, const Consistent<double>&, Consistent<double>&);

}  // namespace stratum
