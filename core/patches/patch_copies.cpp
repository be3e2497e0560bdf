#include <algorithm>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/patches/for_each_patch_node.hpp>
#include <stratum/core/patches/in_memory.hpp>
#include <stratum/core/patches/patch_layout.hpp>

namespace stratum {

namespace {

/// `x` of the copies of a node, from those of `r`.
template <class T>
struct SumCopies {
  SharedNodes::View nodes;
  FieldView<const T> r;
  FieldView<T> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int node, int /*j*/) const {
    const int begin = nodes.begin[node], end = nodes.begin[node + 1];
    T sum = r[nodes.copies[begin]];
    for (int k = begin + 1; k < end; ++k) sum += r[nodes.copies[k]];
    for (int k = begin; k < end; ++k) x[nodes.copies[k]] = sum;
  }
};

/// Their sum in the first copy, zero in the others.
template <class T>
struct GatherCopies {
  SharedNodes::View nodes;
  FieldView<T> r;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int node, int /*j*/) const {
    const int begin = nodes.begin[node], end = nodes.begin[node + 1];
    T sum = r[nodes.copies[begin]];
    for (int k = begin + 1; k < end; ++k) {
      sum += r[nodes.copies[k]];
      r[nodes.copies[k]] = 0;
    }
    r[nodes.copies[begin]] = sum;
  }
};

}  // namespace

SharedNodes::SharedNodes(Context& ctx, const PatchLayout& layout) {
  const auto& t = layout.topology();
  std::vector<int> copies, begin{0};
  for (std::size_t e = 0; e < t.edges.size(); ++e) {
    const auto& sides = t.edges[e].sides;
    if (sides.size() < 2 || !layout.has(sides[0].patch) || !layout.has(sides[1].patch)) continue;
    const auto a = layout.run_of(sides[0]), b = layout.run_of(sides[1]);
    for (int k = 1; k < layout.cells_of_edge(static_cast<int>(e)); ++k) {
      copies.push_back(a.first + k * a.stride);
      copies.push_back(b.first + k * b.stride);
      begin.push_back(static_cast<int>(copies.size()));
    }
  }
  for (const auto& vertex : t.vertices) {
    const bool here = std::all_of(vertex.corners.begin(), vertex.corners.end(),
                                  [&](const auto& corner) { return layout.has(corner.patch); });
    if (vertex.corners.size() < 2 || !here) continue;
    for (const auto& corner : vertex.corners) copies.push_back(layout.corner(corner));
    begin.push_back(static_cast<int>(copies.size()));
  }
  nodes_ = static_cast<int>(begin.size()) - 1;
  if (nodes_ == 0) copies.push_back(0);
  copies_ = vector_from_host(ctx, copies);
  begin_ = vector_from_host(ctx, begin);
}

SharedNodes::View SharedNodes::view() const { return {copies_.view().data, begin_.view().data, nodes_}; }

template <class T>
void sum_copies(Context& ctx, const SharedNodes& shared, const Partial<T>& r, Consistent<T>& x) {
  if (x.numbers.view().data != r.numbers.view().data) copy(ctx, r.numbers.view(), x.numbers.view());
  const auto nodes = shared.view();
  for_each_node(ctx, {0, nodes.nodes, 1, 0, 1, 1}, SumCopies<T>{nodes, r.numbers.view(), x.numbers.view()});
}
template void sum_copies(Context& ctx, const SharedNodes& shared, const Partial<float>& r, Consistent<float>& x);
template void sum_copies(Context& ctx, const SharedNodes& shared, const Partial<double>& r, Consistent<double>& x);

template <class T>
void gather_copies(Context& ctx, const SharedNodes& shared, Partial<T>& r) {
  const auto nodes = shared.view();
  for_each_node(ctx, {0, nodes.nodes, 1, 0, 1, 1}, GatherCopies<T>{nodes, r.numbers.view()});
}
template void gather_copies(Context& ctx, const SharedNodes& shared, Partial<float>& r);
template void gather_copies(Context& ctx, const SharedNodes& shared, Partial<double>& r);

PatchRows::PatchRows(Context& ctx, const PatchLayout& layout, std::optional<int> rank) {
  std::vector<Row> rows;
  for (int p = 0; p < layout.patches(); ++p) {
    const auto& patch = layout.patch(p);
    if (!layout.has(p) || (rank && layout.rank_of(p) != *rank)) continue;
    for (int j = 0; j <= patch.ny; ++j) rows.push_back({patch, p, j});
    widest_ = std::max(widest_, patch.nx + 1);
  }
  count_ = static_cast<int>(rows.size());
  memory_ = in_memory(ctx, rows);
}

}  // namespace stratum
