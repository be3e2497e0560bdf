#include <stratum/assembly/box_picture.hpp>

#include <stratum/assembly/box_values.hpp>
#include <stratum/core/errors.hpp>

#if defined(STRATUM_HAVE_PICTURES)
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <stratum/assembly/picture_canvas.hpp>
#include <stratum/core/io/output_file.hpp>
#endif

namespace stratum {

#if defined(STRATUM_HAVE_PICTURES)

namespace {

using namespace detail;

/// From fractions of the box's edges to pixels, and back where one of the three fractions is known.
class View {
 public:
  explicit View(const TensorMesh<3>& mesh) {
    double longest = 0;
    for (int d = 0; d < 3; ++d) longest = std::max(longest, mesh.axis(d).length());
    constexpr double most = 3;
    for (std::size_t d = 0; d < 3; ++d)
      edges_[d] = side * std::max(mesh.axis(static_cast<int>(d)).length() / longest, 1 / most);
    // The turned box's leftmost and lowest corners are the front's left and right lower ones.
    left_ = label_room;
    bottom_ = 2 * axis_room - row({1, 0, 0});
  }
  [[nodiscard]] int width() const { return static_cast<int>(std::lround(column({1, 0, 1}))) + axis_room + panel_room; }
  [[nodiscard]] int height() const { return static_cast<int>(std::lround(row({0, 1, 1}))) + title_room; }
  [[nodiscard]] double column(const std::array<double, 3>& f) const {
    return left_ + f[0] * edges_[0] * turned_right + f[2] * edges_[2] * turned_away;
  }
  [[nodiscard]] double row(const std::array<double, 3>& f) const {
    return bottom_ + f[1] * edges_[1] * lifted +
           (f[2] * edges_[2] * turned_right - f[0] * edges_[0] * turned_away) * seen_from_above;
  }
  /// The fractions of the point that a pixel shows; false where it shows none.
  [[nodiscard]] bool fractions(double x, double y, std::array<double, 3>& f) const {
    const double across = x - left_, up = y - bottom_;
    const auto is_inside = [&] {
      constexpr double edge = 1e-3;
      const bool inside = std::all_of(f.begin(), f.end(), [](double v) { return v >= -edge && v <= 1 + edge; });
      for (double& v : f) v = std::clamp(v, 0.0, 1.0);
      return inside;
    };
    // Front: z is 0. Right: x is 1. Top: y is 1, x and z are turned back.
    f = {across / (edges_[0] * turned_right), 0, 0};
    f[1] = (up + f[0] * edges_[0] * turned_away * seen_from_above) / (edges_[1] * lifted);
    if (is_inside()) return true;
    f = {1, 0, (across - edges_[0] * turned_right) / (edges_[2] * turned_away)};
    f[1] = (up - (f[2] * edges_[2] * turned_right - edges_[0] * turned_away) * seen_from_above) / (edges_[1] * lifted);
    if (is_inside()) return true;
    const double deep = (up - edges_[1] * lifted) / seen_from_above;
    f = {(across * turned_right - deep * turned_away) / edges_[0], 1,
         (across * turned_away + deep * turned_right) / edges_[2]};
    return is_inside();
  }

 private:
  static constexpr double side = 460;  // pixels of the longest edge
  // Cosine and sine of the angle by which the box is turned about y, 30 degrees, and of that by which it is seen from above,
  // 25.
  static constexpr double turned_right = 0.8660254037844387, turned_away = 0.5, lifted = 0.9063077870366499,
                          seen_from_above = 0.42261826174069944;
  std::array<double, 3> edges_{};
  double left_ = 0, bottom_ = 0;
};

void line(Canvas& canvas, const View& view, const std::array<double, 3>& from, const std::array<double, 3>& to) {
  const double i0 = view.column(from), j0 = view.row(from), i1 = view.column(to), j1 = view.row(to);
  const int pixels = static_cast<int>(std::ceil(std::max(std::abs(i1 - i0), std::abs(j1 - j0))));
  for (int k = 0; k <= pixels; ++k)
    canvas.blend(static_cast<int>(std::lround(i0 + (i1 - i0) * k / pixels)),
                 static_cast<int>(std::lround(j0 + (j1 - j0) * k / pixels)), ink);
}

}  // namespace

void write_png(const std::string& path, const TensorMesh<3>& mesh, std::span<const double> nodal,
               const std::string& title) {
  expects(nodal.size() == node_count(mesh), "the solution has ", nodal.size(), " nodal values, the mesh ",
          node_count(mesh), " nodes");
  const View view(mesh);
  const auto position = [&](const std::array<double, 3>& f) {
    BoxPosition p{};
    for (std::size_t d = 0; d < 3; ++d) {
      const Axis& axis = mesh.axis(static_cast<int>(d));
      p[d] = axis.origin() + f[d] * axis.length();
    }
    return p;
  };
  const int width = view.width(), height = view.height(), right = width - panel_room;
  std::vector<double> values(static_cast<std::size_t>(right) * static_cast<std::size_t>(height),
                             std::numeric_limits<double>::quiet_NaN());
  bool is_finite = true;
  for (int j = 0; j < height; ++j)
    for (int i = 0; i < right; ++i) {
      std::array<double, 3> f{};
      if (!view.fractions(i, j, f)) continue;
      const auto found = locate(mesh, position(f));
      double& value =
          values[static_cast<std::size_t>(j) * static_cast<std::size_t>(right) + static_cast<std::size_t>(i)];
      if (found) value = value_at(mesh, nodal, *found);
      is_finite = is_finite && std::isfinite(value);
    }
  expects(is_finite, "no picture shows values that are not finite");
  Canvas canvas(width, height);
  const auto range = range_of(values);
  paint(canvas, 0, 0, right, height, values, colours(range));
  constexpr std::array<double, 3> corner{1, 1, 0};  // of all three faces
  for (std::size_t d = 0; d < 3; ++d) {
    auto to = corner;
    to[d] = 1 - to[d];
    line(canvas, view, corner, to);
    for (std::size_t e = 0; e < 3; ++e)
      if (e != d) {
        auto around = to;
        around[e] = 1 - around[e];
        line(canvas, view, to, around);
      }
  }
  // Coordinates at both ends of the three lowest edges in sight, the name between.
  const auto label = [&](int d, std::array<double, 3> f, Canvas::Anchor anchor, int dx, int dy) {
    const Axis& axis = mesh.axis(d);
    const double first = axis.origin(), last = axis.origin() + axis.length();
    for (const double at : {0.0, 0.5, 1.0}) {
      f[static_cast<std::size_t>(d)] = at;
      const std::string words = at == 0.5 ? std::string(1, "xyz"[d]) : coordinate(at == 0 ? first : last, first, last);
      canvas.text(static_cast<int>(view.column(f)) + dx, static_cast<int>(view.row(f)) + dy, words, anchor);
    }
  };
  label(0, {0, 0, 0}, Canvas::Anchor::centre, -8, -axis_room / 2);
  label(1, {0, 0, 0}, Canvas::Anchor::right, -2 * tick, 2 * tick);
  label(2, {1, 0, 0}, Canvas::Anchor::left, 3 * tick, -tick);
  canvas.text(label_room, height - title_room / 2, title, Canvas::Anchor::left, 17);
  legend(canvas, right + legend_gap, axis_room, height - axis_room - title_room, range);
  write_whole_text(path, canvas.png());
}

#else

void write_png(const std::string& path, const TensorMesh<3>& /*mesh*/, std::span<const double> /*nodal*/,
               const std::string& /*title*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK that draws (Debian: libvtk9-dev)"));
}

#endif

}  // namespace stratum
