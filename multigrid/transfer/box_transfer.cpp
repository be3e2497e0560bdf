#include <stratum/multigrid/transfer/box_transfer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/multigrid/transfer/box_coarse_rows.hpp>
#include <stratum/multigrid/transfer/box_conductances.hpp>
#include <stratum/multigrid/transfer/box_maps.hpp>

namespace stratum {

namespace {

using detail::CoarseRow;
using detail::inside;
using detail::no_node;

/// Weights of nodes that lie between in `pass` directions; the passes before are done.
template <class T, class Conductances>
struct MakeWeights {
  BoxTransferView<T> p;
  Conductances g;
  int pass;

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    const int between = p.between(i, j, k);
    const int count = (between & 1) + (between >> 1 & 1) + (between >> 2);
    if (count != pass) return;
    if (count == 0) {
      p.at(0, i, j, k) = T(1);
      return;
    }
    double sums[8] = {}, sides[6] = {}, all = 0;
    const int here[3] = {i, j, k};
    // `axis` and `behind` are constants, so that a GPU keeps these numbers in registers.
    const auto for_each_side = [&](const auto& use) __attribute__((always_inline)) {
      const auto on = [&]<int axis, int behind>(std::integer_sequence<int, axis, behind> of)
          __attribute__((always_inline)) {
        if ((between >> axis & 1) != 0) use(of);
      };
      on(std::integer_sequence<int, 0, 0>()), on(std::integer_sequence<int, 0, 1>());
      on(std::integer_sequence<int, 1, 0>()), on(std::integer_sequence<int, 1, 1>());
      on(std::integer_sequence<int, 2, 0>()), on(std::integer_sequence<int, 2, 1>());
    };
    for_each_side([&]<int axis, int behind>(std::integer_sequence<int, axis, behind>) __attribute__((always_inline)) {
      all += sides[2 * axis + behind] = side(g, axis, behind, here);
    });
    // One that couples to others, to none by sums, takes the mean of its neighbours; a fixed one takes nothing.
    const bool takes_mean = !(all > 0);
    if (takes_mean) all = is_coupled(g, here) ? 2 * count : 0;
    for_each_side([&]<int axis, int behind>(std::integer_sequence<int, axis, behind>) __attribute__((always_inline)) {
      const double c = takes_mean ? 1 : sides[2 * axis + behind];
      int u[3] = {i, j, k};
      u[axis] += 2 * behind - 1;
      if (!p.fine.has(axis, u[axis])) return;
      u[axis] = inside(p.fine, axis, u[axis]);
      const int rest = between & ~(1 << axis);
      for (int bits = 0; bits < 8; ++bits)
        if ((bits & ~rest) == 0) sums[bits | behind << axis] += c * static_cast<double>(p.at(bits, u[0], u[1], u[2]));
    });
    for (int bits = 0; bits < 8; ++bits)
      if ((bits & ~between) == 0) p.at(bits, i, j, k) = static_cast<T>(all > 0 ? sums[bits] / all : 0);
  }
};

template <class Conductances>
struct StoreConductances {
  Conductances g;
  std::array<FieldView<double, 3>, 3> to;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    for (int axis = 0; axis < 3; ++axis)
      to[static_cast<std::size_t>(axis)](i, j, k) = static_cast<double>(g.conductance(axis, i, j, k));
  }
};

template <class Conductances>
struct CoarsenConductances {
  std::array<BoxAxisMap, 3> axes;
  Conductances g;
  std::array<FieldView<double, 3>, 3> coarse;

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    const int first[3] = {axes[0].begin[i], axes[1].begin[j], axes[2].begin[k]};
    const int last[3] = {axes[0].end[i], axes[1].end[j], axes[2].end[k]};
    for (int axis = 0; axis < 3; ++axis) {
      const int a = (axis + 1) % 3, b = (axis + 2) % 3;
      double sum = 0;
      int cell[3];
      for (cell[a] = first[a]; cell[a] <= last[a]; ++cell[a])
        for (cell[b] = first[b]; cell[b] <= last[b]; ++cell[b]) {
          double resistance = 0;
          bool conducts = true;
          for (cell[axis] = first[axis]; cell[axis] <= last[axis]; ++cell[axis]) {
            const double of_cell = g.conductance(axis, cell[0], cell[1], cell[2]);
            conducts = conducts && of_cell > 0;
            resistance += conducts ? 1 / of_cell : 0;
          }
          if (conducts) sum += 1 / resistance;
        }
      coarse[static_cast<std::size_t>(axis)](i, j, k) = sum;
    }
  }
};

template <class T>
struct Restrict {
  static constexpr bool hot = true;
  BoxTransferView<T> p;
  FieldView<const T, 3> r;
  FieldView<T, 3> b;

  /// Of a direction the fine nodes that a coarse node has a part of: one that lies between before it, itself, one behind it, or
  /// `no_node`. Where their weights to it stand: of the first one it is the coarse node behind.
  struct Nodes {
    int at[3], weight[3];
    STRATUM_HOST_DEVICE STRATUM_INLINE Nodes(const BoxTransferView<T>& p, int axis, int coarse) {
      const auto& map = p.axes[static_cast<std::size_t>(axis)];
      const int kept = map.kept[coarse];
      const auto between = [&](int i) {
        if (!p.fine.has(axis, i)) return no_node;
        const int there = inside(p.fine, axis, i);
        return map.dropped[there] >= 0 ? there : no_node;
      };
      at[0] = between(kept - 1);
      at[1] = weight[1] = kept;
      at[2] = weight[2] = between(kept + 1);
      weight[0] = at[0] == no_node ? no_node : map.dropped[at[0]];
    }
  };
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    const Nodes x(p, 0, i), y(p, 1, j), z(p, 2, k);
    T sum = 0;
    for (int c = 0; c < 3; ++c)
      for (int q = 0; q < 3; ++q) {
        if (z.at[c] == no_node || y.at[q] == no_node) continue;
        const int bits = (q == 0 ? 2 : 0) | (c == 0 ? 4 : 0);
        const T* const of_r = r.row(y.at[q], z.at[c]);
        const T* const own = p.weights[static_cast<std::size_t>(bits)].row(y.weight[q], z.weight[c]);
        if (x.at[0] >= 0)
          sum += p.weights[static_cast<std::size_t>(bits | 1)](x.weight[0], y.weight[q], z.weight[c]) * of_r[x.at[0]];
        sum += own[x.weight[1]] * of_r[x.at[1]];
        if (x.at[2] >= 0) sum += own[x.weight[2]] * of_r[x.at[2]];
      }
    b(i, j, k) = sum;
  }
};

/// On a CPU: the same by rows, of which most have a part of few fine rows where little is dropped.
template <class T>
struct RestrictRows {
  Restrict<T> restriction;

  struct Row {
    using Nodes = typename Restrict<T>::Nodes;
    struct Part {
      const T *r, *own, *before;
    };
    BoxTransferView<T> p;
    T* b;
    Part parts[9];
    int count = 0;

    STRATUM_HOST_DEVICE Row(const Restrict<T>& all, int j, int k) : p(all.p), b(all.b.row(j, k)) {
      const Nodes y(p, 1, j), z(p, 2, k);
      for (int c = 0; c < 3; ++c)
        for (int q = 0; q < 3; ++q) {
          if (z.at[c] == no_node || y.at[q] == no_node) continue;
          const auto bits = static_cast<std::size_t>((q == 0 ? 2 : 0) | (c == 0 ? 4 : 0));
          parts[count++] = {all.r.row(y.at[q], z.at[c]), p.weights[bits].row(y.weight[q], z.weight[c]),
                            p.weights[bits | 1U].row(y.weight[q], z.weight[c])};
        }
    }
    STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i) const {
      const Nodes x(p, 0, i);
      T sum = 0;
      for (int n = 0; n < count; ++n) {
        const Part& part = parts[n];
        if (x.at[0] >= 0) sum += part.before[x.weight[0]] * part.r[x.at[0]];
        sum += part.own[x.weight[1]] * part.r[x.at[1]];
        if (x.at[2] >= 0) sum += part.own[x.weight[2]] * part.r[x.at[2]];
      }
      b[i] = sum;
    }
  };
  struct Plane {
    static constexpr bool hot = true;
    Restrict<T> restriction;
    int k;
    [[nodiscard]] STRATUM_HOST_DEVICE Row row(int j) const { return {restriction, j, k}; }
  };
  [[nodiscard]] STRATUM_HOST_DEVICE Plane plane(int k) const { return {restriction, k}; }
};

template <class T>
struct Prolong {
  static constexpr bool hot = true;
  BoxTransferView<T> p;
  FieldView<const T, 3> coarse;
  FieldView<T, 3> x;

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    const int between = p.between(i, j, k), a = p.axes[0].coarse[i], b = p.axes[1].coarse[j], c = p.axes[2].coarse[k];
    T sum = 0;
    for (int bits = 0; bits < 8; ++bits)
      if ((bits & ~between) == 0)
        sum += p.at(bits, i, j, k) * coarse(a + (bits & 1), b + (bits >> 1 & 1), c + (bits >> 2));
    x(i, j, k) += sum;
  }
};

#if defined(__CUDACC__)

/// What the coarse cell before coarse node (a, b, c) gives: to the coarse node at its first corner, and to those that lie
/// between from there on. Coarse cells have as many nodes to read in common as threads of a GPU would else read again.
template <class T>
struct ProlongFromCell {
  static constexpr bool hot = true;
  BoxTransferView<T> p;
  FieldView<const T, 3> coarse;
  FieldView<T, 3> x;

  /// Fine nodes of a direction from coarse node `at` on, which may be none: itself, and one that lies between behind it; its
  /// number among those.
  STRATUM_HOST_DEVICE STRATUM_INLINE void nodes(int axis, int at, int (&node)[2], int& number) const {
    const auto& map = p.axes[static_cast<std::size_t>(axis)];
    node[0] = at < 0 ? -1 : map.kept[at];
    const int behind = node[0] + 1;
    number = behind < p.fine.size(axis) ? map.dropped[behind] : -1;
    node[1] = number < 0 ? -1 : behind;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int a, int b, int c) const {
    int i[2], j[2], k[2], x_number = 0, y_number = 0, z_number = 0;
    nodes(0, a - 1, i, x_number);
    nodes(1, b - 1, j, y_number);
    nodes(2, c - 1, k, z_number);
    T u[8];
    for (int corner = 0; corner < 8; ++corner) {
      const int q = corner & 1, r = corner >> 1 & 1, s = corner >> 2;
      const bool there = (q == 0 || i[1] >= 0) && (r == 0 || j[1] >= 0) && (s == 0 || k[1] >= 0);
      u[corner] = there ? coarse(a - 1 + q, b - 1 + r, c - 1 + s) : T(0);
    }
    for (int of = 0; of < 8; ++of) {
      const int q = of & 1, r = of >> 1 & 1, s = of >> 2;
      if (i[q] < 0 || j[r] < 0 || k[s] < 0) continue;
      T sum = of == 0 ? u[0] : T(0);
      for (int bits = 0; bits < 8; ++bits)
        if (of != 0 && (bits & ~of) == 0)
          sum += p.weights[static_cast<std::size_t>(bits)]((bits & 1) != 0 ? x_number : i[q],
                                                           (bits & 2) != 0 ? y_number : j[r],
                                                           (bits & 4) != 0 ? z_number : k[s]) *
                 u[bits];
      x(i[q], j[r], k[s]) += sum;
    }
  }
};

#endif

}  // namespace

BoxConductances zero_conductances(Context& ctx, const BoxShape& shape) {
  BoxConductances g;
  g.of_cells = true;
  for (auto& field : g.g)
    field =
        Field<double, 3>(ctx, GridLayout<3>::box({shape.n.nx + 1, shape.n.ny + 1, shape.stored_planes() + 1}, {}, 0));
  return g;
}

BoxConductances conductances_of(Context& ctx, const BoxMatrix<double>& a, const BoxConductances& g) {
  if (!g.of_cells && !a.is_cells()) return {};
  BoxConductances stored = zero_conductances(ctx, a.shape());
  const auto& [nx, ny, nz] = a.shape().n;
  const auto to = [&](std::size_t d) { return from_own(a.shape(), stored.g[d]); };
  with_conductances(a, g, false, [&](const auto& conductances) {
    using Conductances = std::remove_cvref_t<decltype(conductances)>;
    if constexpr (requires { conductances.conductance(0, 0, 0, 0); })
      for_each_node(ctx, all_nodes(Extents<3>{nx + 1, ny + 1, nz + 1}),
                    StoreConductances<Conductances>{conductances, {to(0), to(1), to(2)}});
  });
  return stored;
}

double* layer_of(BoxConductances& g, const BoxShape& shape, std::size_t axis, int layer) {
  return from_own(shape, g.g[axis]).row(0, layer);
}

template <class T>
BoxTransfer<T>::BoxTransfer(Context& ctx, const GatedLevel& level, const BoxMatrix<double>& a, const BoxConductances& g,
                            bool columns)
    : weights_(std::make_shared<std::array<Field<T, 3>, 8>>()) {
  view_.fine = a.shape();
  view_.coarse = view_.fine;
  std::vector<int> numbers;
  std::array<std::array<int, 2>, 3> counts{};  // of nodes, and of those that are dropped
  std::array<std::array<std::size_t, 5>, 3> starts{};
  const int before = view_.fine.slab.before;
  for (std::size_t d = 0; d < 3; ++d) {
    BoxAxisNumbers map(level.axes[d], level.dropped[d]);
    if (view_.fine.is_slab() && d == 2) {
      view_.coarse.slab = map.coarser(view_.fine.slab);
      map = map.of_slab(view_.fine.slab, view_.fine.n.nz);
    }
    const auto kept = static_cast<int>(map.kept.size()), all = static_cast<int>(map.coarse.size());
    counts[d] = {all, static_cast<int>(std::count_if(map.dropped.begin(), map.dropped.end(),
                                                     [](int number) { return number >= 0; }))};
    (d == 0 ? view_.coarse.n.nx : d == 1 ? view_.coarse.n.ny : view_.coarse.n.nz) = kept;
    std::size_t part = 0;
    for (const auto* list : {&map.coarse, &map.dropped, &map.kept, &map.begin, &map.end}) {
      starts[d][part++] = numbers.size();
      numbers.insert(numbers.end(), list->begin(), list->end());
    }
  }
  maps_ = vector_from_host(ctx, numbers);
  ctx.synchronise();
  const int* const first = maps_.cview().data;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto& s = starts[d];
    const int own = d == 2 ? before : 0;
    view_.axes[d] = {first + s[0] + own, first + s[1] + own, first + s[2], first + s[3], first + s[4]};
  }
  for (std::size_t bits = 0; bits < 8; ++bits) {
    const Extents<3> n{counts[0][bits & 1U], counts[1][bits >> 1U & 1U], counts[2][bits >> 2U]};
    if (n.nodes() == 0) continue;
    (*weights_)[bits] = Field<T, 3>(ctx, GridLayout<3>::box(n, {}, 0));
    view_.weights[bits] = (*weights_)[bits].view();
    if ((bits & 4U) == 0) view_.weights[bits].data += before * view_.weights[bits].strides.plane;
  }
  with_conductances(a, g, columns, [&](const auto& conductances) {
    using Conductances = std::remove_cvref_t<decltype(conductances)>;
    NodeRange<3> nodes = all_nodes(view_.fine.n);
    nodes.z = {-before, view_.fine.n.nz + view_.fine.slab.behind};
    for (int pass = 0; pass <= 3; ++pass)
      for_each_node(ctx, nodes, MakeWeights<T, Conductances>{view_, conductances, pass});
  });
}

template <class T>
void BoxTransfer<T>::restrict_to(Context& ctx, FieldView<const T, 3> r, FieldView<T, 3> b) const {
  const Restrict<T> restriction{view_, r, b};
  if (ctx.on_gpu()) return for_each_node(ctx, all_nodes(b), restriction);
  for_each_node(ctx, all_nodes(b), RestrictRows<T>{restriction});
}

template <class T>
void BoxTransfer<T>::prolong(Context& ctx, FieldView<const T, 3> coarse, FieldView<T, 3> x) const {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    const auto& [nx, ny, nz] = view_.coarse.n;
    return for_each_node(ctx, all_nodes(Extents<3>{nx + 1, ny + 1, nz + 1}), ProlongFromCell<T>{view_, coarse, x});
  }
#endif
  for_each_node(ctx, all_nodes(x), Prolong<T>{view_, coarse, x});
}

template <class T>
BoxBands<double> BoxTransfer<T>::coarsen(Context& ctx, const BoxMatrix<double>& a) const {
  BoxBands<double> bands(ctx, view_.coarse);
  a.with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
    if constexpr (!std::is_same_v<Rows, BoxFullRows<double>>)
      for_each_node(ctx, all_nodes(view_.coarse.n),
                    CoarseRow<T, Rows, BoxBandRows<double>>{view_, view_, rows, bands.rows()});
  });
  if (!view_.fine.is_slab()) bands.fill_ghosts(ctx);
  return bands;
}

template <class T>
BoxFullBands<double> BoxTransfer<T>::coarsen(Context& ctx, const BoxFullBands<double>& a, const BoxTransfer& r) const {
  BoxFullBands<double> bands(ctx, view_.coarse);
  using Rows = BoxFullRows<double>;
  for_each_node(ctx, all_nodes(view_.coarse.n), CoarseRow<T, Rows, Rows>{view_, r.view(), a.rows(), bands.rows()});
  bands.fill_ghosts(ctx);
  return bands;
}

template <class T>
BoxConductances BoxTransfer<T>::coarsen(Context& ctx, const BoxMatrix<double>& a, const BoxConductances& g) const {
  if (!g.of_cells && !a.is_cells()) return {};
  BoxConductances coarse = zero_conductances(ctx, view_.coarse);
  const auto& [nx, ny, nz] = view_.coarse.n;
  const auto to = [&](std::size_t d) { return from_own(view_.coarse, coarse.g[d]); };
  with_conductances(a, g, false, [&](const auto& conductances) {
    using Conductances = std::remove_cvref_t<decltype(conductances)>;
    if constexpr (requires { conductances.conductance(0, 0, 0, 0); })
      for_each_node(ctx, all_nodes(Extents<3>{nx + 1, ny + 1, nz + 1}),
                    CoarsenConductances<Conductances>{view_.axes, conductances, {to(0), to(1), to(2)}});
  });
  return coarse;
}

template class BoxTransfer<float>;
template class BoxTransfer<double>;

}  // namespace stratum
