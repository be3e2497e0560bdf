#pragma once

// CellFields: K = (kxx, kxy; kxy, kyy), c and the widths of a mesh's cells in the Context's memory, for kernels that form
// element matrices from them. Arrays are of nx x ny cells, x fastest; kyy that is not given is kxx, kxy and c are zero.
//
// On a CPU these are the caller's own arrays, which have to outlive the object; on a GPU they are copies of 8 bytes per cell
// and array. Throws UsageError for coefficients of another mesh. The constructor and `assign` wait for the stream on a GPU.

#include <array>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/core/field/field.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

struct CellFieldsView {
  FieldView<const double> xx, xy, yy, c;  // null: not given, zeros, xx, zeros
  const double *hx = nullptr, *hy = nullptr;
  double constant_reaction = 0;  // beside c

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double kxx(int i, int j) const { return xx(i, j); }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double kxy(int i, int j) const {
    return xy.data == nullptr ? 0 : xy(i, j);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double kyy(int i, int j) const {
    return yy.data == nullptr ? xx(i, j) : yy(i, j);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double reaction(int i, int j) const {
    return constant_reaction + (c.data == nullptr ? 0 : c(i, j));
  }
};

class CellFields {
 public:
  /// Throws UsageError for coefficients of another mesh. On a CPU `k` and the mesh have to outlive it.
  CellFields(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k, double constant_reaction = 0);
  /// The widths alone.
  CellFields(Context& ctx, const TensorMesh<2>& mesh);

  /// Other numbers of the same kinds; allocates nothing.
  void assign(Context& ctx, const CellCoefficients& k);

  [[nodiscard]] const CellFieldsView& view() const { return view_; }
  [[nodiscard]] bool has_reaction() const { return view_.constant_reaction != 0 || has_c_; }

 private:
  std::array<Field<double>, 4> copies_;  // on a GPU
  Field<double> hx_, hy_;
  CellFieldsView view_;
  bool has_c_ = false;
};

}  // namespace stratum
