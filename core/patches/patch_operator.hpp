#pragma once

// PatchOperator: a symmetric nine-point matrix on patches, partial: what the cells of a patch give to its nodes. With x
// consistent, A x is partial and reads no other patch. Stored are the sum of each row and four bands,
//
//     (A x)_i = excess_i x_i + sum over the eight neighbours of  a_ij (x_j - x_i) ,
//
// five words per unknown. Rows of a Laplacian sum to zero exactly, in single precision too: there are differences of x, never
// differences of coefficients.
//
// Dirichlet nodes are nodes like others, with the excess `fixed_row`: residuals and products are zero there. Their columns are
// kept. So x may hold the boundary values, which the residuals of the other rows see; corrections are zero there.
//
// Nothing here waits for the stream.
// Shapes are the caller's duty: vectors of the layout that the rows were made for. Memory traffic of a residual: 5 words of A
// and 3 of vectors per unknown.

#include <limits>

#include <stratum/core/patches/patch_layout.hpp>

namespace stratum {

/// The excess of the row of a Dirichlet node.
template <class T>
inline constexpr T fixed_row = std::numeric_limits<T>::max();

/// On the host, in double: what assembly and Galerkin products give. All rows are those of Neumann boundaries, Dirichlet nodes
/// included.
struct PatchRowsOnHost {
  std::vector<double> excess, east, north, north_east, north_west;
  explicit PatchRowsOnHost(int size) {
    for (auto* band : {&excess, &east, &north, &north_east, &north_west})
      band->assign(static_cast<std::size_t>(size), 0.0);
  }
};

/// What the cells of all patches conduct along x and y, as interpolation and lines need it; cell (i, j) of a patch stands where
/// its node (i, j) does.
struct PatchConductances {
  std::vector<double> x, y;
};

template <class T>
struct PatchBands {
  const T *excess, *east, *north, *north_east, *north_west;

  /// Of row `k` of a patch with this pitch.
  struct Row {
    T excess;
    T to[3][3];  // to[dj + 1][di + 1]; nothing in the middle
  };
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Row row(int k, int pitch) const {
    return {excess[k],
            {{north_east[k - pitch - 1], north[k - pitch], north_west[k - pitch + 1]},
             {east[k - 1], T(0), east[k]},
             {north_west[k], north[k], north_east[k]}}};
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static bool is_fixed(const Row& row) {
    return row.excess == fixed_row<T>;
  }
  /// A x of a row that is not fixed.
  template <class X>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static X product(const Row& row, const X* x, int k, int pitch) {
    // Written out, so that loops over nodes become vector instructions.
    const X own = x[k], *const south = x + (k - pitch), *const north_of = x + (k + pitch);
    const X below =
        row.to[0][0] * (south[-1] - own) + row.to[0][1] * (south[0] - own) + row.to[0][2] * (south[1] - own);
    const X beside = row.to[1][0] * (x[k - 1] - own) + row.to[1][2] * (x[k + 1] - own);
    const X above =
        row.to[2][0] * (north_of[-1] - own) + row.to[2][1] * (north_of[0] - own) + row.to[2][2] * (north_of[1] - own);
    return row.excess * own + (below + beside + above);
  }
};

template <class T>
class PatchOperator {
 public:
  /// `fixed`: the numbers of Dirichlet nodes, all copies.
  PatchOperator(Context& ctx, const PatchRowsOnHost& rows, const std::vector<int>& fixed);

  [[nodiscard]] PatchBands<T> bands() const;

 private:
  Field<T> excess_, east_, north_, north_east_, north_west_;
};

class PatchRows;

/// r = b - A x
template <class T>
void residual(Context& ctx, const PatchRows& rows, const PatchOperator<T>& a, const Partial<T>& b,
              const Consistent<T>& x, Partial<T>& r);
/// y = A x
template <class T>
void product(Context& ctx, const PatchRows& rows, const PatchOperator<T>& a, const Consistent<T>& x, Partial<T>& y);
/// The same of vectors whose kinds the caller knows: x consistent, y partial.
void product(Context& ctx, const PatchRows& rows, const PatchOperator<double>& a, const Field<double>& x,
             Field<double>& y);
/// y = |A| |x| + |b|, partial
void magnitude(Context& ctx, const PatchRows& rows, const PatchOperator<double>& a, const Partial<double>& b,
               const Consistent<double>& x, Partial<double>& y);

}  // namespace stratum
