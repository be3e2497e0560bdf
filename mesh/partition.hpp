#pragma once

// Partition of the unknowns of a mesh into subdomains of whole rows,
//
//     subdomain r has the nodes with global row numbers begin <= j < end ,   begin a multiple of 2^levels (except the first)
//
// so that every subdomain's first row is a coarse row on the next `levels` coarser meshes, and subdomains coarsen to
// subdomains. The residual that is restricted to the finest replicated level is gathered once per cycle, and every
// rank continues with the whole grid (PartitionLevels says which level that is). Each subdomain has a Context with its
// communicator (core/comm/communicator.hpp). Throws UsageError if there are too few rows for the number of subdomains.

#include <optional>
#include <span>
#include <vector>

#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// Rows of nodes of a mesh, first and last, those of the boundaries among them; the cells between are first .. last - 1.
struct NodeRows {
  int first, last;
  [[nodiscard]] int count() const { return last - first + 1; }
  friend bool operator==(const NodeRows&, const NodeRows&) = default;
};
/// All of them; of a subdomain of unknowns its own, the first one of the subdomain above, and the boundaries' beyond. So all
/// cells are some subdomain's, and of one alone.
[[nodiscard]] NodeRows node_rows(const TensorMesh<2>& mesh, const GridLayout<2>& unknowns);

class Subdomain {
 public:
  /// Subdomain `rank` of `count`, with rows shared out evenly.
  Subdomain(const TensorMesh<2>& mesh, int count, int rank, int levels);

  /// The subdomain's part of the unknowns.
  [[nodiscard]] const GridLayout<2>& unknowns() const { return shape_; }
  /// On the next coarser mesh, up to `levels` times.
  [[nodiscard]] Subdomain coarser(const TensorMesh<2>& coarse_mesh) const;

 private:
  Subdomain() = default;
  GridLayout<2> shape_;
  int levels_ = 0;
  bool last_ = false;  // its rows end where the mesh's do
};

/// Slab `rank` of `count` of the unknowns of a box: whole planes, shared out evenly and cut as rows are in two dimensions, at
/// multiples of 2^levels, so that slabs coarsen to slabs. Throws UsageError where there are not planes enough.
[[nodiscard]] GridLayout<3> slab(const TensorMesh<3>& mesh, int count, int rank, int levels = 0);
/// The same slab on the next coarser mesh, up to `levels` times.
[[nodiscard]] GridLayout<3> coarser_slab(const TensorMesh<3>& coarse_mesh, const GridLayout<3>& fine);

/// What may be asked of PartitionLevels.
struct PartitionParams {
  // NOLINTBEGIN(google-explicit-constructor): most often nothing but this is asked for
  PartitionParams(std::optional<int> levels = {}, bool fixed = false)
      : distributed_levels(levels), fixed_chunks(fixed) {}
  PartitionParams(int levels) : PartitionParams(std::optional(levels)) {}
  // NOLINTEND(google-explicit-constructor)

  /// So many levels are distributed, the finest and those that follow; left open, those with unknowns enough, but the finest
  /// always.
  std::optional<int> distributed_levels;
  /// Subdomains are made of chunks of rows that are the same whatever the number of subdomains, one among them; which levels
  /// are distributed depends on these chunks. Smoothers that are given them compute the same bits on any number of subdomains.
  bool fixed_chunks;
};

/// Which levels of a hierarchy, level 0 the coarsest, are distributed over the subdomains of a Context's communicator, and a
/// subdomain's part of them. The same on all subdomains.
class PartitionLevels {
 public:
  /// Unknowns below which a level is not worth its exchanges: of a subdomain; on GPUs of all subdomains together, which one is
  /// as fast with (V(2,2) with adi on two and four H100: 1e6 and 5e5).
  static constexpr std::int64_t least_on_cpu = 4096, least_on_gpus = 1'000'000;
  /// Unknowns in all below which one GPU solves faster than several (V(2,2) with adi on A3, one and two H100: 1023^2 0.81 and
  /// 0.91 ms, 2047^2 1.56 and 1.44).
  static constexpr std::int64_t least_for_several_gpus = 2'000'000;

  /// Fixed subdomains, where there are rows enough for so many.
  static constexpr int most_fixed = 16;

  /// Meshes coarsest first. One subdomain, or no communicator: no level is distributed. Throws UsageError where there are not
  /// rows enough, and for more subdomains than fixed chunks.
  PartitionLevels(const Context& ctx, std::span<const TensorMesh<2>> meshes, const PartitionParams& params = {});

  [[nodiscard]] const PartitionParams& params() const { return params_; }

  /// The finest replicated level.
  [[nodiscard]] int replicated() const { return replicated_; }
  [[nodiscard]] bool is_distributed(int level) const { return level > replicated_; }
  /// The number of distributed levels.
  [[nodiscard]] int distributed() const { return static_cast<int>(unknowns_.size()) - 1 - replicated_; }
  /// Of a distributed level the subdomain, of a replicated one all.
  [[nodiscard]] const GridLayout<2>& unknowns(int level) const { return unknowns_[static_cast<std::size_t>(level)]; }
  [[nodiscard]] const GridLayout<2>& finest() const { return unknowns_.back(); }
  /// The fixed chunks of a level: global numbers of their first rows and of the row behind the last; none on coarse levels.
  [[nodiscard]] const std::vector<int>& fixed_chunks(int level) const {
    return fixed_[static_cast<std::size_t>(level)];
  }
  /// The subdomain's rows of the finest replicated level, which level replicated() + 1 restricts to: none on the first
  /// subdomain where that ends before a coarse row.
  [[nodiscard]] const GridLayout<2>& own() const { return own_; }

  /// The rows of all subdomains, between vectors of shapes own() and unknowns(replicated()), or with rows of boundaries:
  /// the whole begins with row `first_row` then, a global index. For the stream.
  template <class T>
  void gather(Context& ctx, FieldView<const std::type_identity_t<T>> own, FieldView<T> whole,
              std::optional<int> first_row = {}) const;
  /// The subdomain's rows where they lie in the whole, the rows beside them for a halo. Halos of the whole must be up to date.
  template <class T>
  [[nodiscard]] FieldView<T> own_rows(FieldView<T> whole) const;

 private:
  PartitionParams params_;
  int replicated_ = 0;
  std::vector<GridLayout<2>> unknowns_;
  std::vector<std::vector<int>> fixed_;  // by level
  GridLayout<2> own_;
  std::vector<int> rows_;  // of all subdomains on the finest replicated level
};

}  // namespace stratum
