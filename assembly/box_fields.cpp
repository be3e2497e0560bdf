#include <stratum/assembly/box_fields.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/field/reduce_3d.hpp>
#include <stratum/core/operators/box_operator.hpp>

namespace stratum {

namespace {

using Pointers = std::array<const double*, 3>;

struct PolynomialLoad {
  static constexpr bool hot = true;
  Pointers h, p;
  FieldView<double, 3> b;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    b(i, j, k) = 2 * (h[0][i] * p[1][j] * p[2][k] + p[0][i] * h[1][j] * p[2][k] + p[0][i] * p[1][j] * h[2][k]);
  }
};

struct ProductLoad {
  static constexpr bool hot = true;
  double factor;
  Pointers of;
  FieldView<double, 3> b;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    b(i, j, k) = factor * of[0][i] * of[1][j] * of[2][k];
  }
};

/// sign u
struct Signed {
  FieldView<const double, 3> u;
  double sign;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j, int k) const { return sign * u(i, j, k); }
};
/// To the node so far behind.
struct Step {
  FieldView<const double, 3> u;
  std::int64_t behind;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j, int k) const {
    const double* const here = &u(i, j, k);
    const double d = here[behind] - here[0];
    return d < 0 ? -d : d;
  }
};

template <class F>
struct Largest {
  F f;
  static constexpr bool takes_maximum = true, of_any_sign = true, hot = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j, int k) const { return f(i, j, k); }
};
/// The first node with this value has the largest of these numbers.
template <class F>
struct Where {
  F f;
  double value;
  std::array<double, 3> number;  // of the next nodes of the directions of storage, among those of the box
  static constexpr bool takes_maximum = true, of_any_sign = true, hot = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j, int k) const {
    return f(i, j, k) == value ? -(i * number[0] + j * number[1] + k * number[2]) : -1e300;
  }
};

template <class F>
BoxNode first_largest(Context& ctx, const StoredBox<const double>& u, const F& f) {
  const double value = reduce(ctx, u.view.extents, Largest<F>{f});
  if (!std::isfinite(value)) return {value, {}};
  const std::array<int, 3> counts = u.counts();
  const std::array<double, 3> number{1, static_cast<double>(counts[0]), static_cast<double>(counts[0]) * counts[1]};
  const auto at = static_cast<std::int64_t>(-reduce(ctx, u.view.extents, Where<F>{f, value, u.stored(number)}));
  const std::int64_t row = at / counts[0];
  return {value,
          {static_cast<int>(at % counts[0]), static_cast<int>(row % counts[1]), static_cast<int>(row / counts[1])}};
}

}  // namespace

BoxFactors::BoxFactors(Context& ctx, const std::array<std::vector<double>, 3>& of_box) {
  std::vector<double> numbers;
  for (const auto& of : of_box) numbers.insert(numbers.end(), of.begin(), of.end());
  numbers_ = vector_from_host(ctx, numbers);
  begin_[0] = numbers_.cview().data;
  begin_[1] = begin_[0] + of_box[0].size();
  begin_[2] = begin_[1] + of_box[1].size();
  ctx.synchronise();
}

void set_polynomial_load(Context& ctx, const BoxFactors& h, const BoxFactors& p, StoredBox<double> b) {
  for_each_node(ctx, all_nodes(b.view), PolynomialLoad{b.stored(h.begin()), b.stored(p.begin()), b.view});
}
void set_product(Context& ctx, double factor, const BoxFactors& of, StoredBox<double> b) {
  for_each_node(ctx, all_nodes(b.view), ProductLoad{factor, b.stored(of.begin()), b.view});
}

BoxNode largest_node(Context& ctx, StoredBox<const double> u) { return first_largest(ctx, u, Signed{u.view, 1}); }
BoxNode smallest_node(Context& ctx, StoredBox<const double> u) {
  BoxNode node = first_largest(ctx, u, Signed{u.view, -1});
  node.value = 0 - node.value;
  return node;
}
BoxNode largest_step(Context& ctx, StoredBox<const double> u, std::size_t d) {
  return first_largest(ctx, u, Step{u.view, u.apart()[d]});
}

double value_of(Context& ctx, StoredBox<const double> u, const std::array<int, 3>& at) {
  const auto apart = u.apart();
  double value = 0;
  copy_bytes(ctx, u.view.data + at[0] * apart[0] + at[1] * apart[1] + at[2] * apart[2], &value, sizeof value);
  ctx.synchronise();
  return value;
}

namespace {

/// Copies of large boxes take no second one on the device.
constexpr std::int64_t small_box = std::int64_t{1} << 22;

std::array<std::int64_t, 3> without_gaps(const std::array<int, 3>& counts) {
  return {1, counts[0], std::int64_t{counts[0]} * counts[1]};
}
/// The same box in memory of the host, in the order of storage and without gaps.
template <class T>
FieldView<T, 3> on_host(const StoredBox<const double>& u, T* numbers) {
  const Extents<3>& n = u.view.extents;
  return {numbers, n, {n.nx, std::int64_t{n.nx} * n.ny}};
}

}  // namespace

std::vector<double> to_host(Context& ctx, StoredBox<const double> u) {
  const auto apart = u.stored(without_gaps(u.counts()));
  std::vector<double> numbers(static_cast<std::size_t>(u.view.nodes()));
  if (!ctx.on_gpu()) {
    box_scatter(ctx, u.view, numbers.data(), apart);
  } else if (u.view.nodes() <= small_box) {
    const auto memory = allocate(ctx, numbers.size() * sizeof(double));
    box_scatter(ctx, u.view, static_cast<double*>(memory.get()), apart);
    copy_bytes(ctx, memory.get(), numbers.data(), numbers.size() * sizeof(double));
    ctx.synchronise();
  } else if (u.order == std::array<std::size_t, 3>{0, 1, 2}) {
    copy_to_host(ctx, u.view, numbers.data());
  } else {
    std::vector<double> stored(numbers.size());
    copy_to_host(ctx, u.view, stored.data());
    Context host(Backend::cpu, ctx.threads());
    box_scatter(host, on_host<const double>(u, stored.data()), numbers.data(), apart);
  }
  return numbers;
}

void from_host(Context& ctx, const std::vector<double>& numbers, const std::array<std::int64_t, 3>& apart, bool add,
               StoredBox<double> u) {
  if (!ctx.on_gpu()) return box_gather(ctx, numbers.data(), u.stored(apart), u.view, add);
  const auto memory = allocate(ctx, numbers.size() * sizeof(double));
  copy_bytes(ctx, numbers.data(), memory.get(), numbers.size() * sizeof(double));
  box_gather(ctx, static_cast<const double*>(memory.get()), u.stored(apart), u.view, add);
  ctx.synchronise();
}

void from_nodes(Context& ctx, const double* nodes, const std::array<std::int64_t, 3>& apart,
                const std::array<int, 3>& first, const std::array<int, 3>& other_end, StoredBox<double> u) {
  Context host(Backend::cpu, ctx.threads());
  std::vector<double> staged;
  StoredBox<double> there = u;
  if (ctx.on_gpu()) {
    staged.resize(static_cast<std::size_t>(u.view.nodes()));
    there.view = on_host<double>(u, staged.data());
  }
  // The ends of periodic directions one after the other: edges and corners have several.
  for (unsigned ends = 0; ends < 8; ++ends) {
    const auto at_end = [&](std::size_t d) { return (ends >> d & 1U) != 0; };
    StoredBox<double> part = there;
    const double* from = nodes;
    bool some = true;
    for (std::size_t d = 0; d < 3; ++d) {
      some = some && (!at_end(d) || other_end[d] > 0);
      from += apart[d] * (at_end(d) ? other_end[d] : first[d]);
      if (at_end(d)) part = part.part(d, 0, 1);
    }
    if (some) box_gather(host, from, part.stored(apart), part.view, ends != 0);
  }
  if (ctx.on_gpu()) copy_from_host(ctx, staged.data(), u.view);
}

}  // namespace stratum
