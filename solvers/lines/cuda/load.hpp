#pragma once

// What kernels of line solves read of global memory, in units of 16 bytes, and the equations of such a unit of a row for every
// operator. For CUDA sources only.

#include <cuda_runtime.h>

#include <stratum/core/device/launch.hpp>
#include <stratum/solvers/lines/cuda/joined_chunks.hpp>
#include <stratum/solvers/lines/equations.hpp>
#include <stratum/solvers/lines/line_batch.hpp>

namespace stratum::cuda {

/// Lines of a sweep, and how their solution enters.
template <class T>
struct Lines : line::LineBatch {
  T omega = 1, keep = 0;  // y = keep x + omega solution
};

/// True where a_(dx,dy)(i, j) = a_(-dx,-dy)(i + dx, j + dy), so that line matrices are symmetric.
template <class View>
constexpr bool is_symmetric = true;
template <class T>
constexpr bool is_symmetric<NineBandView<T>> = false;

using line::by_row_sums;
using line::solves_for_difference;

// --- memory in units of 16 bytes -----------------------------------------------------------------------------------------

template <class T>
constexpr int pack_size = static_cast<int>(16 / sizeof(T));

template <class T>
struct alignas(16) Pack {
  T v[pack_size<T>];
};

template <class T>
__device__ STRATUM_INLINE Pack<T> load(const T* aligned) {
  return *reinterpret_cast<const Pack<T>*>(aligned);
}
template <class T>
__device__ STRATUM_INLINE void store(T* aligned, const Pack<T>& pack) {
  *reinterpret_cast<Pack<T>*>(aligned) = pack;
}
/// For what is read once: it need not displace anything from the L2 cache.
__device__ STRATUM_INLINE Pack<float> load_once(const float* aligned) {
  const float4 q = __ldcs(reinterpret_cast<const float4*>(aligned));
  return {{q.x, q.y, q.z, q.w}};
}
__device__ STRATUM_INLINE Pack<double> load_once(const double* aligned) {
  const double2 q = __ldcs(reinterpret_cast<const double2*>(aligned));
  return {{q.x, q.y}};
}

/// A pack and the numbers beside it.
template <class T>
struct Span {
  T v[pack_size<T> + 2];
  __device__ STRATUM_INLINE explicit Span(const T* aligned) {
    const Pack<T> pack = load(aligned);
    v[0] = aligned[-1];
#pragma unroll
    for (int e = 0; e < pack_size<T>; ++e) v[e + 1] = pack.v[e];
    v[pack_size<T> + 1] = aligned[pack_size<T>];
  }
  [[nodiscard]] __device__ STRATUM_INLINE T operator[](int e) const { return v[e + 1]; }
};

/// Where pack c of segment s lies in shared memory: packs of a segment are exchanged such that both consecutive packs and
/// the same pack of consecutive segments meet different banks.
template <class T, int S>
__device__ STRATUM_INLINE int pack_place(int s, int c) {
  constexpr int n = S / pack_size<T>, group = n >= 8 ? 1 : 8 / n, mask = (n < 8 ? n : 8) - 1;
  return (s * n + (c ^ ((s / group) & mask))) * pack_size<T>;
}

/// Copies 16 bytes, or one number, to shared memory without waiting; zeros where `inside` is false.
template <int bytes>
__device__ STRATUM_INLINE void copy_async(void* shared, const void* global, bool inside) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int size = inside ? bytes : 0;
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(size) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes), "r"(size)
                 : "memory");
}
__device__ STRATUM_INLINE void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// --- equations of a row ----------------------------------------------------------------------------------------------------

/// The equations of 16 bytes of a row: coefficients along the line, and the right-hand side.
template <class T>
struct Equations {
  T lower[pack_size<T>], centre[pack_size<T>], upper[pack_size<T>], right[pack_size<T>];
  T sum[pack_size<T>];  // over the row, where lines are solved by row sums
};

template <bool coupled, class T>
__device__ STRATUM_INLINE Equations<T> load_equations(const NineBandView<T>& a, const FieldView<const T>& b,
                                                      const FieldView<const T>& x, int i, int j) {
  const std::int64_t at = j * a.pitch + i;
  const auto band = [&](int dx, int dy) { return load_once(a.band[band_index(dx, dy)] + at); };
  const Pack<T> lower = band(-1, 0), centre = band(0, 0), upper = band(1, 0), right = load_once(&b(i, j));
  Equations<T> q;
#pragma unroll
  for (int e = 0; e < pack_size<T>; ++e) {
    q.lower[e] = lower.v[e];
    q.centre[e] = centre.v[e];
    q.upper[e] = upper.v[e];
    q.right[e] = right.v[e];
    q.sum[e] = q.lower[e] + q.centre[e] + q.upper[e];
  }
  if constexpr (coupled) {
#pragma unroll
    for (int dy = -1; dy <= 1; dy += 2) {
      const Span<T> row(&x(i, j + dy));
      const Pack<T> west = band(-1, dy), middle = band(0, dy), east = band(1, dy);
#pragma unroll
      for (int e = 0; e < pack_size<T>; ++e)
        q.right[e] -= west.v[e] * row[e - 1] + middle.v[e] * row[e] + east.v[e] * row[e + 1];
    }
  }
  return q;
}

template <bool coupled, class T>
__device__ STRATUM_INLINE Equations<T> load_equations(const SymmetricNineBandView<T>& a, const FieldView<const T>& b,
                                                      const FieldView<const T>& x, int i, int j) {
  const std::int64_t at = j * a.pitch + i;
  const Pack<T> centre = load_once(a.band[0] + at), right = load_once(&b(i, j));
  const Span<T> east(a.band[1] + at);
  Equations<T> q;
#pragma unroll
  for (int e = 0; e < pack_size<T>; ++e) {
    q.lower[e] = east[e - 1];
    q.centre[e] = centre.v[e];
    q.upper[e] = east[e];
    q.right[e] = right.v[e];
    q.sum[e] = q.lower[e] + q.centre[e] + q.upper[e];
  }
  if constexpr (coupled) {
    const Span<T> south(&x(i, j - 1)), north(&x(i, j + 1));
    const Span<T> north_west_below(a.band[2] + at - a.pitch), north_east_below(a.band[4] + at - a.pitch);
    const Pack<T> north_below = load(a.band[3] + at - a.pitch);
    const Pack<T> north_west = load(a.band[2] + at), above = load(a.band[3] + at), north_east = load(a.band[4] + at);
#pragma unroll
    for (int e = 0; e < pack_size<T>; ++e) {
      q.right[e] -=
          north_east_below[e - 1] * south[e - 1] + north_below.v[e] * south[e] + north_west_below[e + 1] * south[e + 1];
      q.right[e] -= north_west.v[e] * north[e - 1] + above.v[e] * north[e] + north_east.v[e] * north[e + 1];
    }
  }
  return q;
}

template <bool coupled, class T, bool reaction>
__device__ STRATUM_INLINE Equations<T> load_equations(const TensorView<T, reaction>& a, const FieldView<const T>& b,
                                                      const FieldView<const T>& x, int i, int j) {
  const T stiffness = a.with_e(a.ky[j] + a.ky[j + 1], j), mass = 2 * (a.my[j] + a.my[j + 1]);
  const Span<T> k(a.kx + i), m(a.mx + i);
  const Pack<T> right = load_once(&b(i, j));
  Equations<T> q;
#pragma unroll
  for (int e = 0; e < pack_size<T>; ++e) {
    q.lower[e] = interval_coupling(k[e], m[e], mass, stiffness);
    q.upper[e] = interval_coupling(k[e + 1], m[e + 1], mass, stiffness);
    if constexpr (reaction) {
      q.sum[e] = interval_excess(m[e] + m[e + 1], stiffness);
      q.centre[e] = q.sum[e] - q.lower[e] - q.upper[e];
    } else {
      q.centre[e] = interval_weight(k[e] + k[e + 1], m[e] + m[e + 1], mass, stiffness);
    }
    q.right[e] = right.v[e];
  }
  if constexpr (coupled) {
    const auto beside = line::lines_beside<Direction::x, solves_for_difference<TensorView<T, reaction>>>(a, j);
    const Span<T> south(&x(i, j - 1)), north(&x(i, j + 1));
    T u = beside.mass(south[-1], north[-1]), v = beside.stiffness(south[-1], north[-1]);
#pragma unroll
    for (int e = 0; e <= pack_size<T>; ++e) {
      const T next_u = beside.mass(south[e], north[e]), next_v = beside.stiffness(south[e], north[e]);
      const AtEnds<T> add = interval_product(k[e], m[e], u, next_u, v, next_v);
      if (e > 0) q.right[e > 0 ? e - 1 : 0] -= add.left;
      if (e < pack_size<T>) q.right[e < pack_size<T> ? e : 0] -= add.right;
      u = next_u;
      v = next_v;
    }
  }
  return q;
}

/// Cells i .. i + n of a row of n = pack_size; zeros behind the last column of cells, of which there are nx + 1.
template <class T>
struct CellSpan {
  T v[pack_size<T> + 1];
  __device__ STRATUM_INLINE CellSpan(const T* aligned, int i, int nx) {
    const Pack<T> pack = load(aligned);
#pragma unroll
    for (int e = 0; e < pack_size<T>; ++e) v[e] = pack.v[e];
    v[pack_size<T>] = i + pack_size<T> <= nx ? aligned[pack_size<T>] : T(0);
  }
};

template <bool coupled, class T, bool scalar>
__device__ STRATUM_INLINE Equations<T> load_equations(const ElementView<T, scalar>& a, const FieldView<const T>& b,
                                                      const FieldView<const T>& x, int i, int j) {
  const std::int64_t at = j * a.pitch + i;
  const CellSpan<T> p_south(a.p + at, i, b.nx), p_north(a.p + at + a.pitch, i, b.nx);
  const CellSpan<T> q_south(a.q + at, i, b.nx), q_north(a.q + at + a.pitch, i, b.nx);  // of scalar K loaded once
  const Pack<T> right = load_once(&b(i, j));
  const Span<T> south(coupled ? &x(i, j - 1) : &b(i, j)), north(coupled ? &x(i, j + 1) : &b(i, j));
  Equations<T> q;
#pragma unroll
  for (int e = 0; e < pack_size<T>; ++e) q.right[e] = right.v[e];
  T sum_before = 0, coupling_before = 0;
#pragma unroll
  for (int e = 0; e <= pack_size<T>; ++e) {
    CellPair<T> pair{p_south.v[e], p_north.v[e], q_south.v[e], q_north.v[e]};
    const bool there = i + e >= 0 && i + e <= b.nx;
    if constexpr (scalar) {
      const T rx2 = there ? a.rx2[i + e] : T(0);
      pair.p_south *= rx2, pair.p_north *= rx2;
      pair.q_south *= a.ry2[j], pair.q_north *= a.ry2[j + 1];
    } else {
      const std::int64_t others = j * a.others_pitch + i + e;
      pair.has_s = a.has_s;
      pair.has_m = a.has_m;
      if (a.has_s)
        pair.s_south = there ? a.s[others] : T(0), pair.s_north = there ? a.s[others + a.others_pitch] : T(0);
      if (a.has_m)
        pair.m_south = there ? a.m[others] : T(0), pair.m_north = there ? a.m[others + a.others_pitch] : T(0);
    }
    const AtEnds<T> excess = pair.row_excess();
    const T coupling = pair.coupling();
    AtEnds<T> add{};
    if constexpr (coupled) add = pair.product({south[e - 1], T(0), north[e - 1]}, {south[e], T(0), north[e]});
    if (e > 0) {
      const int own = e - 1;
      q.lower[own] = coupling_before;
      q.upper[own] = coupling;
      q.sum[own] = sum_before + excess.left;
      q.centre[own] = q.sum[own] - q.lower[own] - q.upper[own];
      q.right[own] -= add.left;
    }
    if (e < pack_size<T>) q.right[e < pack_size<T> ? e : 0] -= add.right;
    sum_before = excess.right;
    coupling_before = coupling;
  }
  return q;
}

/// Where the equations of a row take so much arithmetic that the memory would wait for it: all packs of a thread are loaded
/// without a branch, and the L2 cache is asked for the row that a block will have next.
template <class View>
constexpr bool loads_ahead = false;
template <class T, bool scalar>
constexpr bool loads_ahead<ElementView<T, scalar>> = true;

/// Asks the L2 cache for the 128 bytes of a row from i on that load_equations reads.
template <bool coupled, class T, bool scalar>
__device__ STRATUM_INLINE void ask_for_row(const ElementView<T, scalar>& a, const FieldView<const T>& b,
                                           const FieldView<const T>& x, int i, int j) {
  const auto ask = [](const T* numbers) { asm volatile("prefetch.global.L2 [%0];" ::"l"(numbers)); };
  const std::int64_t at = j * a.pitch + i;
  ask(&b(i, j));
  ask(a.p + at);
  ask(a.p + at + a.pitch);
  if constexpr (!scalar) {
    ask(a.q + at);
    ask(a.q + at + a.pitch);
  }
  if constexpr (coupled) {
    ask(&x(i, j - 1));
    ask(&x(i, j + 1));
  }
}

}  // namespace stratum::cuda
