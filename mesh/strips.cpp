#include <stratum/mesh/strips.hpp>

#include <stratum/core/errors.hpp>

namespace stratum {

Strip::Strip(const TensorMesh& mesh, int count, int rank, int levels)
    : shape_(mesh.unknowns()), levels_(levels), last_(rank + 1 == count) {
  expects(count >= 1 && rank >= 0 && rank < count, "piece ", rank, " of ", count, " does not exist");
  expects(levels >= 0 && levels < 30, "strips stay aligned on 0 .. 29 coarser levels, not ", levels);
  const int first = shape_.origin_y, end = first + shape_.ny, unit = 1 << levels, blocks = shape_.ny / unit;
  const auto cut = [&](int r) {
    return r == 0 ? first : r == count ? end : static_cast<int>(std::int64_t{blocks} * r / count) * unit;
  };
  const int begin = cut(rank), last = cut(rank + 1);
  expects(blocks >= count && begin < last, shape_.ny, " rows cannot be cut into ", count, " strips at multiples of ",
          unit);
  shape_.origin_y = begin;
  shape_.ny = last - begin;
  if (count == 1) return;
  shape_.below = rank > 0 || shape_.periodic_y;
  shape_.above = rank + 1 < count || shape_.periodic_y;
}

Strip Strip::coarser(const TensorMesh& coarse_mesh) const {
  const GridShape whole = coarse_mesh.unknowns();
  expects(levels_ > 0, "the strip was cut for no coarser level");
  Strip coarse;
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

}  // namespace stratum
