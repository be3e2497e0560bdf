#pragma once

// Cyclic reduction of one tridiagonal system  a_i x_(i-1) + b_i x_i + c_i x_(i+1) = v_i ,  i = 0 .. n - 1, by a team: the
// threads of a CUDA block on vectors in shared memory, or one thread of a CPU. Level 0 has all equations, level k + 1 the
// n_(k+1) = floor(n_k / 2) odd ones of level k, from which their even neighbours are eliminated,
//
//     e_o^(k+1) = e_(2o+1)^k - (a / b_left) e_(2o)^k - (c / b_right) e_(2o+2)^k ,
//
// until one is left. Going back, the even unknowns of a level follow from the odd ones, the level's below. Any n >= 1.
// a_0 and c_(n-1) change nothing. Source: Goeddeke, Strzodka 2011, Section 3.4, eqs. (3), (4).
//
// Where equation alpha of level k lies, and later the solution of the level, is a matter of the layout:
//
//   InPlace   where it lay on level 0: a team reads and writes 2^k or 2^(k+1) numbers apart, and 32 threads meet the same
//             bank of a shared memory once the stride is 32
//   EvenOdd   the equations with even alpha one after the other, and so the odd ones: 1.5 times the storage
//
//     start      0 = E_0            1 = O_0, E_1      2 = O_1, E_2    3 = O_2 ...
//     level 0   |0 2 4 6 8 . . .   |1 3 5 7 . . .    |               |
//     level 1   |                  |0 2 4 . .        |1 3 5 . .      |          the even overwrite the odd of level 0
//     level 2   |                  |                 |0 2 . .        |1 3 . .
//
// Solutions of level k > 0 come to start[k] in their order, over its even equations and what is free behind them.
//
// Why EvenOdd meets no bank twice. Memory has 32 banks of 4 bytes; 32 threads move 128 bytes at a time: a warp's 4-byte
// numbers, or those of 8 bytes of half a warp. Threads o of a warp
//   - read equations 2o, 2o + 1, 2o + 2 and solutions o - 1, o: each a run of consecutive numbers;
//   - write equation o of the next level, as they write equation i of level 0: half of the 128 bytes to a run of the even
//     equations, the other half to the same place in the odd ones. start[k + 1] and start[k] differ by an odd multiple of
//     64 bytes (the padding), so that the two halves take the two halves of the banks;
//   - write solutions 2o, 2o + 1 as one pair: consecutive again. (Two writes of stride 2, as in the paper, would meet
//     every second bank twice.)

#include <cstddef>

#include <stratum/core/config.hpp>
#if defined(__CUDACC__)
#include <stratum/solvers/lines/cuda/joined_chunks.hpp>
#endif

namespace stratum::cyclic {

template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE T inverse(T x) {
#if defined(__CUDA_ARCH__)
  return cuda::reciprocal(x);
#else
  return T(1) / x;
#endif
}

template <class T>
struct Equation {
  T a, b, c, v;
};

/// Unknowns 2e and 2e + 1 of a level.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T even, odd;
};

/// The four vectors of one system, `apart` numbers apart, in the slots of a layout.
template <class T>
struct System {
  T *a, *b, *c, *v;

  STRATUM_HOST_DEVICE System(T* memory, std::ptrdiff_t apart) : a(memory), b(a + apart), c(b + apart), v(c + apart) {}
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Equation<T> operator[](int slot) const {
    return {a[slot], b[slot], c[slot], v[slot]};
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void put(int slot, const Equation<T>& e) const {
    a[slot] = e.a;
    b[slot] = e.b;
    c[slot] = e.c;
    v[slot] = e.v;
  }
};

/// Levels of a system of n equations.
struct Levels {
  int n, levels = 1;

  explicit Levels(int equations) : n(equations) {
    while (n >> levels > 0) ++levels;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int count(int k) const { return n >> k; }
};

template <class T>
struct InPlace : Levels {
  static constexpr bool in_place = true;

  explicit InPlace(int equations) : Levels(equations) {}
  [[nodiscard]] STRATUM_HOST_DEVICE int slots() const { return n; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int equation(int k, int alpha) const {
    return ((alpha + 1) << k) - 1;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int solution(int k, int alpha) const { return equation(k, alpha); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void put_solution(T* v, int k, int e, const Pair<T>& x) const {
    v[equation(k, 2 * e)] = x.even;
  }
};

template <class T>
struct EvenOdd : Levels {
  static constexpr bool in_place = false;
  static constexpr int half = static_cast<int>(64 / sizeof(T));  // the banks
  int start[32] = {};

  explicit EvenOdd(int equations) : Levels(equations) {
    int end = (n + 1) / 2;
    for (int k = 1; k < levels; ++k) {
      start[k] = start[k - 1] + half;
      while (start[k] < end) start[k] += 2 * half;
      end = start[k] + count(k);
    }
    slots_ = (end / (2 * half) + 1) * 2 * half;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE int slots() const { return slots_; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int equation(int k, int alpha) const {
    return start[k] + (alpha & 1) * (start[k + 1] - start[k]) + (alpha >> 1);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int solution(int k, int alpha) const {
    return k == 0 ? equation(0, alpha) : start[k] + alpha;
  }
  /// On level 0 the odd unknowns are where they belong. An odd one behind the last goes to the padding.
  STRATUM_HOST_DEVICE STRATUM_INLINE void put_solution(T* v, int k, int e, const Pair<T>& x) const {
    if (k == 0)
      v[e] = x.even;
    else
      reinterpret_cast<Pair<T>*>(v + start[k])[e] = x;  // indexed so, CUDA compilers make one access of it
  }

 private:
  int slots_;
};

/// Equation o of level k + 1, eq. (3).
template <class Layout, class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Equation<T> reduce(const Layout& layout, const System<T>& s, int k, int o) {
  const Equation<T> mine = s[layout.equation(k, 2 * o + 1)], left = s[layout.equation(k, 2 * o)];
  const T fl = mine.a * inverse(left.b);
  Equation<T> r{-fl * left.a, mine.b - fl * left.c, T(0), mine.v - fl * left.v};
  if (2 * o + 2 < layout.count(k)) {
    const Equation<T> right = s[layout.equation(k, 2 * o + 2)];
    const T fu = mine.c * inverse(right.b);
    r.b -= fu * right.a;
    r.c = -fu * right.c;
    r.v -= fu * right.v;
  }
  return r;
}

/// Unknown 2e of level k, eq. (4), and 2e + 1, which is known.
template <class Layout, class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Pair<T> substitute(const Layout& layout, const System<T>& s, int k, int e) {
  const Equation<T> mine = s[layout.equation(k, 2 * e)];
  const T left = e > 0 ? s.v[layout.solution(k + 1, e - 1)] : T(0);
  Pair<T> x{mine.v, T(0)};
  if (e > 0) x.even -= mine.a * left;
  if (2 * e + 1 < layout.count(k)) {
    x.odd = s.v[layout.solution(k + 1, e)];
    x.even -= mine.c * x.odd;
  }
  x.even *= inverse(mine.b);
  return x;
}

/// Solves by a team, all of whose members call this: `rank` of 0 .. size - 1, `sync()` waits for all. Equations lie where the
/// layout has those of level 0, and afterwards v holds the solution of level 0. The team is synchronised at the end, not at
/// the beginning.
///
/// Where a level overwrites what it reads (EvenOdd), the team goes through it in parts, forward from the front and back from
/// the end: what a part writes, other parts have read.
template <class Layout, class T, class Team>
STRATUM_HOST_DEVICE STRATUM_INLINE void solve(const Layout& layout, const System<T>& s, const Team& team) {
  for (int k = 0; k + 1 < layout.levels; ++k) {
    const int count = layout.count(k + 1);
    for (int begin = 0; begin < count; begin += team.size) {
      const int o = begin + team.rank;
      Equation<T> r{};
      if (o < count) r = reduce(layout, s, k, o);
      if (!Layout::in_place) team.sync();
      if (o < count) s.put(layout.equation(k + 1, o), r);
    }
    team.sync();
  }
  for (int k = layout.levels - 1; k >= 0; --k) {
    const int count = (layout.count(k) + 1) / 2;
    for (int begin = (count - 1) / team.size * team.size; begin >= 0; begin -= team.size) {
      const int e = begin + team.rank;
      Pair<T> x{};
      if (e < count) x = substitute(layout, s, k, e);
      if (!Layout::in_place && k > 0) team.sync();
      if (e < count) layout.put_solution(s.v, k, e, x);
    }
    team.sync();
  }
}

}  // namespace stratum::cyclic
