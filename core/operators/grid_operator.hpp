#pragma once

// Grid operators: nine-point operators on the unknowns of a logically tensor-product grid,
//
//     (A x)_ij = sum over dx, dy in {-1, 0, 1} of a_(dx,dy)(i, j) x_(i+dx, j+dy) ,
//
// in three storage forms. A coefficient that reaches across a physical side is zero, or meets the zero halo of x.
//
//   form                 numbers stored per node      words moved by a residual or a sweep (x, b, result)
//   NineBandMatrix       9                            12
//   SymmetricNineBand    5                             8
//   TensorOperator       none (1-D factors)            3
//
// A form's view gives the coefficients through one accessor, `coefficient<dx, dy>(i, j)`, and the partial sums that
// smoothers need; smoothers are templates on the view and are visited once per sweep (`GridOperator::visit`).

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <stratum/core/grid/vector.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/shared.hpp>

namespace stratum {

enum class OperatorForm : std::uint8_t { tensor, symmetric, nine_band };

[[nodiscard]] std::string_view to_string(OperatorForm form);
/// Throws UsageError for an unknown name, listing the known ones.
[[nodiscard]] OperatorForm operator_form(std::string_view name);

/// Position of the band (dx, dy) in an array of nine: row by row, south-west first.
[[nodiscard]] STRATUM_HOST_DEVICE constexpr int band_index(int dx, int dy) { return 3 * (dy + 1) + dx + 1; }

/// (i, j) is a node of the grid, or of what its halo stands for: a coefficient towards it is not zero by its place.
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE bool couples(const GridView<T>& x, int i, int j) {
  return (x.periodic_x || (i >= 0 && i < x.nx)) && (x.periodic_y || x.below || j >= 0) &&
         (x.periodic_y || x.above || j < x.ny);
}

/// x around node (i, j): three row addresses, formed once.
template <class T>
struct Neighbourhood {
  const T *south, *centre, *north;
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE Neighbourhood(const X& x, int i, int j)
      : south(&x(i, j) - x.pitch), centre(south + x.pitch), north(centre + x.pitch) {}
  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T at() const {
    return dy < 0 ? south[dx] : dy > 0 ? north[dx] : centre[dx];
  }
};

/// The sums over a stencil, from the coefficients alone.
template <class View, class T>
struct StencilSums {
  using Number = T;

  /// (A x)_ij
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    return term<0, 0>(n, i, j) + term<-1, 0>(n, i, j) + term<1, 0>(n, i, j) + row_sum<-1>(n, i, j) +
           row_sum<1>(n, i, j);
  }
  /// The part of (A x)_ij that lies off row j: what an x-line solve takes to its right-hand side.
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_row_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    return row_sum<-1>(n, i, j) + row_sum<1>(n, i, j);
  }
  /// The part of (A x)_ij that lies off column i: what a y-line solve takes to its right-hand side.
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_column_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    return column_sum<-1>(n, i, j) + column_sum<1>(n, i, j);
  }

 private:
  template <int dx, int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE T term(const Neighbourhood<T>& n, int i, int j) const {
    return static_cast<const View&>(*this).template coefficient<dx, dy>(i, j) * n.template at<dx, dy>();
  }
  template <int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE T row_sum(const Neighbourhood<T>& n, int i, int j) const {
    return term<-1, dy>(n, i, j) + term<0, dy>(n, i, j) + term<1, dy>(n, i, j);
  }
  template <int dx>
  STRATUM_HOST_DEVICE STRATUM_INLINE T column_sum(const Neighbourhood<T>& n, int i, int j) const {
    return term<dx, -1>(n, i, j) + term<dx, 0>(n, i, j) + term<dx, 1>(n, i, j);
  }
};

template <class T>
struct NineBandView : StencilSums<NineBandView<T>, T> {
  const T* band[9] = {};
  std::int64_t pitch = 0;

  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T coefficient(int i, int j) const {
    return band[band_index(dx, dy)][j * pitch + i];
  }
};

/// Nine padded arrays; band[band_index(dx, dy)](i, j) = a_(dx,dy)(i, j).
template <class T>
struct NineBandMatrix {
  std::array<Vector<T>, 9> band;

  NineBandMatrix() = default;
  NineBandMatrix(Context& ctx, const GridShape& shape) {
    for (auto& b : band) b = Vector<T>(ctx, shape);
  }
  [[nodiscard]] GridShape shape() const { return band[0].shape(); }
  [[nodiscard]] NineBandView<T> view() const {
    NineBandView<T> v;
    for (std::size_t k = 0; k < band.size(); ++k) v.band[k] = band[k].view().data;
    v.pitch = band[0].view().pitch;
    return v;
  }
};

template <class T>
struct SymmetricNineBandView : StencilSums<SymmetricNineBandView<T>, T> {
  const T* band[5] = {};
  std::int64_t pitch = 0;

  /// The lower half is read from the neighbour that stores it: a_(-dx,-dy)(i, j) = a_(dx,dy)(i - dx, j - dy).
  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T coefficient(int i, int j) const {
    if constexpr (dy > 0 || (dy == 0 && dx >= 0))
      return band[band_index(dx, dy) - 4][j * pitch + i];
    else
      return band[band_index(-dx, -dy) - 4][(j + dy) * pitch + i + dx];
  }
};

/// Five padded arrays: centre, east, north-west, north, north-east; the rest by symmetry.
template <class T>
struct SymmetricNineBand {
  std::array<Vector<T>, 5> band;

  SymmetricNineBand() = default;
  SymmetricNineBand(Context& ctx, const GridShape& shape) {
    for (auto& b : band) b = Vector<T>(ctx, shape);
  }
  [[nodiscard]] GridShape shape() const { return band[0].shape(); }
  [[nodiscard]] SymmetricNineBandView<T> view() const {
    SymmetricNineBandView<T> v;
    for (std::size_t k = 0; k < band.size(); ++k) v.band[k] = band[k].view().data;
    v.pitch = band[0].view().pitch;
    return v;
  }
};

/// One direction of a tensor operator at node i, between interval i on its left and interval i + 1 on its right.
/// `reaction`: with the terms that a reaction term adds, which cost nothing where they are left out.
template <class T, bool reaction = false>
struct TensorView : StencilSums<TensorView<T, reaction>, T> {
  static constexpr bool has_reaction = reaction;
  const T* kx = nullptr;
  const T* mx = nullptr;
  const T* ky = nullptr;
  const T* my = nullptr;
  const T* e = nullptr;
  const T* column_kx = nullptr;
  const T* column_ky = nullptr;
  const T* column_e = nullptr;

  /// Of the same operator, for code that walks along columns: e is one number a column, and the factors that go with it.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE TensorView columns() const {
    if constexpr (!reaction) return *this;
    TensorView v = *this;
    v.kx = column_kx;
    v.ky = column_ky;
    v.e = column_e;
    return v;
  }
  /// What a line adds to a stiffness of its own.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T with_e(T stiffness, [[maybe_unused]] int line) const {
    if constexpr (reaction)
      return stiffness + e[line];
    else
      return stiffness;
  }

  template <int dx, int dy>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T coefficient(int i, int j) const {
    const T along_y = dy == 0 ? with_e(stiffness<dy>(ky, j), j) : stiffness<dy>(ky, j);
    return stiffness<dx>(kx, i) * mass<dy>(my, j) + mass<dx>(mx, i) * along_y;
  }
  // Differences first: on smooth x the stiffness part is a small difference of large terms, and in float the rounding
  // of their sum would drown it.
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    const T ks = ky[j], kn = ky[j + 1], ms = my[j], mn = my[j + 1];
    const T mw = mass_of<-1>(n, ms, mn), mc = mass_of<0>(n, ms, mn), me = mass_of<1>(n, ms, mn);
    const T kw = stiffness_of<-1>(n, ks, kn, j), kc = stiffness_of<0>(n, ks, kn, j), ke = stiffness_of<1>(n, ks, kn, j);
    return kx[i] * (mc - mw) + kx[i + 1] * (mc - me) + mx[i] * (kw + 2 * kc) + mx[i + 1] * (2 * kc + ke);
  }
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_column_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    const T ks = ky[j], kn = ky[j + 1], ms = my[j], mn = my[j + 1];
    return mx[i] * stiffness_of<-1>(n, ks, kn, j) - kx[i] * mass_of<-1>(n, ms, mn) +
           mx[i + 1] * stiffness_of<1>(n, ks, kn, j) - kx[i + 1] * mass_of<1>(n, ms, mn);
  }
  // By linearity the two rows are combined first.
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_row_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    const T ks = ky[j], kn = ky[j + 1], ms = my[j], mn = my[j + 1];
    const T mw = ms * n.south[-1] + mn * n.north[-1], kw = ks * n.south[-1] + kn * n.north[-1];
    const T mc = ms * n.south[0] + mn * n.north[0], kc = ks * n.south[0] + kn * n.north[0];
    const T me = ms * n.south[1] + mn * n.north[1], ke = ks * n.south[1] + kn * n.north[1];
    return kx[i] * (mc - mw) + kx[i + 1] * (mc - me) - mx[i] * (kw + 2 * kc) - mx[i + 1] * (2 * kc + ke);
  }

 private:
  template <int dx>
  STRATUM_HOST_DEVICE STRATUM_INLINE T stiffness_of(const Neighbourhood<T>& n, T ks, T kn,
                                                    [[maybe_unused]] int j) const {
    const T differences = ks * (n.centre[dx] - n.south[dx]) + kn * (n.centre[dx] - n.north[dx]);
    if constexpr (reaction)
      return differences + e[j] * n.centre[dx];
    else
      return differences;
  }
  template <int dx>
  STRATUM_HOST_DEVICE STRATUM_INLINE static T mass_of(const Neighbourhood<T>& n, T ms, T mn) {
    return ms * (n.south[dx] + 2 * n.centre[dx]) + mn * (2 * n.centre[dx] + n.north[dx]);
  }
  template <int d>
  STRATUM_HOST_DEVICE STRATUM_INLINE static T stiffness(const T* k, int i) {
    return d < 0 ? -k[i] : d > 0 ? -k[i + 1] : k[i] + k[i + 1];
  }
  template <int d>
  STRATUM_HOST_DEVICE STRATUM_INLINE static T mass(const T* m, int i) {
    return d < 0 ? m[i] : d > 0 ? m[i + 1] : 2 * (m[i] + m[i + 1]);
  }
};

template <class View>
inline constexpr bool is_tensor = false;
template <class T, bool reaction>
inline constexpr bool is_tensor<TensorView<T, reaction>> = true;

/// A = Kx (x) My + Mx (x) (Ky + E) with 1-D linear elements: interval i, on the left of node i, has stiffness
/// k_i [1 -1; -1 1] and mass m_i [2 1; 1 2] (k = 1 / h and m = h / 6 for the Laplacian); E is diagonal, zero without a reaction
/// term. Arrays of nx + 1 and ny + 1, e of ny.
///
/// A reaction term c Mx (x) My is folded into Ky, as c m [2 1; 1 2] = -c m [1 -1; -1 1] + 3 c m [1 0; 0 1]. For code that walks along
/// columns the same is folded into Kx, so that E is one number a line either way: column_kx, column_ky and column_e (nx numbers)
/// stand for kx, ky and e there. These and e are kept only where there is such a term.
template <class T>
struct TensorOperator {
  GridShape grid;
  Vector<T> kx, mx, ky, my, e, column_kx, column_ky, column_e;

  TensorOperator() = default;
  TensorOperator(Context& ctx, const GridShape& shape, bool reaction = false)
      : grid(shape), kx(ctx, shape.nx + 1), mx(ctx, shape.nx + 1), ky(ctx, shape.ny + 1), my(ctx, shape.ny + 1) {
    if (!reaction) return;
    e = Vector<T>(ctx, shape.ny);
    column_e = Vector<T>(ctx, shape.nx);
    column_kx = Vector<T>(ctx, shape.nx + 1);
    column_ky = Vector<T>(ctx, shape.ny + 1);
  }
  [[nodiscard]] GridShape shape() const { return grid; }
  [[nodiscard]] bool has_reaction() const { return !column_kx.empty(); }
  template <bool reaction = false>
  [[nodiscard]] TensorView<T, reaction> view() const {
    TensorView<T, reaction> v;
    v.kx = kx.view().data;
    v.mx = mx.view().data;
    v.ky = ky.view().data;
    v.my = my.view().data;
    if constexpr (reaction) {
      v.e = e.view().data;
      v.column_kx = column_kx.view().data;
      v.column_ky = column_ky.view().data;
      v.column_e = column_e.view().data;
    }
    return v;
  }
  /// Calls f with the view that has all terms, and no more.
  template <class F>
  decltype(auto) visit(F&& f) const {
    if (has_reaction()) return std::forward<F>(f)(view<true>());
    return std::forward<F>(f)(view<false>());
  }
};

/// A factor with one number more at both ends: of the intervals or nodes beyond, which a strip of a grid may read.
template <class T>
[[nodiscard]] GridView<T> with_ends(GridView<T> factor) {
  factor.data -= 1;
  factor.nx += 2;
  factor.pitch += 2;
  return factor;
}

/// Any of the three forms behind LinearOperator. A handle: copies are the same operator. Throws UsageError for bands that differ in
/// shape, pitch or memory, and for vectors of another shape or in other memory.
template <class T>
class GridOperator final : public LinearOperator<T>, public Handle {
 public:
  /// Of no unknowns.
  GridOperator() : GridOperator(TensorOperator<T>()) {}
  GridOperator(NineBandMatrix<T> a);     // NOLINT(google-explicit-constructor)
  GridOperator(SymmetricNineBand<T> a);  // NOLINT(google-explicit-constructor)
  GridOperator(TensorOperator<T> a)      // NOLINT(google-explicit-constructor)
      : storage_(std::make_shared<Storage>(std::move(a))) {}

  [[nodiscard]] GridShape shape() const override {
    return std::visit([](const auto& a) { return a.shape(); }, *storage_);
  }
  [[nodiscard]] OperatorForm form() const { return static_cast<OperatorForm>(storage_->index()); }

  /// Words read per node for the coefficients: 0, 5 or 9.
  [[nodiscard]] int coefficient_words() const {
    return form() == OperatorForm::tensor ? 0 : form() == OperatorForm::symmetric ? 5 : 9;
  }

  void apply(Context& ctx, GridView<const T> x, GridView<T> y) const override;
  void residual(Context& ctx, GridView<const T> b, GridView<const T> x, GridView<T> r) const override;
  /// r = scale (b - A x), rounded to the precision of r.
  template <class R>
  void scaled_residual(Context& ctx, double scale, GridView<const T> b, GridView<const T> x, GridView<R> r) const;
  /// The same, and its norm; on a GPU for no byte more and taken before r is rounded, unless five bands are stored. Waits for
  /// the stream.
  template <class R>
  [[nodiscard]] double scaled_residual_norm(Context& ctx, double scale, GridView<const T> b, GridView<const T> x,
                                            GridView<R> r) const;
  [[nodiscard]] double magnitude(Context& ctx, GridView<const T> b, GridView<const T> x) const override;

  /// Calls f with the view of the form that is stored.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(
        [&f](const auto& a) -> decltype(auto) {
          if constexpr (requires { a.visit(f); })
            return a.visit(std::forward<F>(f));
          else
            return std::forward<F>(f)(a.view());
        },
        *storage_);
  }
  [[nodiscard]] const auto& storage() const { return *storage_; }
  [[nodiscard]] auto& storage() { return *storage_; }

 private:
  using Storage = std::variant<TensorOperator<T>, SymmetricNineBand<T>, NineBandMatrix<T>>;
  std::shared_ptr<Storage> storage_;
};

/// The same operator in another precision. Throws UsageError when a coefficient leaves the range of To, naming it:
/// widths below 1e-38 have no reciprocal in float.
template <class To, class From>
[[nodiscard]] GridOperator<To> convert(Context& ctx, const GridOperator<From>& a);

/// The same, into an operator of the same form and shape: nothing is allocated. Waits for the stream.
template <class To, class From>
void assign(Context& ctx, const GridOperator<From>& from, GridOperator<To>& to);

/// d_ij = a_(0,0)(i, j)
template <class T>
void diagonal(Context& ctx, const GridOperator<T>& a, GridView<T> d);

}  // namespace stratum
