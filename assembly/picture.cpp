#include <stratum/assembly/picture.hpp>

#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>

#if defined(STRATUM_HAVE_PICTURES)
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <stratum/assembly/picture_canvas.hpp>
#include <stratum/assembly/point_values.hpp>
#include <stratum/core/io/output_file.hpp>
#endif

namespace stratum {

#if defined(STRATUM_HAVE_PICTURES)

namespace {

using namespace detail;

/// Part of the domain on pixels; NaN outside the mesh.
struct Raster {
  double x0, x1, y0, y1;
  int width, height;
  std::vector<double> values{};

  [[nodiscard]] double x_of(double column) const { return x0 + (x1 - x0) * column / width; }
  [[nodiscard]] double y_of(double row) const { return y0 + (y1 - y0) * row / height; }
  [[nodiscard]] double column_of(double x) const { return (x - x0) / (x1 - x0) * width; }
  [[nodiscard]] double row_of(double y) const { return (y - y0) / (y1 - y0) * height; }
  double& at(int column, int row) {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column)];
  }
  /// Pixels whose middles lie between two columns (or rows) of doubles.
  [[nodiscard]] static std::pair<int, int> between(double first, double last, int count) {
    const double low = std::clamp(std::ceil(first - 0.5), 0.0, static_cast<double>(count)),
                 high = std::clamp(std::floor(last - 0.5), -1.0, static_cast<double>(count - 1));
    return {static_cast<int>(low), static_cast<int>(high)};
  }
};

void fill(Raster& raster, const Geometry& mesh, std::span<const double> nodal) {
  raster.values.assign(static_cast<std::size_t>(raster.width) * static_cast<std::size_t>(raster.height),
                       std::numeric_limits<double>::quiet_NaN());
  const TensorMesh<2>& logical = mesh.logical();
  if (mesh.mapped() == nullptr) {
    std::vector<std::optional<std::pair<int, double>>> columns;
    // The outer pixels show what is on the window's edges.
    const auto spread = [](int k, int count) { return static_cast<double>(k) * count / (count - 1); };
    for (int i = 0; i < raster.width; ++i)
      columns.push_back(interval_of(logical.x(), raster.x_of(spread(i, raster.width))));
    for (int j = 0; j < raster.height; ++j) {
      const auto y = interval_of(logical.y(), raster.y_of(spread(j, raster.height)));
      for (int i = 0; i < raster.width; ++i)
        if (const auto& x = columns[static_cast<std::size_t>(i)]; x && y)
          raster.at(i, j) = value_at(mesh, nodal, {x->first, y->first, x->second, y->second});
    }
    return;
  }
  constexpr double edge = 1e-9;
  for (int q = 0; q < logical.y().size(); ++q)
    for (int p = 0; p < logical.x().size(); ++p) {
      const Quadrilateral cell = mesh.mapped()->cell(p, q);
      const auto [x0, x1] = std::minmax({cell.sw.x, cell.se.x, cell.nw.x, cell.ne.x});
      const auto [y0, y1] = std::minmax({cell.sw.y, cell.se.y, cell.nw.y, cell.ne.y});
      const auto [left, right] = Raster::between(raster.column_of(x0), raster.column_of(x1), raster.width);
      const auto [low, high] = Raster::between(raster.row_of(y0), raster.row_of(y1), raster.height);
      for (int j = low; j <= high; ++j)
        for (int i = left; i <= right; ++i) {
          const auto found = fractions_of(cell, {raster.x_of(i + 0.5), raster.y_of(j + 0.5)});
          if (!found) continue;
          const auto [t, s] = *found;
          if (t >= -edge && t <= 1 + edge && s >= -edge && s <= 1 + edge)
            raster.at(i, j) = value_at(mesh, nodal, {p, q, t, s});
        }
    }
}

/// A raster with its frame, axes, title and legend, its lower left corner there.
void panel(Canvas& canvas, int left, int bottom, Raster& raster, const std::pair<double, double>& range,
           const std::string& title) {
  const int right = left + raster.width, top = bottom + raster.height;
  const auto table = colours(range);
  paint(canvas, left, bottom, raster.width, raster.height, raster.values, table);
  canvas.box(left - 1, bottom - 1, right, top, ink);
  canvas.text(left, top + title_room / 2, title, Canvas::Anchor::left, 17);
  for (int k = 0; k <= 2; ++k) {
    const int x = left + k * (raster.width - 1) / 2, y = bottom + k * (raster.height - 1) / 2;
    canvas.vertical(x, bottom - 1 - tick, bottom - 1, ink);
    canvas.text(x, bottom - axis_room / 2, coordinate(raster.x_of(k * raster.width / 2.0), raster.x0, raster.x1),
                Canvas::Anchor::centre);
    canvas.horizontal(left - 1 - tick, left - 1, y, ink);
    canvas.text(left - 2 - 2 * tick, y, coordinate(raster.y_of(k * raster.height / 2.0), raster.y0, raster.y1),
                Canvas::Anchor::right);
  }
  legend(canvas, right + legend_gap, bottom, raster.height, range);
}

bool is_graded(const Axis& line) {
  const auto [thinnest, widest] = std::minmax_element(line.widths().begin(), line.widths().end());
  return *widest > 2 * *thinnest;
}

/// The quarter of all intervals that is shortest, at an end of the line if it may; of an even line the quarter in its middle.
std::pair<double, double> thin_part(const Axis& line) {
  const int count = std::max(1, line.size() / 4), last = line.size() - count;
  const auto& nodes = line.from_begin();
  const auto& from_end = line.from_end();
  const auto length = [&](int first) {
    const auto k = static_cast<std::size_t>(first), l = static_cast<std::size_t>(first + count);
    return std::max(nodes[l] - nodes[k], from_end[k] - from_end[l]);  // one of them keeps the digits
  };
  int first = line.size() / 2 - count / 2;
  if (is_graded(line)) {
    first = 0;
    constexpr double alike = 1e-6;
    if (length(last) < (1 - alike) * length(first)) first = last;
    for (int k = 1; k < last; ++k)
      if (length(k) < (1 - alike) * length(first)) first = k;
  }
  return {line.origin() + nodes[static_cast<std::size_t>(first)],
          line.origin() + nodes[static_cast<std::size_t>(first + count)]};
}

/// The window of the enlarged panel, where there is one, within `whole`.
std::optional<Raster> thin_window(const Geometry& mesh, const Raster& whole, int side) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  if (mesh.mapped() == nullptr) {
    if (!is_graded(x) && !is_graded(y)) return std::nullopt;
    const auto [x0, x1] = thin_part(x);
    const auto [y0, y1] = thin_part(y);
    if (!(x1 > x0) || !(y1 > y0)) return std::nullopt;  // no coordinates tell them apart
    return Raster{x0, x1, y0, y1, side, side};
  }
  double thinnest = HUGE_VAL, widest = 0;
  Position middle;
  for (int j = 0; j < y.size(); ++j)
    for (int i = 0; i < x.size(); ++i) {
      const Quadrilateral cell = mesh.mapped()->cell(i, j);
      for (const auto& [a, b] : {std::pair{cell.at(0, 0.5), cell.at(1, 0.5)}, {cell.at(0.5, 0), cell.at(0.5, 1)}}) {
        const double width = std::hypot(b.x - a.x, b.y - a.y);
        widest = std::max(widest, width);
        if (width >= thinnest) continue;
        thinnest = width;
        middle = cell.at(0.5, 0.5);
      }
    }
  if (!(widest > 2 * thinnest)) return std::nullopt;
  const double half = std::min({20 * thinnest, (whole.x1 - whole.x0) / 2, (whole.y1 - whole.y0) / 2});
  middle.x = std::clamp(middle.x, whole.x0 + half, whole.x1 - half);
  middle.y = std::clamp(middle.y, whole.y0 + half, whole.y1 - half);
  return Raster{middle.x - half, middle.x + half, middle.y - half, middle.y + half, side, side};
}

/// Edges of cells that are some pixels wide.
void draw_mesh(Canvas& canvas, int left, int bottom, const Raster& raster, const Geometry& mesh) {
  constexpr double apart = 6, opacity = 0.45;
  const TensorMesh<2>& logical = mesh.logical();
  if (mesh.mapped() == nullptr) {
    const auto draw = [&](const Axis& line, const auto& pixel_of, const auto& stroke) {
      const auto nodes = line.coordinates();
      for (std::size_t k = 1; k + 1 < nodes.size(); ++k) {
        const double pixel = pixel_of(nodes[k]);
        if (pixel - pixel_of(nodes[k - 1]) >= apart || pixel_of(nodes[k + 1]) - pixel >= apart) stroke(pixel);
      }
    };
    draw(
        logical.x(), [&](double x) { return raster.column_of(x); },
        [&](double i) {
          if (i > 0 && i < raster.width)
            canvas.vertical(left + static_cast<int>(i), bottom, bottom + raster.height - 1, mesh_line, opacity);
        });
    draw(
        logical.y(), [&](double y) { return raster.row_of(y); },
        [&](double j) {
          if (j > 0 && j < raster.height)
            canvas.horizontal(left, left + raster.width - 1, bottom + static_cast<int>(j), mesh_line, opacity);
        });
    return;
  }
  const auto stroke = [&](const Position& from, const Position& to) {
    const double i0 = raster.column_of(from.x), i1 = raster.column_of(to.x), j0 = raster.row_of(from.y),
                 j1 = raster.row_of(to.y);
    const double pixels = std::max(std::abs(i1 - i0), std::abs(j1 - j0));
    constexpr double most = 1e5;
    if (!(pixels >= 1 && pixels < most)) return;
    for (int k = 0; k < static_cast<int>(pixels); ++k) {
      const double i = i0 + (i1 - i0) * k / pixels, j = j0 + (j1 - j0) * k / pixels;
      if (i >= 0 && i < raster.width && j >= 0 && j < raster.height)
        canvas.blend(left + static_cast<int>(i), bottom + static_cast<int>(j), mesh_line, opacity);
    }
  };
  const double per_pixel = (raster.x1 - raster.x0) / raster.width;
  for (int j = 0; j < logical.y().size(); ++j)
    for (int i = 0; i < logical.x().size(); ++i) {
      const Quadrilateral cell = mesh.mapped()->cell(i, j);
      const auto between = [&](const Position& a, const Position& b) {
        return std::hypot(a.x - b.x, a.y - b.y) / per_pixel;
      };
      if (between(cell.at(0, 0.5), cell.at(1, 0.5)) >= apart) stroke(cell.sw, cell.nw);
      if (between(cell.at(0.5, 0), cell.at(0.5, 1)) >= apart) stroke(cell.sw, cell.se);
    }
}

/// The whole domain, its longer side `side` pixels long.
Raster whole_domain(const Geometry& mesh, int side) {
  double x0 = HUGE_VAL, x1 = -HUGE_VAL, y0 = HUGE_VAL, y1 = -HUGE_VAL;
  const auto visit = [&](const Point& p) {
    x0 = std::min(x0, p.x);
    x1 = std::max(x1, p.x);
    y0 = std::min(y0, p.y);
    y1 = std::max(y1, p.y);
  };
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  for (int i = 0; i <= nx; ++i)
    for (const int j : {0, ny}) visit(mesh.node(i, j));
  for (int j = 0; j <= ny; ++j)
    for (const int i : {0, nx}) visit(mesh.node(i, j));
  constexpr double most = 3;
  const double ratio = std::clamp((x1 - x0) / (y1 - y0), 1 / most, most);
  const auto pixels = [side](double part) { return static_cast<int>(std::lround(side * part)); };
  return {x0, x1, y0, y1, pixels(std::min(ratio, 1.0)), pixels(std::min(1 / ratio, 1.0))};
}

}  // namespace

bool pictures_available() { return true; }

void write_png(const std::string& path, const Geometry& mesh, std::span<const double> nodal, const std::string& title) {
  expects_nodal(mesh, nodal);
  expects(std::all_of(nodal.begin(), nodal.end(), [](double value) { return std::isfinite(value); }),
          "no picture shows values that are not finite");
  constexpr int side = 560, least = 320;
  Raster whole = whole_domain(mesh, side);
  fill(whole, mesh, nodal);
  auto window = thin_window(mesh, whole, std::max(least, whole.height));
  const int height = std::max(whole.height, window ? window->height : 0);
  const int second = label_room + whole.width + panel_room + label_room;
  Canvas canvas(window ? second + window->width + panel_room : second - label_room, axis_room + height + title_room);
  const int bottom = axis_room;
  panel(canvas, label_room, bottom + (height - whole.height), whole, range_of(nodal), title);
  if (window) {
    fill(*window, mesh, nodal);
    panel(canvas, second, bottom + (height - window->height), *window, range_of(window->values),
          "where cells are thinnest");
    draw_mesh(canvas, second, bottom + (height - window->height), *window, mesh);
    // Where it is, not smaller than can be seen.
    const auto edges = [](double first, double last, int count) {
      const double middle = (first + last) / 2, half = std::max((last - first) / 2, 4.0);
      return std::pair{static_cast<int>(std::max(0.0, middle - half)),
                       static_cast<int>(std::min(count - 1.0, middle + half))};
    };
    const auto [x0, x1] = edges(whole.column_of(window->x0), whole.column_of(window->x1), whole.width);
    const auto [y0, y1] = edges(whole.row_of(window->y0), whole.row_of(window->y1), whole.height);
    const int base = bottom + (height - whole.height);
    canvas.box(label_room + x0, base + y0, label_room + x1, base + y1, frame);
    canvas.box(second - 1, bottom + (height - window->height) - 1, second + window->width, bottom + height, frame);
  }
  write_whole_text(path, canvas.png());
}

#else

bool pictures_available() { return false; }

void write_png(const std::string& path, const Geometry& /*mesh*/, std::span<const double> /*nodal*/,
               const std::string& /*title*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK that draws (Debian: libvtk9-dev)"));
}

#endif

}  // namespace stratum
