#include <stratum/assembly/geometry.hpp>

#include <cmath>

namespace stratum {

Point Geometry::node(int i, int j) const {
  const LinePoint x = node_of(logical_->x(), i), y = node_of(logical_->y(), j);
  const bool moved = mapped_ != nullptr && mapped_->is_cartesian();
  return moved ? make_point(mapped_->node(i, j), x.place, y.place) : make_point(x, y);
}

Point Geometry::on_boundary(const BoundaryPlace& side, int k, double t) const {
  const bool row = side.along == Direction::x;
  if (mapped_ != nullptr && mapped_->is_cartesian()) {
    const int line = side.last ? across(side).size() - 1 : 0;
    const double end = side.last ? 1 : 0;
    return row ? cell(k, line).at(t, end) : cell(line, k).at(end, t);
  }
  const Axis& other = across(side);
  const LinePoint there = node_of(other, side.last ? other.size() : 0), here = LineInterval(along(side), k).at(t);
  return row ? make_point(here, there) : make_point(there, here);
}

double Geometry::measure_on_side(const BoundaryPlace& side, int k, double t) const {
  if (mapped_ == nullptr) return along(side).widths()[static_cast<std::size_t>(k)];
  if (!mapped_->is_cartesian()) {
    const Point at = on_boundary(side, k, t);
    return along(side).widths()[static_cast<std::size_t>(k)] *
           scales_at(mapped_->coordinates(), at.x, at.y).along(side.along);
  }
  const Point first = on_boundary(side, k, 0), second = on_boundary(side, k, 1);
  return std::hypot(second.x - first.x, second.y - first.y);
}

}  // namespace stratum
