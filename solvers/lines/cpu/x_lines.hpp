#pragma once

// A batch of x lines on the CPU: right-hand sides and coefficients of a chunk of positions are formed row by row, where memory
// is contiguous, and turned so that lanes are contiguous. For solvers/lines/cpu/thomas.hpp.

#include <stratum/solvers/lines/cpu/elimination.hpp>

namespace stratum::line {

/// Asks for the coefficients around node (i, j), of the line alone or of its coupling, too.
template <bool coupled, class View>
STRATUM_INLINE void prefetch_bands(const View& a, int i, int j) {
  constexpr int bands = std::extent_v<decltype(View::band)>;
  constexpr int first = bands == 9 && !coupled ? 3 : 0, last = coupled ? bands - 1 : bands == 9 ? 5 : 1;
  for (int k = first; k <= last; ++k) __builtin_prefetch(a.band[k] + j * a.pitch + i, 0, 2);
}

/// Right-hand sides of columns begin .. begin + length - 1, row by row, with stored bands. Asks for what the next row reads, as
/// hardware prefetchers lose the many streams where a row's block ends, and for what elimination reads of this one.
template <class R, bool is_cyclic, bool coupled, class View, class T>
STRATUM_INLINE void fill_rows(const LineRhs<Direction::x, coupled, View, T>& rhs, const LineBatch& batch, int begin,
                              int length, T* rows, std::int64_t pitch, Eliminator<R, is_cyclic, View, T>& /*entries*/) {
  for (int k = 0; k < batch.count; ++k) {
    T* row = rows + k * pitch;
    const int j = batch.line(k), next = j + batch.stride;
    for (int part = 0; part < length; part += cache_line<T>) {
      const int i = begin + part, end = std::min(length, part + cache_line<T>);
      if constexpr (requires { rhs.a.band; }) {
        prefetch_bands<false>(rhs.a, i, j);
        if (k + 1 < batch.count) {
          prefetch_bands<coupled>(rhs.a, i, next);
          __builtin_prefetch(&rhs.b(i, next), 0, 2);
        }
      }
#pragma omp simd
      for (int n = part; n < end; ++n) row[n] = rhs(begin + n, j);
    }
  }
}

/// Right-hand sides of lines j, j + 2, ... of a tensor operator. Packs start where rows are aligned, one column before `begin`,
/// and neighbours come out of registers. What the next block reads is asked for. Behind `last_row`, the batch's, it stands for
/// what is missing: those rows may be another thread's.
template <class R, int count, class View, class T>
STRATUM_INLINE void fill_tensor_rows(const LineRhs<Direction::x, true, View, T>& rhs, int j, int last_row, int begin,
                                     int length, T* rows, std::int64_t pitch) {
  using Pack = typename R::Pack;
  constexpr int width = R::width, bytes = width * static_cast<int>(sizeof(T));
  const View& a = rhs.a;
  const int end = last_column(rhs.x) + 1;  // of what is read
  const T *x[count + 1], *b[count];
  for (int r = 0; r <= count; ++r) x[r] = &rhs.x(0, std::min(j - 1 + 2 * r, last_row + 1));
  LinesBeside<T, solves_for_difference<View>> beside[count];
  for (int r = 0; r < count; ++r) {
    const int row = std::min(j + 2 * r, last_row);
    b[r] = &rhs.b(0, row);
    beside[r] = lines_beside<Direction::x, solves_for_difference<View>>(a, row);
  }
  Pack mass[count] = {}, stiffness[count] = {}, to_left[count] = {}, to_right[count] = {};
  for (int i = begin - 1; i - width < begin + length; i += width) {
    const Pack k = R::pack(a.kx + i), m = R::pack(a.mx + i);
    const int first = i - width;
    Pack south = i < end ? R::pack(x[0] + i) : Pack{};
    __builtin_prefetch(x[0] + i + block_length, 0, 2);
#pragma GCC unroll 8
    for (int r = 0; r < count; ++r) {
      const Pack north = i < end ? R::pack(x[r + 1] + i) : Pack{};
      __builtin_prefetch(x[r + 1] + i + block_length, 0, 2);
      __builtin_prefetch(b[r] + i + block_length, 0, 2);
      const Pack next_mass = beside[r].mass(south, north), next_stiffness = beside[r].stiffness(south, north);
      const auto add = interval_product(k, m, simd::one_back<T, bytes>(mass[r], next_mass), next_mass,
                                        simd::one_back<T, bytes>(stiffness[r], next_stiffness), next_stiffness);
      const Pack sum = to_right[r] + simd::one_ahead<T, bytes>(to_left[r], add.left);
      mass[r] = next_mass, stiffness[r] = next_stiffness, to_left[r] = add.left, to_right[r] = add.right;
      south = north;
      if (first >= begin - 1) R::pack(rows + r * pitch + (first - begin)) = R::pack(b[r] + first) - sum;
    }
  }
}

template <class R, bool is_cyclic, class T, bool reaction>
STRATUM_INLINE void fill_rows(const LineRhs<Direction::x, true, TensorView<T, reaction>, T>& rhs,
                              const LineBatch& batch, int begin, int length, T* rows, std::int64_t pitch,
                              Eliminator<R, is_cyclic, TensorView<T, reaction>, T>& /*entries*/) {
  // Fours even where fewer rows are left: a row has the same bits wherever it comes in a batch.
  constexpr int four = 4;
  const bool zebra = batch.stride == 2;
  const int last_row = batch.first + (batch.count - 1) * batch.stride;
  for (int k = 0; k < batch.count; k += zebra ? four : 1) {
    const int j = batch.line(k);
    zebra ? fill_tensor_rows<R, four>(rhs, j, last_row, begin, length, rows + k * pitch, pitch)
          : fill_tensor_rows<R, 1>(rhs, j, last_row, begin, length, rows + k * pitch, pitch);
  }
}

/// Right-hand sides of an element-coefficient operator, and its entries.
template <class R, bool is_cyclic, bool coupled, class T, bool scalar>
STRATUM_INLINE void fill_rows(const LineRhs<Direction::x, coupled, ElementView<T, scalar>, T>& rhs,
                              const LineBatch& batch, int begin, int length, T* rows, std::int64_t pitch,
                              Eliminator<R, is_cyclic, ElementView<T, scalar>, T>& entries) {
  constexpr int bytes = R::width * static_cast<int>(sizeof(T));
  for (int k = 0; k < batch.count; ++k) {
    const int j = batch.line(k);
    CellRow<bytes, T, scalar, true> row(rhs.a, rhs.b, rhs.x, j, batch.stride, begin - 1, coupled);
    for (int n = -1; n < length; n += R::width) {
      const int i = begin + n + R::width;
      R::pack(rows + k * pitch + n) = coupled ? row.next(i) : row.next_of_zero(i);
      R::pack(entries.sums + k * entries.pitch + n) = row.row_excess();
      R::pack(entries.uppers + k * entries.pitch + n) = row.east();
    }
  }
}

/// Solves one batch of x lines of n positions. `is_cyclic`: cyclic lines, whose halo follows, as lines beside them may read it.
template <class R, bool is_cyclic, bool coupled, class View, class T>
STRATUM_INLINE void solve_batch(const LineRhs<Direction::x, coupled, View, T> rhs, const LineBatch batch, const int n,
                                const T omega, const T keep, const FieldView<T> y, const LineScratch<T> scratch) {
  constexpr int w = batch_width<T>, pitch = block_length + 16;
  alignas(64) T before_rows[16 + w * pitch];
  T* const rows = before_rows + 16;  // a row's column -1 is written, too
  alignas(64) Chunk<T> right;
  Eliminator<R, is_cyclic, View, T> eliminate(rhs.a, batch);
  const Eliminated<T> eliminated{scratch.multipliers, scratch.eliminated, scratch.sums};
  for (int block = 0; block < n; block += block_length) {
    const int end = std::min(n, block + block_length);
    const int length = end - block;
    fill_rows<R, is_cyclic>(rhs, batch, block, length, rows, pitch, eliminate);
    for (int k = 0; k < w; ++k)  // the rest of the last chunk, and lanes without a line
      std::fill(rows + k * pitch + (k < batch.count ? length : 0), rows + k * pitch + last_chunk(length) + chunk_length,
                T(0));
    for (int begin = block; begin < end; begin += chunk_length) {
      simd::transpose<w, chunk_length>(rows + (begin - block), pitch, right, w);
      eliminate(begin, std::min(chunk_length, end - begin), n, right, eliminated);
    }
  }
  alignas(64) T last[w];
  for (int v = 0; v < R::packs; ++v) R::pack(last + v * R::width) = eliminate.close(v, n, eliminated);
  alignas(64) T next[w] = {};
  alignas(64) Chunk<T> solution;
  constexpr bool differences = coupled && solves_for_difference<View>;
  const bool direct = !differences && keep == T(0) && omega == T(1) && batch.count == w;
  for (int begin = last_chunk(n); begin >= 0; begin -= chunk_length) {
    const int length = std::min(chunk_length, n - begin);
    // Asks for what is written later, in pieces that hardware prefetchers continue: a few rows with every chunk.
    constexpr int chunks = 4, share = w / chunks;
    const int part = begin / chunk_length % chunks, later = begin - (part + chunks) * chunk_length;
    if (later >= 0)
      for (int k = part * share; k < std::min(batch.count, (part + 1) * share); ++k)
        for (int i = later; i < later + chunks * chunk_length; i += cache_line<T>)
          __builtin_prefetch(&y(i, batch.line(k)), 0, 2);
    const std::int64_t at = std::int64_t{begin} * w;
    const Eliminated<T> here{eliminated.multipliers + at, eliminated.z + at, eliminated.sums + at};
    substitute_back<R, is_cyclic || by_row_sums<View>, is_cyclic>(length, here, last, next, solution);
    if (direct && length == chunk_length) {
      simd::transpose<chunk_length, w>(solution, w, &y(begin, batch.first), batch.stride * y.pitch);
      continue;
    }
    simd::transpose<chunk_length, w>(solution, w, rows, pitch);
    for (int k = 0; k < batch.count; ++k) {
      T* row = rows + k * pitch;
      const int j = batch.line(k);
      if constexpr (differences) {
        const T* const near = &rhs.x(begin, j + nearer(rhs.a.ky[j], rhs.a.ky[j + 1]));
        for (int c = 0; c < length; ++c) row[c] += near[c];
      }
      for (int c = 0; c < length; ++c)
        y(begin + c, j) = keep == T(0) ? omega * row[c] : keep * rhs.x(begin + c, j) + omega * row[c];
    }
  }
  if constexpr (is_cyclic)
    for (int k = 0; k < batch.count; ++k) {
      const int j = batch.line(k);
      y(-1, j) = y(n - 1, j);
      y(n, j) = y(0, j);
    }
}

}  // namespace stratum::line
