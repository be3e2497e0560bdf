#include <stratum/multigrid/transfer/box_transfer.hpp>

#include <cstddef>
#include <type_traits>

#include <stratum/core/field/for_each_node_3d.hpp>

namespace stratum {

namespace {

/// Conductances that are stored.
struct StoredConductances {
  std::array<FieldView<const double, 3>, 3> g;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double conductance(int axis, int i, int j, int k) const {
    return g[static_cast<std::size_t>(axis)](i, j, k);
  }
};

/// use(conductances), of cells or stored ones.
template <class F>
void with_conductances(const BoxMatrix<double>& a, const BoxConductances& g, const F& use) {
  a.with_rows([&](const auto& rows) {
    if constexpr (requires { rows.conductance(0, 0, 0, 0); })
      use(rows);
    else
      use(StoredConductances{{g.g[0].cview(), g.g[1].cview(), g.g[2].cview()}});
  });
}

/// The sum of g over the four cells of node `at` on a side of direction `axis`: 0 before it, 1 behind it.
template <class Conductances>
STRATUM_HOST_DEVICE STRATUM_INLINE double side(const Conductances& g, int axis, int behind, const int (&at)[3]) {
  double sum = 0;
  for (int b = 0; b < 2; ++b)
    for (int c = 0; c < 2; ++c) {
      int cell[3];
      cell[axis] = at[axis] + behind;
      cell[(axis + 1) % 3] = at[(axis + 1) % 3] + b;
      cell[(axis + 2) % 3] = at[(axis + 2) % 3] + c;
      sum += g.conductance(axis, cell[0], cell[1], cell[2]);
    }
  return sum;
}

/// Index i of a direction, brought back from across a periodic box.
STRATUM_HOST_DEVICE STRATUM_INLINE int inside(const BoxShape& shape, int axis, int i) {
  if (!shape.periodic[static_cast<std::size_t>(axis)]) return i;
  const int n = shape.size(axis);
  return i < 0 ? i + n : i >= n ? i - n : i;
}

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
    double sums[8] = {}, all = 0;
    const int here[3] = {i, j, k};
    for (int axis = 0; axis < 3; ++axis) {
      if ((between >> axis & 1) == 0) continue;
      for (int behind = 0; behind < 2; ++behind) {
        const double c = side(g, axis, behind, here);
        all += c;
        int u[3] = {i, j, k};
        u[axis] += 2 * behind - 1;
        if (!p.fine.has(axis, u[axis])) continue;
        u[axis] = inside(p.fine, axis, u[axis]);
        const int rest = between & ~(1 << axis);
        for (int bits = 0; bits < 8; ++bits)
          if ((bits & ~rest) == 0) sums[bits | behind << axis] += c * static_cast<double>(p.at(bits, u[0], u[1], u[2]));
      }
    }
    for (int bits = 0; bits < 8; ++bits)
      if ((bits & ~between) == 0) p.at(bits, i, j, k) = static_cast<T>(sums[bits] / all);
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

  /// The fine node at `shift` of the one that a coarse node is, -1 where it does not lie between.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int fine(int axis, int coarse, int shift) const {
    const auto& map = p.axes[static_cast<std::size_t>(axis)];
    const int kept = map.kept[coarse];
    if (shift == 0) return kept;
    if (!p.fine.has(axis, kept + shift)) return -1;
    const int i = inside(p.fine, axis, kept + shift);
    return map.dropped[i] >= 0 ? i : -1;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    T sum = 0;
    for (int c = -1; c <= 1; ++c) {
      const int z = fine(2, k, c);
      if (z < 0) continue;
      for (int q = -1; q <= 1; ++q) {
        const int y = fine(1, j, q);
        if (y < 0) continue;
        for (int a = -1; a <= 1; ++a) {
          const int x = fine(0, i, a);
          if (x < 0) continue;
          const int bits = (a < 0 ? 1 : 0) | (q < 0 ? 2 : 0) | (c < 0 ? 4 : 0);
          sum += p.at(bits, x, y, z) * r(x, y, z);
        }
      }
    }
    b(i, j, k) = sum;
  }
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

/// The row of a coarse node of P^T A P: its support's rows, each with what their differences of P make of them.
template <class T, class Rows>
struct CoarseRow {
  BoxTransferView<T> p;
  Rows rows;
  BoxBandRows<double> coarse;

  /// Coarse nodes of a fine one by their numbers 13 + x + 3 y + 9 z around the coarse node (I, J, K), and what P has of Dirichlet nodes.
  struct Parents {
    int number[8];
    double weight[8];
    int count = 0;
    double outside = 0;
  };
  STRATUM_HOST_DEVICE STRATUM_INLINE void find(Parents& parents, const int (&fine)[3], const int (&around)[3]) const {
    const int between = p.between(fine[0], fine[1], fine[2]);
    parents.count = 0;
    double inner = 0;
    bool all = true;
    for (int bits = 0; bits < 8; ++bits) {
      if ((bits & ~between) != 0) continue;
      int number = box_neighbours;
      bool there = true;
      for (int axis = 0, factor = 1; axis < 3; ++axis, factor *= 3) {
        const int at = p.axes[static_cast<std::size_t>(axis)].coarse[fine[axis]] + (bits >> axis & 1);
        there = there && p.coarse.has(axis, at);
        int shift = at - around[axis];
        if (shift > 1) shift -= p.coarse.size(axis);
        if (shift < -1) shift += p.coarse.size(axis);
        number += factor * shift;
      }
      all = all && there;
      if (!there) continue;
      const double weight = static_cast<double>(p.at(bits, fine[0], fine[1], fine[2]));
      parents.number[parents.count] = number;
      parents.weight[parents.count++] = weight;
      inner += weight;
    }
    // Exactly zero where no Dirichlet node is near: natural boundaries leave nothing of rows.
    parents.outside = all ? 0 : 1 - inner;
  }

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j, int k) const {
    const int around[3] = {i, j, k};
    const Restrict<T> support{p, {}, {}};
    double sums[box_row] = {}, entries[box_row], excess = 0;
    Parents own, parents;
    for (int c = -1; c <= 1; ++c)
      for (int b = -1; b <= 1; ++b)
        for (int a = -1; a <= 1; ++a) {
          const int node[3] = {support.fine(0, i, a), support.fine(1, j, b), support.fine(2, k, c)};
          if (node[0] < 0 || node[1] < 0 || node[2] < 0) continue;
          const int bits = (a < 0 ? 1 : 0) | (b < 0 ? 2 : 0) | (c < 0 ? 4 : 0);
          const auto weight = static_cast<double>(p.at(bits, node[0], node[1], node[2]));
          if (weight == 0) continue;
          find(own, node, around);
          const double left = rows.row(node[0], node[1], node[2], entries);
          double of_row = 0, of_excess = left * (1 - own.outside);
          for (int n = -box_neighbours; n <= box_neighbours; ++n) {
            const double entry = entries[box_neighbours + n];
            if (n == 0 || entry == 0) continue;
            const BoxOffset o(n);
            const int other[3] = {inside(p.fine, 0, node[0] + o.x), inside(p.fine, 1, node[1] + o.y),
                                  inside(p.fine, 2, node[2] + o.z)};
            find(parents, other, around);
            for (int m = 0; m < parents.count; ++m) sums[parents.number[m]] += weight * entry * parents.weight[m];
            of_row += entry;
            of_excess += entry * (own.outside - parents.outside);
          }
          for (int m = 0; m < own.count; ++m) sums[own.number[m]] += weight * (left - of_row) * own.weight[m];
          excess += weight * of_excess;
        }
    coarse.at(0, i, j, k) = excess;
    for (int n = 1; n <= box_neighbours; ++n) {
      const BoxOffset o(n);
      const bool there = coarse.shape.has(0, i + o.x) && coarse.shape.has(1, j + o.y) && coarse.shape.has(2, k + o.z);
      coarse.at(n, i, j, k) = there ? sums[box_neighbours + n] : 0;
    }
  }
};

/// Lists of BoxAxisMap, one behind the other.
struct MapNumbers {
  std::vector<int> coarse, dropped, kept, begin, end;

  MapNumbers(const GatedAxis& axis, const std::vector<bool>& drop) {
    int of_dropped = 0;
    const int n = axis.unknowns();
    for (int i = 0; i < n; ++i) {
      const bool is_dropped = drop[static_cast<std::size_t>(i)];
      if (!is_dropped) kept.push_back(i);
      coarse.push_back(static_cast<int>(kept.size()) - 1);
      dropped.push_back(is_dropped ? of_dropped++ : -1);
    }
    // Interval i lies before unknown i.
    begin.push_back(0);
    for (const int i : kept) {
      end.push_back(i);
      begin.push_back(i + 1);
    }
    end.push_back(n);
    if (axis.periodic) begin.front() = begin.back(), end.front() = n;
  }
};

}  // namespace

template <class T>
BoxTransfer<T>::BoxTransfer(Context& ctx, const GatedLevel& level, const BoxMatrix<double>& a, const BoxConductances& g)
    : weights_(std::make_shared<std::array<Field<T, 3>, 8>>()) {
  view_.fine = a.shape();
  view_.coarse = view_.fine;
  std::vector<int> numbers;
  std::array<std::array<int, 2>, 3> counts{};  // of nodes, and of those that are dropped
  std::array<std::array<std::size_t, 5>, 3> starts{};
  for (std::size_t d = 0; d < 3; ++d) {
    const MapNumbers map(level.axes[d], level.dropped[d]);
    const auto kept = static_cast<int>(map.kept.size()), all = static_cast<int>(map.coarse.size());
    counts[d] = {all, all - kept};
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
    view_.axes[d] = {first + s[0], first + s[1], first + s[2], first + s[3], first + s[4]};
  }
  for (std::size_t bits = 0; bits < 8; ++bits) {
    const Extents<3> n{counts[0][bits & 1U], counts[1][bits >> 1U & 1U], counts[2][bits >> 2U]};
    if (n.nodes() == 0) continue;
    (*weights_)[bits] = Field<T, 3>(ctx, GridLayout<3>::box(n, {}, 0));
    view_.weights[bits] = (*weights_)[bits].view();
  }
  with_conductances(a, g, [&](const auto& conductances) {
    using Conductances = std::remove_cvref_t<decltype(conductances)>;
    for (int pass = 0; pass <= 3; ++pass)
      for_each_node(ctx, all_nodes(view_.fine.n), MakeWeights<T, Conductances>{view_, conductances, pass});
  });
}

template <class T>
void BoxTransfer<T>::restrict_to(Context& ctx, FieldView<const T, 3> r, FieldView<T, 3> b) const {
  for_each_node(ctx, all_nodes(b), Restrict<T>{view_, r, b});
}

template <class T>
void BoxTransfer<T>::prolong(Context& ctx, FieldView<const T, 3> coarse, FieldView<T, 3> x) const {
  for_each_node(ctx, all_nodes(x), Prolong<T>{view_, coarse, x});
}

template <class T>
BoxBands<double> BoxTransfer<T>::coarsen(Context& ctx, const BoxMatrix<double>& a) const {
  BoxBands<double> bands(ctx, view_.coarse);
  a.with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
    for_each_node(ctx, all_nodes(view_.coarse.n), CoarseRow<T, Rows>{view_, rows, bands.rows()});
  });
  bands.fill_ghosts(ctx);
  return bands;
}

template <class T>
BoxConductances BoxTransfer<T>::coarsen(Context& ctx, const BoxMatrix<double>& a, const BoxConductances& g) const {
  BoxConductances coarse;
  const auto& [nx, ny, nz] = view_.coarse.n;
  const auto cells = GridLayout<3>::box({nx + 1, ny + 1, nz + 1}, {}, 0);
  for (auto& field : coarse.g) field = Field<double, 3>(ctx, cells);
  with_conductances(a, g, [&](const auto& conductances) {
    using Conductances = std::remove_cvref_t<decltype(conductances)>;
    for_each_node(ctx, all_nodes(cells.extents),
                  CoarsenConductances<Conductances>{
                      view_.axes, conductances, {coarse.g[0].view(), coarse.g[1].view(), coarse.g[2].view()}});
  });
  return coarse;
}

template class BoxTransfer<float>;
template class BoxTransfer<double>;

}  // namespace stratum
