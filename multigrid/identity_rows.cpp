#include <stratum/multigrid/identity_rows.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/field/reduce.hpp>

namespace stratum {

namespace {

/// Takes the bands of either format.
template <class Use>
void visit_bands(GridOperator<double>& a, const Use& use) {
  if (auto* const nine = std::get_if<NineBandMatrix<double>>(&a.storage())) return use(*nine);
  auto* const five = std::get_if<SymmetricNineBand<double>>(&a.storage());
  expects(five != nullptr, "identity rows are for matrices in bands, not a ", to_string(a.format()), " operator");
  use(*five);
}

template <class Bands>
constexpr std::size_t centre_of = static_cast<std::size_t>(4 - Bands::first);

/// A coupling to or from a node with a zero is none.
struct Uncouple {
  FieldView<const double> keep;
  FieldView<double> band;
  int dx, dy;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    if (keep(i, j) == 0 || keep(i + dx, j + dy) == 0) band(i, j) = 0;
  }
};

/// A diagonal entry where there is none.
struct Fill {
  FieldView<const double> keep;  // null: everywhere
  FieldView<double> diagonal;
  double value;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    if ((keep.data == nullptr || keep(i, j) == 0) && diagonal(i, j) == 0) diagonal(i, j) = value;
  }
};

template <class View>
struct HideAlone {
  View a;
  FieldView<double> diagonal;
  FieldView<double> all;
  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_none(int i, int j) const {
    return a.template coefficient<dx, dy>(i, j) == 0;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    all(i, j) = diagonal(i, j);
    if (is_none<-1, -1>(i, j) && is_none<0, -1>(i, j) && is_none<1, -1>(i, j) && is_none<-1, 0>(i, j) &&
        is_none<1, 0>(i, j) && is_none<-1, 1>(i, j) && is_none<0, 1>(i, j) && is_none<1, 1>(i, j))
      diagonal(i, j) = 0;
  }
};

struct HideCoarse {
  FieldView<const double> fine;  // diagonal
  FieldView<double> coarse;
  int cells_x, cells_y;  // of the fine mesh
  bool halves_x, halves_y;
  int origin_x, origin_y, coarse_origin_x, coarse_origin_y;

  /// The fine node where a coarse one lies, the last of an odd number of intervals at their end.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static int place(int coarse, int origin, int coarse_origin,
                                                                    bool halves, int cells) {
    const int node = coarse + coarse_origin, there = halves ? 2 * node : node;
    return (there < cells ? there : cells) - origin;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int p = place(i, origin_x, coarse_origin_x, halves_x, cells_x),
              q = place(j, origin_y, coarse_origin_y, halves_y, cells_y);
    if (fine(p, q) == 0) coarse(i, j) = 0;
  }
};

/// Of a node, zero where there is none: free, its row sums to something; fixed.
constexpr double outside = 0, plain = 1, grounded = 2, solid = 3, valued = 4;

/// Free nodes by their row's sum.
template <class View>
struct Grounded {
  View a;
  FieldView<const double> free;
  FieldView<double> state;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    constexpr double something = 1e-3;
    const double diagonal = a.template coefficient<0, 0>(i, j);
    const double others = ((a.template coefficient<-1, -1>(i, j) + a.template coefficient<0, -1>(i, j)) +
                           (a.template coefficient<1, -1>(i, j) + a.template coefficient<-1, 0>(i, j))) +
                          ((a.template coefficient<1, 0>(i, j) + a.template coefficient<-1, 1>(i, j)) +
                           (a.template coefficient<0, 1>(i, j) + a.template coefficient<1, 1>(i, j)));
    state(i, j) = free(i, j) == 0 ? solid : diagonal + others > something * diagonal ? grounded : plain;
  }
};

/// Fixed nodes by their neighbours.
struct Valued {
  FieldView<const double> state;
  FieldView<double> found;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    double own = state(i, j);
    if (own == solid)
      for (int q = -1; q <= 1; ++q)
        for (int p = -1; p <= 1; ++p)
          if (state(i + p, j + q) == grounded) own = valued;
    found(i, j) = own;
  }
};

struct IsState {
  FieldView<const double> state;
  double which;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return state(i, j) == which ? 1.0 : 0.0; }
};

struct InverseOfFree {
  FieldView<const double> state, diagonal;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return (state(i, j) == plain || state(i, j) == grounded) && diagonal(i, j) > 0 ? 1 / diagonal(i, j) : 0.0;
  }
};

/// An edge of the grid between a solid and any other node; towards one with a value it is none, but counts on the diagonal.
struct LinkBand {
  FieldView<const double> state;
  FieldView<double> band;
  int dx, dy;
  double link;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    if (has_link(state, i, j, dx, dy)) band(i, j) -= link;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static bool has_link(const FieldView<const double>& state, int i,
                                                                        int j, int dx, int dy) {
    const double here = state(i, j), there = state(i + dx, j + dy);
    return (here == solid || there == solid) && here != valued && there != valued && there != outside;
  }
};
struct LinkDiagonal {
  FieldView<const double> state;
  FieldView<double> diagonal;
  double link;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    int links = 0;
    for (int side = 0; side < 4; ++side) {
      const int dx = side == 0 ? -1 : side == 1 ? 1 : 0, dy = side == 2 ? -1 : side == 3 ? 1 : 0;
      const double there = state(i + dx, j + dy);
      const bool is_grounded = state(i, j) == solid && there == valued;
      links += is_grounded || LinkBand::has_link(state, i, j, dx, dy) ? 1 : 0;
    }
    if (state(i, j) == solid)
      diagonal(i, j) = (links > 0 ? links : 1) * link;
    else
      diagonal(i, j) += links * link;
  }
};
template <class Bands>
void uncouple(Context& ctx, const FieldView<const double>& keep, Bands& a) {
  for (std::size_t k = 0; k < a.band.size(); ++k) {
    if (k == centre_of<Bands>) continue;
    for_each_node(ctx, all_nodes(a.band[k].view()),
                  Uncouple{keep, a.band[k].view(), Bands::dx(static_cast<int>(k)), Bands::dy(static_cast<int>(k))});
    exchange(ctx, a.band[k]);
  }
}

template <class Bands>
void link(Context& ctx, const FieldView<const double>& state, double by, Bands& a) {
  for (std::size_t k = 0; k < a.band.size(); ++k) {
    const int dx = Bands::dx(static_cast<int>(k)), dy = Bands::dy(static_cast<int>(k));
    if (k == centre_of<Bands>)
      for_each_node(ctx, all_nodes(a.band[k].view()), LinkDiagonal{state, a.band[k].view(), by});
    else if (dx == 0 || dy == 0)
      for_each_node(ctx, all_nodes(a.band[k].view()), LinkBand{state, a.band[k].view(), dx, dy, by});
    exchange(ctx, a.band[k]);
  }
}

}  // namespace

LinkedSolids link_solids(Context& ctx, std::span<const int> unknown, const GridOperator<double>& a) {
  constexpr double next_to_nothing = 1e-6;
  const GridLayout<2> shape = a.shape();
  Field<double> free(ctx, shape);
  std::vector<double> marks(unknown.size());
  std::transform(unknown.begin(), unknown.end(), marks.begin(), [](int k) { return k < 0 ? 0.0 : 1.0; });
  if (!ctx.is_dry_run()) copy_from_host(ctx, marks.data(), free.view());
  Field<double> by_rows(ctx, shape), state(ctx, shape);
  a.visit([&]<class View>(const View& view) {
    for_each_node(ctx, all_nodes(by_rows.view()), Grounded<View>{view, free.cview(), by_rows.view()});
  });
  exchange(ctx, by_rows);
  for_each_node(ctx, all_nodes(state.view()), Valued{by_rows.cview(), state.view()});
  exchange(ctx, state);
  LinkedSolids found;
  found.any_solid = largest_of(ctx, shape.nx, shape.ny, IsState{state.cview(), solid}) > 0;
  found.any_value = largest_of(ctx, shape.nx, shape.ny, IsState{state.cview(), valued}) > 0;
  found.matrix = a;
  if (!found.any_solid) return found;
  GridOperator<double> from = a, to;
  visit_bands(from, [&]<class Bands>(Bands& given) {
    Bands bands(ctx, shape);
    for (std::size_t k = 0; k < bands.band.size(); ++k) {
      copy<double, double>(ctx, given.band[k].cview(), bands.band[k].view());
      exchange(ctx, bands.band[k]);
    }
    const double of_least =
        largest_of(ctx, shape.nx, shape.ny, InverseOfFree{state.cview(), given.band[centre_of<Bands>].cview()});
    link(ctx, state.cview(), of_least > 0 ? next_to_nothing / of_least : 1.0, bands);
    to = GridOperator<double>(std::move(bands));
  });
  ctx.synchronise();
  found.matrix = std::move(to);
  return found;
}

void decouple(Context& ctx, const Field<double>& keep, GridOperator<double>& a) {
  visit_bands(a, [&]<class Bands>(Bands& bands) {
    uncouple(ctx, keep.cview(), bands);
    auto& diagonal = bands.band[centre_of<Bands>];
    for_each_node(ctx, all_nodes(diagonal.view()), Fill{keep.cview(), diagonal.view(), 1});
    exchange(ctx, diagonal);
  });
}

Field<double> hide_identity_rows(Context& ctx, GridOperator<double>& a) {
  Field<double> all(ctx, a.shape());
  visit_bands(a, [&]<class Bands>(Bands& bands) {
    auto& diagonal = bands.band[centre_of<Bands>];
    using View = std::decay_t<decltype(bands.view())>;
    for_each_node(ctx, all_nodes(diagonal.view()), HideAlone<View>{bands.view(), diagonal.view(), all.view()});
    exchange(ctx, diagonal);
  });
  return all;
}

void restore_diagonal(Context& ctx, const Field<double>& diagonal, GridOperator<double>& a) {
  visit_bands(a, [&]<class Bands>(Bands& bands) {
    copy<double, double>(ctx, diagonal.cview(), bands.band[centre_of<Bands>].view());
    exchange(ctx, bands.band[centre_of<Bands>]);
  });
}

void hide_coarse_rows(Context& ctx, const GridOperator<double>& fine, const Transfer<double>& p, int cells_x,
                      int cells_y, GridOperator<double>& coarse) {
  GridOperator<double> from = fine;
  FieldView<const double> fine_diagonal;
  visit_bands(from, [&]<class Bands>(Bands& bands) { fine_diagonal = bands.band[centre_of<Bands>].cview(); });
  const GridLayout<2>&of_fine = p.fine_shape(), &of_coarse = p.coarse_shape();
  const bool halves_x = p.is_weighted() ? p.weights().west != nullptr : p.x_view().left != nullptr,
             halves_y = p.is_weighted() ? p.weights().south != nullptr : p.y_view().left != nullptr;
  visit_bands(coarse, [&]<class Bands>(Bands& bands) {
    auto& diagonal = bands.band[centre_of<Bands>];
    for_each_node(ctx, all_nodes(diagonal.view()),
                  HideCoarse{fine_diagonal, diagonal.view(), cells_x, cells_y, halves_x, halves_y, of_fine.origin_x,
                             of_fine.origin_y, of_coarse.origin_x, of_coarse.origin_y});
    exchange(ctx, diagonal);
    uncouple(ctx, diagonal.cview(), bands);
  });
}

void firm_identity_rows(Context& ctx, GridOperator<double>& a) {
  visit_bands(a, [&]<class Bands>(Bands& bands) {
    auto& diagonal = bands.band[centre_of<Bands>];
    const double largest = norm_max(ctx, diagonal.cview());
    for_each_node(ctx, all_nodes(diagonal.view()), Fill{{}, diagonal.view(), largest > 0 ? firm * largest : 1.0});
    exchange(ctx, diagonal);
  });
}

}  // namespace stratum
