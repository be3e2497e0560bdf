#pragma once

// PatchMultigrid: a V-cycle on a collection of patches as if it were one grid, z = M r: zebra lines that run on across edges
// (smoothers/patches/), operator-dependent interpolation and Galerkin matrices (multigrid/patches/patch_transfer.hpp), and a
// direct solve on the coarsest level. The sweeps after the coarse correction run backwards, so that M is symmetric.
//
//     r partial, z consistent:  nothing but the lines and the coarsest solve adds up numbers of several patches
//
// On several ranks r and z are those of a rank's patches, and so are the finest levels. Per cycle there is one gather for each
// phase of a sweep in which lines run on to another rank, and one of the load of the finest level that every rank has whole.
//
// `full` is one FMG cycle: z by a solve on the coarsest level, interpolated and improved by a cycle level by level.
//
// T is the precision of the cycle; the coarsest level is solved in double. On a GPU a cycle is recorded as a CUDA graph from
// the second one on. Nothing is allocated and nothing waits for the stream. Words an unknown: about 19 and those of both
// vectors.

#include <memory>
#include <string>
#include <vector>

#include <stratum/core/device/recording.hpp>
#include <stratum/core/patches/patch_rows.hpp>
#include <stratum/multigrid/patches/patch_coarse_solver.hpp>
#include <stratum/multigrid/patches/patch_levels.hpp>
#include <stratum/smoothers/patches/distributed_lines.hpp>

namespace stratum {

template <class T>
class PatchMultigrid {
 public:
  /// `sweeps` in every direction, before and after.
  PatchMultigrid(Context& ctx, const std::vector<PatchLevelOnHost>& levels, bool singular, int sweeps = 1);

  void apply(Context& ctx, const Partial<T>& r, Consistent<T>& z);
  void full(Context& ctx, const Partial<T>& r, Consistent<T>& z);

 private:
  struct Level {
    PatchRows rows;
    PatchOperator<T> a;
    std::unique_ptr<PatchLines<T>> lines;                // none on the coarsest level
    std::unique_ptr<PatchTransfer<T>> transfer;          // to the next coarser level
    Partial<T> b, r;                                     // b: none on the finest level
    Consistent<T> x;                                     // none on the finest level
    std::unique_ptr<DistributedLines<T>> distributed{};  // of several ranks
    std::unique_ptr<PatchRows> own_coarse{};             // of this rank, where the next level has all patches
  };
  void smooth(Context& ctx, Level& level, const Partial<T>& b, Consistent<T>& x, bool backward);
  void to_coarser(Context& ctx, std::size_t level, const Partial<T>& r);
  void gather(Context& ctx, Partial<T>& b);
  /// Where the finest level has all patches, though r and z are those of this rank.
  void on_all_patches(Context& ctx, const Partial<T>& r, Consistent<T>& z, bool full);
  void cycle(Context& ctx, std::size_t level, const Partial<T>& b, Consistent<T>& x, bool zero);
  void full_pass(Context& ctx, const Partial<T>& r, Consistent<T>& z);

  std::vector<Level> levels_;
  PatchCoarseSolver coarse_;
  int sweeps_;
  std::vector<std::size_t> counts_, offsets_;  // of ranks: bytes of the finest level that has all patches
  int first_ = 0;  // number of the rank's first node in its own vectors, where r and z are gathered; else 0
  Partial<T> all_r_;
  Consistent<T> all_z_;
  Recording cycle_, pass_;
};

}  // namespace stratum
