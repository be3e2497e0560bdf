#pragma once

// Strips: the unknowns of a mesh cut into pieces of whole rows,
//
//     piece r has the nodes with global row numbers begin <= j < end ,   begin a multiple of 2^levels but for the first piece ,
//
// so that on `levels` coarser meshes every piece's first row is a coarse row, and strips coarsen to strips. Each piece has a Context with
// its communicator (core/comm/communicator.hpp). Throws UsageError where there are not rows enough for every piece.

#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

class Strip {
 public:
  /// Piece `rank` of `count`, with rows shared out evenly.
  Strip(const TensorMesh& mesh, int count, int rank, int levels);

  /// The strip's part of the unknowns.
  [[nodiscard]] const GridShape& unknowns() const { return shape_; }
  /// On the next coarser mesh, up to `levels` times.
  [[nodiscard]] Strip coarser(const TensorMesh& coarse_mesh) const;

 private:
  Strip() = default;
  GridShape shape_;
  int levels_ = 0;
  bool last_ = false;  // its rows end where the mesh's do
};

}  // namespace stratum
