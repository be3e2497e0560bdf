#pragma once

// Stored bands in the order in which a GPU's persistent kernel of y lines reads them (solvers/lines/cuda/persistent_bands.hpp):
// a copy that line smoothers keep beside the operator.
//
// Rows of a matrix hold the entries of two colours of lines beside each other, and so a kernel that solves for one colour after
// the other would read them twice, or keep them, for which there is no room. Here each colour has its own entries, and what a
// block needs of a tile lies in one piece, a record.
//
//     tile     128 bytes of a row, in pairs of columns: the even one at position 2 p, the odd one at 2 p + 1, where position
//              i + 1 of a row has node i; 512 rows, 32 segments of 16
//     numbers  [k][segment][pair] for row 16 segment + k
//
// A record of five bands in float has 5.1 words for every node of the tile:
//
//     own[3]      even node to the odd one of its pair, rows j - 1, j, j + 1
//     beside[3]   even node to the odd one of the pair before; of one pair more than the tile has
//     along[2]    even and odd lines: centre, north
//
// Odd nodes find their couplings with the even ones. So that they find them beyond the tile, too, own[2] and beside[2] have the
// row below it as one more segment before those of row 15, own[0] and beside[0] the row above as one more behind those of row
// 0. A record of nine bands has 9 words per unknown:
//
//     couplings[2]  even and odd nodes: to the other node of the pair, and to the one on the other side, three rows each
//     along[2]      even and odd lines: south, centre, north
//
// In double there is no room for the couplings of both colours at once: five bands have records of nine.
//
// Beyond the grid equations are x = 0. What couples nodes of the first and last columns and rows to the halo is kept.

#include <cstdint>

#include <stratum/core/operators/grid_operator.hpp>

namespace stratum::line {

template <class T>
struct BandTile {
  static constexpr int segment = 16, segments = 32, rows = segment * segments;
  static constexpr int width = static_cast<int>(128 / sizeof(T)), pairs = width / 2, nodes = rows * pairs;
};

/// Where things lie in a record.
template <class T, bool couplings_once>
struct BandRecord;

template <class T>
struct BandRecord<T, true> {
  using Tile = BandTile<T>;
  /// Number d = 0, 1, 2 of row k for all segments, from segment 0 on.
  template <int pairs>
  static constexpr int row(int d, int k) {
    const int n = d * Tile::segment + k, last = 3 * Tile::segment - 1;
    return (n * Tile::segments + (n > 0 ? 1 : 0) + (n == last ? 1 : 0)) * pairs;
  }
  static constexpr int coupling_rows = 3 * Tile::rows + 2;
  static constexpr int own = 0, beside = coupling_rows * Tile::pairs;
  static constexpr int couplings_size = (beside + coupling_rows * (Tile::pairs + 1) + 3) / 4 * 4;  // whole 16 bytes
  static constexpr int along = couplings_size, along_size = 2 * Tile::nodes;
  static constexpr int centre = 0, north = Tile::nodes;
  static constexpr int size = along + 2 * along_size;
};

template <class T>
struct BandRecord<T, false> {
  using Tile = BandTile<T>;
  static constexpr int couplings_size = 6 * Tile::nodes;
  static constexpr int along = 2 * couplings_size, along_size = 3 * Tile::nodes;
  static constexpr int south = 0, centre = Tile::nodes, north = 2 * Tile::nodes;
  static constexpr int size = along + 2 * along_size;
};

/// Which record a storage format has.
template <class T>
constexpr bool couplings_once(bool symmetric) {
  return symmetric && sizeof(T) == sizeof(float);
}

/// Numbers of a record; 0 of other storage formats.
template <class T>
[[nodiscard]] constexpr int record_size(StorageFormat format) {
  if (!traits(format).has_bands) return 0;
  return couplings_once<T>(traits(format).is_symmetric) ? BandRecord<T, true>::size : BandRecord<T, false>::size;
}

/// The records of a grid of this shape, a row each: tiles one after the other, of each the parts of its lines. None where lines
/// along y are not taken by a persistent kernel: on a CPU, on GPUs without clusters of blocks, where the grid is periodic along
/// them or a subdomain of a larger one, and where they are short, so that caches hold what is read twice, or longer than a
/// cluster holds.
template <class T>
[[nodiscard]] GridLayout<2> records_shape(const Context& ctx, const GridLayout<2>& shape, StorageFormat format);

/// Writes them. `records`: of a's shape, and of at least record_size(a.form()) numbers each. Does not wait for the stream.
template <class T>
void tile_bands(const Context& ctx, const GridOperator<T>& a, FieldView<T> records);

/// The address of record 0: rows of a grid function begin with column -1, on a multiple of 64 bytes.
template <class T>
[[nodiscard]] T* first_record(const FieldView<T>& records) {
  return records.data - 1;
}

}  // namespace stratum::line
