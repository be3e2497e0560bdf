#pragma once

// The storage format of separable operators, sums of tensor products of 1-D factors. It stores no number per unknown; a
// residual or a sweep moves 3 words. Its row formula stands in core/operators/tensor_formulas.hpp.

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <stratum/core/field/lanes.hpp>
#include <stratum/core/operators/stencil.hpp>
#include <stratum/core/operators/tensor_formulas.hpp>

namespace stratum {

/// One direction of a tensor operator at node i, between interval i on its left and interval i + 1 on its right.
/// `reaction`: with the terms that a reaction term adds, which cost nothing where they are left out.
template <class T, bool reaction = false>
struct TensorView : StencilSums<TensorView<T, reaction>, T> {
  static constexpr bool has_bands = false, is_symmetric = true, is_separable = true, streams = true,
                        streams_alone = true;
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
    T along_y = stiffness_entry<dy>(ky[j], ky[j + 1]);
    if constexpr (dy == 0) along_y = with_e(along_y, j);
    return stiffness_entry<dx>(kx[i], kx[i + 1]) * mass_entry<dy>(my[j], my[j + 1]) +
           mass_entry<dx>(mx[i], mx[i + 1]) * along_y;
  }
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    const T ks = ky[j], kn = ky[j + 1], ms = my[j], mn = my[j + 1];
    const T mw = mass_of<-1>(n, ms, mn), mc = mass_of<0>(n, ms, mn), me = mass_of<1>(n, ms, mn);
    const T kw = stiffness_of<-1>(n, ks, kn, j), kc = stiffness_of<0>(n, ks, kn, j), ke = stiffness_of<1>(n, ks, kn, j);
    return stiffness_at(kx[i], mc, mw) + stiffness_at(kx[i + 1], mc, me) + mass_at(mx[i], kc, kw) +
           mass_at(mx[i + 1], kc, ke);
  }
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_column_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    const T ks = ky[j], kn = ky[j + 1], ms = my[j], mn = my[j + 1];
    const T west = interval_coupling(kx[i], mx[i], mass_of<-1>(n, ms, mn), stiffness_of<-1>(n, ks, kn, j));
    return add_coupling(west, kx[i + 1], mx[i + 1], mass_of<1>(n, ms, mn), stiffness_of<1>(n, ks, kn, j));
  }
  /// By linearity the two rows are combined first; the stiffness they add is - k.
  template <class X>
  STRATUM_HOST_DEVICE STRATUM_INLINE T off_row_sum(const X& x, int i, int j) const {
    const Neighbourhood<T> n(x, i, j);
    const T ks = ky[j], kn = ky[j + 1], ms = my[j], mn = my[j + 1];
    const T mw = ms * n.south[-1] + mn * n.north[-1], kw = ks * n.south[-1] + kn * n.north[-1];
    const T mc = ms * n.south[0] + mn * n.north[0], kc = ks * n.south[0] + kn * n.north[0];
    const T me = ms * n.south[1] + mn * n.north[1], ke = ks * n.south[1] + kn * n.north[1];
    return stiffness_at(kx[i], mc, mw) + stiffness_at(kx[i + 1], mc, me) - mass_at(mx[i], kc, kw) -
           mass_at(mx[i + 1], kc, ke);
  }

 private:
  template <int dx>
  STRATUM_HOST_DEVICE STRATUM_INLINE T stiffness_of(const Neighbourhood<T>& n, T ks, T kn,
                                                    [[maybe_unused]] int j) const {
    const T differences = stiffness_at(ks, n.centre[dx], n.south[dx]) + stiffness_at(kn, n.centre[dx], n.north[dx]);
    if constexpr (reaction)
      return differences + e[j] * n.centre[dx];
    else
      return differences;
  }
  template <int dx>
  STRATUM_HOST_DEVICE STRATUM_INLINE static T mass_of(const Neighbourhood<T>& n, T ms, T mn) {
    return mass_at(ms, n.centre[dx], n.south[dx]) + mass_at(mn, n.centre[dx], n.north[dx]);
  }
};

template <class View>
inline constexpr bool is_tensor = View::is_separable;

/// A factor with one number more at both ends: of the intervals or nodes beyond, which a subdomain of a grid may read.
template <class T>
[[nodiscard]] FieldView<T> with_boundaries(FieldView<T> factor) {
  factor.data -= 1;
  factor.nx += 2;
  factor.pitch += 2;
  return factor;
}

/// A = Kx (x) My + Mx (x) (Ky + E) with 1-D linear elements: interval i, on the left of node i, has stiffness
/// k_i [1 -1; -1 1] and mass m_i [2 1; 1 2] (k = 1 / h and m = h / 6 for the Laplacian); E is diagonal, zero without a reaction
/// term. Arrays of nx + 1 and ny + 1, e of ny.
///
/// A reaction term c Mx (x) My is folded into Ky, as c m [2 1; 1 2] = -c m [1 -1; -1 1] + 3 c m [1 0; 0 1]. For code that walks
/// along columns the same is folded into Kx, so that E is one number a line either way: column_kx, column_ky and column_e (nx
/// numbers) stand for kx, ky and e there. These and e are kept where there is such a term, and beside Neumann or Robin
/// boundaries, where they are zero.
template <class T>
struct TensorOperator {
  static constexpr std::string_view name = "tensor";
  static constexpr int coefficient_words = 0;
  using View = TensorView<T>;
  template <class To>
  using In = TensorOperator<To>;

  GridLayout<2> grid;
  Field<T> kx, mx, ky, my, e, column_kx, column_ky, column_e;

  TensorOperator() = default;
  TensorOperator(Context& ctx, const GridLayout<2>& shape, bool reaction = false)
      : grid(shape), kx(ctx, shape.nx + 1), mx(ctx, shape.nx + 1), ky(ctx, shape.ny + 1), my(ctx, shape.ny + 1) {
    if (!reaction) return;
    e = Field<T>(ctx, shape.ny);
    column_e = Field<T>(ctx, shape.nx);
    column_kx = Field<T>(ctx, shape.nx + 1);
    column_ky = Field<T>(ctx, shape.ny + 1);
  }
  [[nodiscard]] GridLayout<2> shape() const { return grid; }
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

  [[nodiscard]] auto parts() { return parts_of<FieldView<T>>(*this); }
  [[nodiscard]] auto parts() const { return parts_of<FieldView<const T>>(*this); }
  [[nodiscard]] static std::string part_name(int k) {
    constexpr std::array names{"kx", "mx", "ky", "my", "e", "column_kx", "column_ky", "column_e"};
    return message("factor ", names[static_cast<std::size_t>(k)]);
  }
  void check() const {
    const auto check_length = [](const Field<T>& factor, int length, const char* name_of_factor) {
      expects(factor.shape().nx == length, "the factor ", name_of_factor, " of a tensor operator must have ", length,
              " numbers, not ", factor.shape().nx);
    };
    if (grid.nodes() == 0) return;
    check_length(kx, grid.nx + 1, "kx");
    check_length(mx, grid.nx + 1, "mx");
    check_length(ky, grid.ny + 1, "ky");
    check_length(my, grid.ny + 1, "my");
    if (!has_reaction()) return;
    check_length(e, grid.ny, "e");
    check_length(column_kx, grid.nx + 1, "column_kx");
    check_length(column_ky, grid.ny + 1, "column_ky");
    check_length(column_e, grid.nx, "column_e");
  }
  template <class To>
  [[nodiscard]] In<To> make_like(Context& ctx) const {
    return {ctx, grid, has_reaction()};
  }

 private:
  /// The factors and what lies beyond their ends.
  template <class View, class Self>
  static std::array<View, 8> parts_of(Self& a) {
    const auto part = [](auto& factor) { return factor.empty() ? View() : with_boundaries(View(factor.view())); };
    return {part(a.kx), part(a.mx),        part(a.ky),        part(a.my),
            part(a.e),  part(a.column_kx), part(a.column_ky), part(a.column_e)};
  }
};

#if defined(__CUDACC__)
namespace cuda {

template <class T, bool reaction, int depth>
struct LaneOperator<TensorView<T, reaction>, depth> {
  static constexpr bool in_order = false;
  static constexpr int n = chunk_width<T>;
  const T *all_ky, *all_my, *all_e;
  T kx[n + 1], mx[n + 1], ky[2], my[2], e;

  __device__ LaneOperator(const TensorView<T, reaction>& a, const Lane<T>& lane, int /*first*/)
      : all_ky(a.ky), all_my(a.my), all_e(a.e) {
#pragma unroll
    for (int c = 0; c <= n; ++c) {
      const int i = lane.column + c;
      const bool there = lane.inside && i >= 0 && i <= lane.nx;
      kx[c] = there ? a.kx[i] : T(0);
      mx[c] = there ? a.mx[i] : T(0);
    }
  }
  __device__ STRATUM_INLINE void row(const Lane<T>&, int j) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      ky[k] = __ldg(all_ky + j + k);
      my[k] = __ldg(all_my + j + k);
    }
    if constexpr (reaction) e = __ldg(all_e + j);
  }
  [[nodiscard]] __device__ STRATUM_INLINE TensorView<T, reaction> view() const {
    if constexpr (reaction) return {{}, kx, mx, ky, my, &e};
    return {{}, kx, mx, ky, my};
  }
};

}  // namespace cuda
#endif

}  // namespace stratum
