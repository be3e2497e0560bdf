#include <stratum/mesh/partition.hpp>

#include <algorithm>

#include <stratum/core/errors.hpp>

namespace stratum {

NodeRows node_rows(const TensorMesh<2>& mesh, const GridLayout<2>& unknowns) {
  return {unknowns.below ? unknowns.origin_y : 0, unknowns.above ? unknowns.origin_y + unknowns.ny : mesh.y().size()};
}

namespace {

/// Numbers begin .. end - 1 of subdomain `rank`, of `n` rows or planes from number `first` on. Cuts are the multiples of
/// 2^levels that are next to even shares.
struct Share {
  int begin, end;
};
Share share_of(const char* what, int first, int n, int count, int rank, int levels) {
  expects(count >= 1 && rank >= 0 && rank < count, "subdomain ", rank, " of ", count, " does not exist");
  expects(levels >= 0 && levels < 30, "subdomains stay aligned on 0 .. 29 coarser levels, not ", levels);
  const int unit = 1 << levels;
  const auto cut = [&](int r) {
    if (r == 0 || r == count) return r == 0 ? first : first + n;
    const std::int64_t numbers = std::int64_t{first} * count + std::int64_t{n} * r, units = std::int64_t{unit} * count;
    return static_cast<int>((2 * numbers + units) / (2 * units)) * unit;
  };
  const Share share{cut(rank), cut(rank + 1)};
  expects(n / unit >= count && share.begin < share.end, n, " ", what, " cannot be cut into ", count,
          " subdomains at multiples of ", unit);
  return share;
}

}  // namespace

Subdomain::Subdomain(const TensorMesh<2>& mesh, int count, int rank, int levels)
    : shape_(mesh.unknowns()), levels_(levels), last_(rank + 1 == count) {
  const auto [begin, end] = share_of("rows", shape_.origin_y, shape_.ny, count, rank, levels);
  shape_.origin_y = begin;
  shape_.ny = end - begin;
  if (count == 1) return;
  shape_.below = rank > 0 || shape_.periodic_y;
  shape_.above = rank + 1 < count || shape_.periodic_y;
}

Subdomain Subdomain::coarser(const TensorMesh<2>& coarse_mesh) const {
  const GridLayout<2> whole = coarse_mesh.unknowns();
  expects(levels_ > 0, "the subdomain was cut for no coarser level");
  Subdomain coarse;
  coarse.levels_ = levels_ - 1;
  coarse.shape_ = whole;
  coarse.shape_.below = shape_.below;
  coarse.shape_.above = shape_.above;
  coarse.last_ = last_;
  const int begin = (shape_.origin_y + 1) / 2;
  const int end = last_ ? whole.origin_y + whole.ny : (shape_.origin_y + shape_.ny) / 2;
  coarse.shape_.origin_y = begin;
  coarse.shape_.ny = end - begin;
  return coarse;
}

GridLayout<3> slab(const TensorMesh<3>& mesh, int count, int rank, int levels) {
  GridLayout<3> layout = mesh.unknowns();
  const auto [begin, end] = share_of("planes", layout.first[2], layout.extents.nz, count, rank, levels);
  layout.first[2] = begin;
  layout.extents.nz = end - begin;
  if (count == 1) return layout;
  const bool periodic = mesh.z().is_periodic();
  const auto beyond = [&](bool is_end, int neighbour) {
    return is_end && !periodic ? Face{} : Face{Face::Kind::subdomain, neighbour};
  };
  layout.lower[2] = beyond(rank == 0, (rank + count - 1) % count);
  layout.upper[2] = beyond(rank + 1 == count, (rank + 1) % count);
  return layout;
}

GridLayout<3> coarser_slab(const TensorMesh<3>& coarse_mesh, const GridLayout<3>& fine) {
  const GridLayout<3> all = coarse_mesh.unknowns();
  const int first = fine.first[2], behind = first + fine.extents.nz, begin = (first + 1) / 2;
  const bool is_last = behind == all.first[2] + fine.global.nz;
  GridLayout<3> coarse = all;
  coarse.first[2] = begin;
  coarse.extents.nz = (is_last ? all.first[2] + all.extents.nz : behind / 2) - begin;
  coarse.lower[2] = fine.lower[2];
  coarse.upper[2] = fine.upper[2];
  return coarse;
}

namespace {

/// Distributed levels where nothing else is asked for: those with unknowns enough, as far as every subdomain has some rows of
/// the last, which keeps the subdomains of like size.
int levels_worth_distributing(const Context& ctx, std::span<const TensorMesh<2>> meshes, int count, int most) {
  constexpr int least_rows = 8;
  const std::int64_t least = ctx.on_gpu() ? PartitionLevels::least_on_gpus : PartitionLevels::least_on_cpu * count;
  int levels = 1;
  while (levels < most) {
    const GridLayout<2> next = meshes[meshes.size() - 1 - static_cast<std::size_t>(levels)].unknowns();
    if (next.nodes() < least || next.ny < 2 * least_rows * count) break;
    ++levels;
  }
  return levels;
}

}  // namespace

PartitionLevels::PartitionLevels(const Context& ctx, std::span<const TensorMesh<2>> meshes,
                                 const PartitionParams& params)
    : params_(params), fixed_(meshes.size()) {
  expects(!meshes.empty(), "a hierarchy needs at least one mesh");
  for (const auto& mesh : meshes) unknowns_.push_back(mesh.unknowns());
  const int finest = static_cast<int>(meshes.size()) - 1, count = ctx.subdomains();
  replicated_ = finest;
  own_ = unknowns_.back();
  int most = 0;
  while (most < finest && meshes[static_cast<std::size_t>(finest - most)].y().can_coarsen()) ++most;
  int chunks = count;
  if (params.fixed_chunks) {
    chunks = std::clamp(most == 0 ? 1 : own_.ny >> params.distributed_levels.value_or(1), 1, most_fixed);
    expects(count <= chunks, own_.ny, " rows are ", chunks, " fixed chunks, which cannot be shared by ", count,
            " subdomains");
  }
  if (chunks == 1) return;
  expects(most > 0, own_.ny, " rows cannot be cut into ", count, " subdomains");
  const int distributed = params.distributed_levels.value_or(levels_worth_distributing(ctx, meshes, chunks, most));
  expects(distributed >= 1 && distributed <= most, "1 to ", most,
          " levels of this hierarchy can be partitioned into subdomains, not ", distributed);
  if (count > 1) replicated_ = finest - distributed;
  std::vector<Subdomain> all;
  for (int r = 0; r < chunks; ++r) all.emplace_back(meshes.back(), chunks, r, distributed);
  // Subdomain `rank` on the level at which `all` are.
  const auto subdomain = [&](int rank) {
    const auto chunk = [&](int r) {
      return all[static_cast<std::size_t>(std::int64_t{chunks} * r / count)].unknowns();
    };
    GridLayout<2> shape = chunk(rank);
    const GridLayout<2>& last = all[static_cast<std::size_t>(std::int64_t{chunks} * (rank + 1) / count) - 1].unknowns();
    shape.ny = last.origin_y + last.ny - shape.origin_y;
    shape.above = last.above;
    return shape;
  };
  const int own = count > 1 ? ctx.communicator()->rank() : 0;
  for (int l = finest;; --l) {
    if (l == finest - distributed) {
      for (int rank = 0; count > 1 && rank < count; ++rank) rows_.push_back(subdomain(rank).ny);
      if (count > 1) own_ = subdomain(own);
      break;
    }
    if (count > 1) unknowns_[static_cast<std::size_t>(l)] = subdomain(own);
    if (params.fixed_chunks) {
      auto& rows = fixed_[static_cast<std::size_t>(l)];
      for (const Subdomain& chunk : all) rows.push_back(chunk.unknowns().origin_y);
      rows.push_back(all.back().unknowns().origin_y + all.back().unknowns().ny);
    }
    for (Subdomain& chunk : all) chunk = chunk.coarser(meshes[static_cast<std::size_t>(l) - 1]);
  }
}

template <class T>
void PartitionLevels::gather(Context& ctx, FieldView<const std::type_identity_t<T>> own, FieldView<T> whole,
                             std::optional<int> first_row) const {
  // Rows of boundaries.
  const GridLayout<2>& inner = unknowns(replicated_);
  const int before = inner.origin_y - first_row.value_or(inner.origin_y), behind = whole.ny - inner.ny - before;
  std::vector<int> row_counts = rows_;
  row_counts.front() += before;
  row_counts.back() += behind;
  expects(before >= 0 && behind >= 0 && whole.nx >= inner.nx, "the whole must be ", inner.nx, " x ", inner.ny,
          " or larger by its boundaries, not ", whole.nx, " x ", whole.ny);
  expects_fit(ctx, "a subdomain's rows", own, whole.nx,
              row_counts[static_cast<std::size_t>(ctx.communicator()->rank())]);
  expects(own.pitch == whole.pitch, "rows of a subdomain are ", own.pitch, " numbers apart, of the whole ",
          whole.pitch);
  const auto row = static_cast<std::size_t>(whole.pitch) * sizeof(T);
  std::vector<std::size_t> counts, offsets;
  std::size_t begin = 0;
  for (const int rows : row_counts) {
    counts.push_back(static_cast<std::size_t>(rows) * row);
    offsets.push_back(begin);
    begin += counts.back();
  }
  // Rows with the columns beside them.
  ctx.communicator()->gather(ctx, own.data - 1, whole.data - 1, counts, offsets);
}

template <class T>
FieldView<T> PartitionLevels::own_rows(FieldView<T> whole) const {
  FieldView<T> own = whole;
  own.data += own.pitch * (own_.origin_y - unknowns(replicated_).origin_y);
  own.ny = own_.ny;
  return own;
}

#define STRATUM_INSTANTIATE(T)                                                                                 \
  template void PartitionLevels::gather(Context&, FieldView<const T>, FieldView<T>, std::optional<int>) const; \
  template FieldView<T> PartitionLevels::own_rows(FieldView<T>) const;                                         \
  template FieldView<const T> PartitionLevels::own_rows(FieldView<const T>) const;
STRATUM_INSTANTIATE(float)
STRATUM_INSTANTIATE(double)
#undef STRATUM_INSTANTIATE

}  // namespace stratum
