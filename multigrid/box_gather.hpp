#pragma once

// BoxGather: a level of multigrid in a box whose slabs (BoxSlab of core/operators/box_rows.hpp) come together on every rank,
// which goes on with the whole level by itself. All ranks call together and get the same bits. Nothing waits for the stream
// unless the communicator does; in a memory dry run nothing is gathered.

#include <utility>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/multigrid/transfer/box_transfer.hpp>

namespace stratum {

class BoxGather {
 public:
  BoxGather() = default;
  /// `cuts`: the first plane of every rank, and the number of planes. `slab`: this rank's.
  BoxGather(std::vector<int> cuts, const BoxShape& slab) : cuts_(std::move(cuts)), slab_(slab) {}

  [[nodiscard]] bool is_needed() const { return !cuts_.empty(); }
  [[nodiscard]] BoxShape whole() const;

  [[nodiscard]] BoxBands<double> bands(Context& ctx, const BoxMatrix<double>& slab) const;
  [[nodiscard]] BoxConductances conductances(Context& ctx, BoxConductances slab) const;

  /// This rank's planes of a vector that holds all.
  template <class T>
  [[nodiscard]] FieldView<T, 3> own(FieldView<T, 3> all) const {
    all.data += slab_.slab.first * all.strides.plane;
    all.extents.nz = slab_.n.nz;
    return all;
  }
  /// Gets those of the others.
  template <class T>
  void complete(Context& ctx, const FieldView<T, 3>& all) const;

 private:
  /// From `mine` to all planes, so many numbers apart. `last`: planes more of the last rank.
  template <class T>
  void gather(Context& ctx, const T* mine, T* all, std::int64_t apart, int last = 0) const;

  std::vector<int> cuts_;
  BoxShape slab_;
};

/// What the planes beside a slab have to say to a level's matrix and conductances.
void fill_beside_slab(Context& ctx, BoxBands<double>& bands, BoxConductances& g);

}  // namespace stratum
