#pragma once

// Points of a box mesh and its faces, and factors per direction: common helpers of the sources for three dimensions.

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/geometry.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>

namespace stratum {

[[nodiscard]] inline Point3D make_point(const LinePoint& x, const LinePoint& y, const LinePoint& z) {
  return {x.at, y.at, z.at, x.from_end, y.from_end, z.from_end, x.from_begin, y.from_begin, z.from_begin};
}

[[nodiscard]] inline Point3D node_point(const TensorMesh<3>& mesh, int i, int j, int k) {
  return make_point(node_of(mesh.x(), i), node_of(mesh.y(), j), node_of(mesh.z(), k));
}

[[noreturn]] inline void refuse_value(double value, const Point3D& p, const char* what) {
  throw UsageError(message("the ", what, " is ", value, " at (", p.x, ", ", p.y, ", ", p.z, "); it must be finite"));
}

/// Throws UsageError where `what` is not finite.
template <class F>
[[nodiscard]] STRATUM_INLINE double evaluate(const F& function, const Point3D& p, const char* what) {
  const double value = function(p);
  if (!std::isfinite(value)) refuse_value(value, p, what);
  return value;
}

/// The directions of a face: across, and the two along it in their order; and the node of the first that it is.
struct FacePlace {
  int across, first, second;
  bool last;
  explicit FacePlace(BoxFace face)
      : across(static_cast<int>(face) / 2), first(across == 0 ? 1 : 0), second(across == 2 ? 1 : 2),
        last(static_cast<int>(face) % 2 == 1) {}
  [[nodiscard]] int node(const TensorMesh<3>& mesh) const { return last ? mesh.axis(across).size() : 0; }
  /// Of points across and along.
  [[nodiscard]] Point3D point(const LinePoint& a, const LinePoint& b, const LinePoint& c) const {
    std::array<LinePoint, 3> p{a, b, c};
    if (across == 1) p = {b, a, c};
    if (across == 2) p = {b, c, a};
    return make_point(p[0], p[1], p[2]);
  }
};

/// use(p) at the 4 x 4 Gauss points of the face's cells, in order.
template <class F>
void for_each_face_point(const TensorMesh<3>& mesh, BoxFace face, const F& use) {
  const FacePlace place(face);
  const Axis &first = mesh.axis(place.first), &second = mesh.axis(place.second);
  const LinePoint across = node_of(mesh.axis(place.across), place.node(mesh));
  for (int j = 0; j < second.size(); ++j)
    for (int i = 0; i < first.size(); ++i)
      for (const auto& [s, weight_s] : gauss4)
        for (const auto& [t, weight_t] : gauss4)
          use(place.point(across, LineInterval(first, i).at(t), LineInterval(second, j).at(s)));
}

/// alpha of a face, 0 where it is no Robin face. Throws UsageError where it is negative, not finite or not constant.
[[nodiscard]] double face_alpha(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, BoxFace face);

/// Of one direction on all nodes: K v and M v of natural ends.
struct AxisProducts {
  const Axis& axis;
  const std::vector<double>&k, &w;

  [[nodiscard]] double stiffness(std::size_t i) const { return k[i] / axis.widths()[i]; }
  [[nodiscard]] double mass(std::size_t i) const { return w[i] * axis.widths()[i] / 6; }
  [[nodiscard]] std::size_t nodes() const { return static_cast<std::size_t>(axis.size()) + 1; }
  /// Entries of row i: to the node before, itself, the one behind.
  [[nodiscard]] std::array<double, 3> mass_row(std::size_t i) const {
    const double before = i > 0 ? mass(i - 1) : 0, behind = i + 1 < nodes() ? mass(i) : 0;
    return {before, 2 * (before + behind), behind};
  }
  /// v_i from v_(i-1), v_i, v_(i+1).
  template <class V>
  [[nodiscard]] double times_mass(std::size_t i, const V& v) const {
    const auto [before, here, behind] = mass_row(i);
    return (i > 0 ? before * v(i - 1) : 0) + here * v(i) + (i + 1 < nodes() ? behind * v(i + 1) : 0);
  }
};

}  // namespace stratum
