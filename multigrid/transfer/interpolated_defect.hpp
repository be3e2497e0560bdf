#pragma once

// For CUDA sources only: the defect of an interpolant, r = s (b - A P e), of a tensor operator and P = Px (x) Py, straight from
// e:
//
//     A P = Kx Px (x) My Py + Mx Px (x) (Ky + E) Py .
//
// The products along x are those of coarse rows, each formed once and used by the fine rows around it; those along y take three
// coarse rows. Of a linear function the stiffness is none between two coarse nodes: what would be the difference of large
// numbers, and rounding, does not arise. 1.25 words a fine node, and r.
//
// Behind a Neumann or Robin first boundary columns or rows are `shifted`: the first node is a coarse one, and number 2 I where
// it is 2 I - 1 behind a side that is no unknown. Pairs are as before, the first one then begins before the grid. So do the
// rows of subdomains but the lowest one: there the interval before the first row is a whole one, of which the second half alone
// is needed, and the halo of e has its first end. Of subdomains but the uppermost the halo has the second end of the last
// interval.

#include <stratum/core/field/streaming_stencil.hpp>
#include <stratum/core/operators/tensor.hpp>
#include <stratum/multigrid/transfer/linear.hpp>

namespace stratum::cuda {

/// What a coarse interval makes of a function that is a and b at its ends, and left a + right b, where left + right = 1, at the
/// node between its two intervals of stiffness k and mass m: at its ends and at that node. An interval that stays alone has its
/// second end there (left = 0). Behind a Neumann or Robin boundary stands an interval with the side's alpha for k and no mass,
/// and the function is zero: of the last node it is a coarse interval of its own, or the second one of an interval that stays
/// alone; of the first one it is the second one of coarse interval -1.
template <class T>
struct InterpolatedInterval {
  T k[2], m[2], left, right;

  /// k of the first end (a - b), of the middle and of the second end (b - a)
  [[nodiscard]] __device__ STRATUM_INLINE T stiffness_first() const { return k[0] * right; }
  [[nodiscard]] __device__ STRATUM_INLINE T stiffness_middle() const { return k[0] * right - k[1] * left; }
  [[nodiscard]] __device__ STRATUM_INLINE T stiffness_second() const { return k[1] * left; }
  /// k of the middle b, of an interval that stays alone.
  [[nodiscard]] __device__ STRATUM_INLINE T stiffness_behind() const { return left == T(0) ? k[1] : T(0); }
  /// Factors of a and of b.
  [[nodiscard]] __device__ STRATUM_INLINE AtEnds<T> mass_first() const { return {m[0] * (2 + left), m[0] * right}; }
  [[nodiscard]] __device__ STRATUM_INLINE AtEnds<T> mass_middle() const {
    const T own = 2 * (m[0] + m[1]);
    return {own * left + m[0], own * right + m[1]};
  }
  [[nodiscard]] __device__ STRATUM_INLINE AtEnds<T> mass_second() const { return {m[1] * left, m[1] * (2 + right)}; }
};

/// Coarse interval `number` of a direction with `nodes` fine nodes and factors k, m. `shift`: 1 where it is shifted, else 0.
/// `cut`: the grid goes on before its first node.
template <class T>
[[nodiscard]] __device__ STRATUM_INLINE InterpolatedInterval<T>
interpolated_interval(const T* k, const T* m, const TransferView<T>& weights, int number, int nodes, int shift,
                      bool cut = false) {
  InterpolatedInterval<T> at{};
  k += shift;
  m += shift;
  nodes -= shift;
  if (shift == 1 && number == -1) {
    at.k[1] = __ldg(k - 1);
    at.left = 1;
    if (cut) {
      at.m[1] = __ldg(m - 1);
      at.left = __ldg(weights.left - 1);
      at.right = __ldg(weights.right - 1);
    }
  }
  if (number < 0 || 2 * number > nodes) return at;
  at.k[0] = __ldg(k + 2 * number);
  at.m[0] = __ldg(m + 2 * number);
  if (2 * number < nodes) {
    at.k[1] = __ldg(k + 2 * number + 1);
    at.m[1] = __ldg(m + 2 * number + 1);
  }
  const bool is_behind = 2 * number == nodes;  // all nodes, or stays alone beside a side that is no unknown
  at.left = is_behind ? T(0) : __ldg(weights.left + number);
  at.right = is_behind ? T(1) : __ldg(weights.right + number);
  return at;
}

/// By pairs of fine rows: between two coarse rows, and on the second of them.
template <class View, class R, bool shifted_x, bool shifted_y>
struct InterpolatedDefect {
  using Number = typename View::Number;
  using T = Number;
  static constexpr int n = chunk_width<T>, half = n / 2;
  static constexpr int shift_x = shifted_x ? 1 : 0, shift_y = shifted_y ? 1 : 0;
  View a;
  TransferView<T> wx, wy;
  FieldView<const T> b, coarse;
  T scale;
  FieldView<R> r;
  bool goes_on_below, goes_on_above;  // in other subdomains

  [[nodiscard]] int rows() const { return coarse.ny + 1; }

  /// Mx Px e and Kx Px e at a lane's columns: a coarse one, the one between it and the next, and so on; shifted, the one
  /// between it and the last comes before it.
  struct Products {
    T mass[n], stiffness[n];
  };
  /// Along x: a coarse node has its own interval behind it and another one before.
  struct Columns {
    T to_before[half], to_after[half], in_middle[half], behind_middle[half];  // stiffness
    T before[half], own[half], after[half];                                   // mass
    AtEnds<T> middle[half];
  };

  __device__ STRATUM_INLINE void run(const Lane<T>& lane, int begin, int end) const {
    Columns of{};
    if (lane.inside) {
#pragma unroll
      for (int h = 0; h < half; ++h) {
        const int number = half * lane.chunk + h;
        const auto last = interpolated_interval(a.kx, a.mx, wx, number - 1, lane.nx, shift_x);
        const auto next = interpolated_interval(a.kx, a.mx, wx, number, lane.nx, shift_x);
        const auto& beside = shifted_x ? last : next;
        of.to_before[h] = last.stiffness_second();
        of.to_after[h] = next.stiffness_first();
        of.in_middle[h] = beside.stiffness_middle();
        of.behind_middle[h] = beside.stiffness_behind();
        of.before[h] = last.mass_second().left;
        of.own[h] = last.mass_second().right + next.mass_first().left;
        of.after[h] = next.mass_first().right;
        of.middle[h] = beside.mass_middle();
      }
    }
    Products below = along_x(of, load_coarse(lane, begin - 1)), here = along_x(of, load_coarse(lane, begin));
    Chunk<T, half> asked = load_coarse(lane, begin + 1);
    const auto row_interval = [&](int j) {
      return interpolated_interval(a.ky, a.my, wy, j - shift_y, lane.ny, shift_y, goes_on_below);
    };
    Chunk<T> right[2] = {lane.load(b, 2 * begin - shift_y), lane.load(b, 2 * begin + 1 - shift_y)};
    auto interval = row_interval(begin), next = row_interval(begin + 1);
#pragma unroll 2
    for (int j = begin; j < end; ++j) {
      const int row = 2 * j - shift_y;
      const auto is_there = [&](int k) { return (!shifted_y || row + k >= 0) && row + k < lane.ny; };
      const Products above = along_x(of, asked);
      Chunk<T> middle = right[0], own = right[1];
      asked = load_coarse(lane, j + 2);
#pragma unroll
      for (int k = 0; k < 2; ++k) right[k] = lane.load(b, row + 2 + k);
      const auto after = row_interval(j + 2);
      T e[2] = {0, 0};
      if constexpr (View::has_reaction) {
#pragma unroll
        for (int k = 0; k < 2; ++k) e[k] = is_there(k) ? __ldg(a.e + row + k) : T(0);
      }
      {
        const T stiffness = interval.stiffness_middle(), behind = interval.stiffness_behind();
        const AtEnds<T> mass = interval.mass_middle();
#pragma unroll
        for (int c = 0; c < n; ++c) {
          T sum = stiffness * (here.mass[c] - below.mass[c]) + behind * here.mass[c];
          if constexpr (View::has_reaction)
            sum += e[0] * linear::between(interval.left, interval.right, below.mass[c], here.mass[c]);
          sum += mass.left * below.stiffness[c] + mass.right * here.stiffness[c];
          middle.v[c] = scale * (middle.v[c] - sum);
        }
      }
      {
        const T to_below = interval.stiffness_second(), to_above = next.stiffness_first();
        const AtEnds<T> before = interval.mass_second(), behind = next.mass_first();
        const T centre = before.right + behind.left;
#pragma unroll
        for (int c = 0; c < n; ++c) {
          T sum = to_below * (here.mass[c] - below.mass[c]) + to_above * (here.mass[c] - above.mass[c]);
          if constexpr (View::has_reaction) sum += e[1] * here.mass[c];
          sum += before.left * below.stiffness[c] + centre * here.stiffness[c] + behind.right * above.stiffness[c];
          own.v[c] = scale * (own.v[c] - sum);
        }
      }
      if (is_there(0)) lane.store(r, row, middle);
      if (is_there(1)) lane.store(r, row + 1, own);
      below = here;
      here = above;
      interval = next;
      next = after;
    }
  }

 private:
  /// Row j of the lane's coarse columns; the last one may lie behind all chunks of the fine grid.
  [[nodiscard]] __device__ STRATUM_INLINE Chunk<T, half> load_coarse(const Lane<T>& lane, int j) const {
    const int first = half * lane.chunk - 1 + shift_x;
    if (first < shift_x - 1 || first >= coarse.nx) return {};
    if (j < (goes_on_below ? -1 : 0) || j >= coarse.ny + (goes_on_above ? 1 : 0)) return {};
    if constexpr (!shifted_x) return load_chunk<half>(&coarse(first, j));
    Chunk<T, half> some;  // not aligned
#pragma unroll
    for (int h = 0; h < half; ++h) some.v[h] = coarse(first + h, j);
    return some;
  }
  [[nodiscard]] static __device__ STRATUM_INLINE Products along_x(const Columns& of, const Chunk<T, half>& e) {
    const T before_all = __shfl_up_sync(whole_warp, e.v[half - 1], 1);
    const T behind_all = __shfl_down_sync(whole_warp, e.v[0], 1);
    Products at;
#pragma unroll
    for (int h = 0; h < half; ++h) {
      const T own = e.v[h], before = h == 0 ? before_all : e.v[h > 0 ? h - 1 : 0];
      const T after = h + 1 < half ? e.v[h + 1 < half ? h + 1 : h] : behind_all;
      constexpr int middle = 1 - shift_x;
      const T left = shifted_x ? before : own, right = shifted_x ? own : after;  // of the one between
      at.stiffness[2 * h + shift_x] = of.to_before[h] * (own - before) + of.to_after[h] * (own - after);
      at.mass[2 * h + shift_x] = of.before[h] * before + of.own[h] * own + of.after[h] * after;
      at.stiffness[2 * h + middle] = of.in_middle[h] * (right - left) + of.behind_middle[h] * right;
      at.mass[2 * h + middle] = of.middle[h].left * left + of.middle[h].right * right;
    }
    return at;
  }
};

}  // namespace stratum::cuda
