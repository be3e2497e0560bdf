#pragma once

// Transfer between a mesh and its coarser one: finite element interpolation, one direction at a time. In a direction that
// is coarsened, fine node 2 I is coarse node I, and the node between coarse nodes I and I + 1 splits their interval into
// widths (wl, wr):
//
//     x_fine = (wr x_I + wl x_(I+1)) / (wl + wr) .
//
// An odd number of fine intervals leaves the last one alone, and its right end stays: there fine node 2 I + 1 is coarse node I
// + 1, as if its weights were (0, 1), and fine node 2 I + 2 does not exist. Restriction is the transpose. A direction that is
// not coarsened is the identity. Indices are global: line 0 is the first side.
//
// `Transfer::weighted` has weights of its own in every coarse cell instead (multigrid/transfer/operator_dependent.hpp makes
// them): one for each of its edges, four for its centre.
//
// Throws UsageError for vectors of other shapes.
// Words per fine node: prolongate_add 2.25, restrict 1.25, restrict_residual 2.25 and the operator's coefficients; weights by
// cells are 1.5 more.

#include <functional>
#include <optional>
#include <vector>

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// One direction as kernels see it. Weights are per coarse interval, from -1 (the last one where periodic, else of no weight)
/// to their number; null where the direction is not coarsened.
template <class T>
struct TransferView {
  const T* left = nullptr;   // weight of the left coarse node at the new node of each coarse interval
  const T* right = nullptr;  // weight of the right one
  int origin = 1;            // global index of the first unknown, and of the coarse one
  int coarse_origin = 1;
  bool periodic = false;  // with the other end in this subdomain
};

/// Weights by coarse cells, T const or not. Coarse nodes are numbered with the sides: I = 0 .. intervals, as if Dirichlet nodes
/// were unknowns. Numbers go from -1 (where periodic the last interval's, seen from its right end) to intervals + 1.
///
///     edge from coarse node (I, J) to (I + 1, J)    x = west x_(I,J) + (1 - west) x_(I+1,J)          null where x is not coarsened
///     edge to (I, J + 1)                            x = south x_(I,J) + (1 - south) x_(I,J+1)        null where y is not
///     centre of the cell between the four           x = sw x_(I,J) + se x_(I+1,J) + nw x_(I,J+1) + ne x_(I+1,J+1)    both
///
/// An interval that stays alone has edge weight 0, its centres those of its right edge. A subdomain has the rows of its own
/// coarse nodes, and one more beside other subdomains.
template <class T>
struct WeightsView {
  T *west = nullptr, *south = nullptr;
  T *sw = nullptr, *se = nullptr, *nw = nullptr, *ne = nullptr;
  std::int64_t pitch = 0;
  int intervals_x = 0, intervals_y = 0;  // coarse, of the whole mesh
  int origin_x = 1;                      // of both grids
  int origin_y = 1, coarse_origin_y = 1;
  bool periodic_x = false, periodic_y = false;  // with the other end in this subdomain

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE std::int64_t at(int i, int j) const { return j * pitch + i; }
};

template <class T>
class Transfer {
 public:
  Transfer() = default;
  using Subdomain = std::optional<GridLayout<2>>;  // of the unknowns; none: all of them
  /// Between all unknowns, or a subdomain of the fine mesh and the one below it. Subdomains restrict their own rows; what belongs
  /// to the first row of the subdomain above goes there: on the CPU before it is added, so that no bit depends on the cuts (but by
  /// weights), else after.
  Transfer(Context& ctx, const TensorMesh<2>& fine, const TensorMesh<2>& coarse, const Subdomain& fine_subdomain = {},
           const Subdomain& coarse_subdomain = {});
  /// By weights of every coarse cell, which are zero until they are set.
  [[nodiscard]] static Transfer weighted(Context& ctx, const TensorMesh<2>& fine, const TensorMesh<2>& coarse,
                                         const Subdomain& fine_subdomain = {}, const Subdomain& coarse_subdomain = {});

  // Ghosts of a vector that are current are not exchanged.

  /// x_fine += P x_coarse; ghosts of x_fine that are current stay so. Of some rows, the others may be left as they are: half
  /// the words.
  void prolongate_add(Context& ctx, FieldView<const T> coarse, FieldView<T> fine, SomeRows rows = SomeRows::all,
                      Ghosts of_coarse = Ghosts::stale, Ghosts of_fine = Ghosts::stale) const;
  /// x_fine = P x_coarse
  void prolongate(Context& ctx, FieldView<const T> coarse, FieldView<T> fine, Ghosts of_coarse = Ghosts::stale) const;
  /// d_coarse = P^T d_fine
  void restrict_to(Context& ctx, FieldView<const T> fine, FieldView<T> coarse) const;
  /// The same, and ||d_fine||, which the host waits for; on a GPU in the same pass where both directions are coarsened. There
  /// `meanwhile` submits what may follow before the host waits (sum_of_scratch).
  [[nodiscard]] double restrict_and_measure(Context& ctx, FieldView<const T> fine, FieldView<T> coarse,
                                            const std::function<void()>& meanwhile = {}) const;
  /// d_coarse = P^T (b - A x), one pass over the fine grid. Of a subdomain A, b and x may have rows of its neighbours beside
  /// its own: d is formed from these then, and subdomains have nothing to say to each other.
  void restrict_residual(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<const T> x,
                         FieldView<T> coarse, Ghosts of_x = Ghosts::stale) const;

  // A level of full multigrid without storing the interpolant, for a GPU, a tensor operator, both directions coarsened, and
  // vectors whose rows are aligned as those of a Field, b among them.
  [[nodiscard]] bool fuses_interpolation(const Context& ctx, const GridOperator<T>& a, FieldView<const T> b) const;
  /// r = scale (b - A P coarse): 1.25 words, and r
  template <class R>
  void interpolated_residual(Context& ctx, const GridOperator<T>& a, double scale, FieldView<const T> b,
                             FieldView<const T> coarse, FieldView<R> r, Ghosts of_coarse = Ghosts::stale) const;
  /// x = P coarse + alpha z: 1.25 words, and z
  template <class Z>
  void prolongate_plus(Context& ctx, FieldView<const T> coarse, T alpha, FieldView<const Z> z, FieldView<T> x,
                       Ghosts of_coarse = Ghosts::stale) const;

  [[nodiscard]] const GridLayout<2>& fine_shape() const { return fine_; }
  /// The weights, as kernels see them.
  [[nodiscard]] TransferView<T> x_view() const { return x_.view(); }
  [[nodiscard]] TransferView<T> y_view() const { return y_.view(); }
  [[nodiscard]] const GridLayout<2>& coarse_shape() const { return coarse_; }
  [[nodiscard]] bool is_weighted() const { return !weights_.empty(); }
  [[nodiscard]] WeightsView<const T> weights() const { return weights_of<const T>(*this); }
  [[nodiscard]] WeightsView<T> weights() { return weights_of<T>(*this); }
  /// Those of another between the same grids, rounded.
  void assign_weights(Context& ctx, const Transfer<double>& other);
  /// The rows of weights beside a subdomain's own, of edges or of centres: from the subdomains that have them.
  void exchange_edges(Context& ctx) { exchange_weights(ctx, 0, 2); }
  void exchange_centres(Context& ctx) { exchange_weights(ctx, 2, weights_.size()); }

 private:
  template <class>
  friend class Transfer;
  template <class W, class Self>
  [[nodiscard]] static WeightsView<W> weights_of(Self& self) {
    const GridLayout<2>& fine = self.fine_;
    WeightsView<W> view;
    view.origin_x = fine.origin_x;
    view.origin_y = fine.origin_y;
    view.coarse_origin_y = self.coarse_.origin_y;
    view.intervals_x = self.intervals_x_;
    view.intervals_y = self.intervals_y_;
    view.periodic_x = fine.periodic_x;
    view.periodic_y = fine.periodic_y && !fine.below && !fine.above;
    W** const to[] = {&view.west, &view.south, &view.sw, &view.se, &view.nw, &view.ne};
    for (std::size_t k = 0; k < self.weights_.size(); ++k) {
      if (self.weights_[k].empty()) continue;
      const auto numbers = self.weights_[k].view();
      *to[k] = &numbers(1, -self.first_weights());
      view.pitch = numbers.pitch;
    }
    return view;
  }
  struct Direction {
    Field<T> left, right;
    int origin = 1, coarse_origin = 1;
    bool periodic = false;
    [[nodiscard]] TransferView<T> view() const;
  };
  void exchange_weights(Context& ctx, std::size_t first, std::size_t end);
  void check(const Context& ctx, FieldView<const T> fine, FieldView<const T> coarse) const;
  /// On a GPU, where it can: coarse = P^T fine, and the sum of the squares of fine if it is asked for.
  [[nodiscard]] bool stream_down(Context& ctx, FieldView<const T> fine, FieldView<T> coarse, double* square,
                                 const std::function<void()>& meanwhile = {}) const;
  /// restrict_residual, x up to date; its rows begin with number `origin`, their coarse ones `first` rows before the
  /// subdomain's. By lines of operators that store bands, or of all others.
  template <bool has_bands>
  void restrict_residual_by_lines(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<const T> x,
                                  FieldView<T> coarse, int origin, int first) const;
  void restrict_residual_by_cells(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<const T> x,
                                  FieldView<T> coarse, int origin, int first) const;
  [[nodiscard]] bool coarsens_both() const { return !x_.left.empty() && !y_.left.empty(); }
  [[nodiscard]] bool can_stream() const { return coarsens_both() && !is_weighted() && !is_periodic_; }
  [[nodiscard]] bool can_stream_by_cells() const {
    return coarsens_both() && is_weighted() && begins_after_sides_ && !fine_.periodic_x && !weights().periodic_y;
  }
  /// What borders on the coarse unknowns in a restriction of this x: nothing where x has rows of neighbours, whose part is then
  /// formed here.
  [[nodiscard]] GridLayout<2> target_of(const FieldView<const T>& x) const {
    GridLayout<2> target = coarse_;
    if (x.ny > fine_.ny) target.below = target.above = false;
    return target;
  }
  /// The first row of weights, numbered as coarse nodes are.
  [[nodiscard]] int first_weights() const { return fine_.below ? coarse_.origin_y : -1; }
  Direction x_, y_;
  GridLayout<2> fine_, coarse_;
  int intervals_x_ = 0, intervals_y_ = 0;  // of the coarse mesh
  // The first nodes of the mesh's lines are no unknowns: what weights by cells on a GPU are for.
  bool begins_after_sides_ = false;
  bool is_periodic_ = false;  // the mesh, in either direction
  std::vector<Field<T>>
      weights_;  // six where they are by cells, as in WeightsView; empty where a direction is not coarsened
  /// Scratch on the CPU: two fine rows per thread for restrict_residual, three where weighted, and one from the subdomain
  /// below.
  mutable Field<T> rows_;
  [[nodiscard]] T* row_from_below() const { return fine_.below ? &rows_.view()(1, rows_.shape().ny - 1) : nullptr; }
};

}  // namespace stratum
