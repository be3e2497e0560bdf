#include <stratum/assembly/picture.hpp>

#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>

#if defined(STRATUM_HAVE_PICTURES)
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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

/// Quadrilaterals of a mesh with the values at their south-west, south-east, north-west and north-east corners.
using CellVisitor = std::function<void(const Quadrilateral&, const std::array<double, 4>&)>;
using CellSource = std::function<void(const CellVisitor&)>;

CellSource cells_of(const MappedMesh& mesh, std::span<const double> nodal) {
  return [&mesh, nodal](const CellVisitor& visit) {
    const auto columns = static_cast<std::size_t>(mesh.logical().x().size()) + 1;
    for (int j = 0; j < mesh.logical().y().size(); ++j)
      for (int i = 0; i < mesh.logical().x().size(); ++i) {
        if (nodal.empty()) {
          visit(mesh.cell(i, j), {});
          continue;
        }
        const double* const south = &nodal[static_cast<std::size_t>(j) * columns + static_cast<std::size_t>(i)];
        const double* const north = south + columns;
        visit(mesh.cell(i, j), {south[0], south[1], north[0], north[1]});
      }
  };
}

CellSource cells_of(const PatchMesh& mesh, std::span<const std::vector<double>> nodal) {
  return [&mesh, nodal](const CellVisitor& visit) {
    for (int p = 0; p < mesh.patches(); ++p) {
      const PatchNodes nodes = mesh.nodes_of(p);
      const auto& values = nodal[static_cast<std::size_t>(p)];
      for (int j = 0; j < nodes.ny; ++j)
        for (int i = 0; i < nodes.nx; ++i) {
          const auto sw = nodes.node(i, j), nw = nodes.node(i, j + 1);
          visit({nodes.at[sw], nodes.at[sw + 1], nodes.at[nw], nodes.at[nw + 1]},
                {values[sw], values[sw + 1], values[nw], values[nw + 1]});
        }
    }
  };
}

void clear(Raster& raster) {
  raster.values.assign(static_cast<std::size_t>(raster.width) * static_cast<std::size_t>(raster.height),
                       std::numeric_limits<double>::quiet_NaN());
}

void fill(Raster& raster, const CellSource& cells) {
  clear(raster);
  constexpr double edge = 1e-9;
  cells([&](const Quadrilateral& cell, const std::array<double, 4>& values) {
    const std::array<Position, 5> corners{cell.sw, cell.se, cell.ne, cell.nw, cell.sw};
    const auto [y0, y1] = std::minmax({cell.sw.y, cell.se.y, cell.nw.y, cell.ne.y});
    const auto [low, high] = Raster::between(raster.row_of(y0), raster.row_of(y1), raster.height);
    for (int j = low; j <= high; ++j) {
      const double y = raster.y_of(j + 0.5);
      // Where the row of pixels enters and leaves the cell.
      double x0 = HUGE_VAL, x1 = -HUGE_VAL;
      for (std::size_t k = 0; k < 4; ++k) {
        const Position &from = corners[k], &to = corners[k + 1];
        if (std::min(from.y, to.y) > y || std::max(from.y, to.y) < y) continue;
        const double at = from.y == to.y ? 0 : (y - from.y) / (to.y - from.y), x = from.x + at * (to.x - from.x);
        x0 = std::min({x0, x, from.y == to.y ? to.x : x});
        x1 = std::max({x1, x, from.y == to.y ? to.x : x});
      }
      if (!(x0 <= x1)) continue;
      constexpr double margin = 1e-3;  // of a pixel
      const auto [left, right] =
          Raster::between(raster.column_of(x0) - margin, raster.column_of(x1) + margin, raster.width);
      for (int i = left; i <= right; ++i) {
        const auto found = fractions_of(cell, {raster.x_of(i + 0.5), y});
        if (!found) continue;
        const auto [t, s] = *found;
        if (t >= -edge && t <= 1 + edge && s >= -edge && s <= 1 + edge)
          raster.at(i, j) = (1 - s) * ((1 - t) * values[0] + t * values[1]) + s * ((1 - t) * values[2] + t * values[3]);
      }
    }
  });
}

void fill(Raster& raster, const Geometry& mesh, std::span<const double> nodal) {
  clear(raster);
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
  fill(raster, cells_of(*mesh.mapped(), nodal));
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

/// A square around the thinnest quadrilateral.
std::optional<Raster> thin_window(const CellSource& cells, const Raster& whole, int side) {
  // Of cells that are as thin, the smallest: a corner, not a wall.
  constexpr double alike = 1 + 1e-6;
  double thinnest = HUGE_VAL, other = HUGE_VAL, widest = 0;
  Position middle;
  cells([&](const Quadrilateral& cell, const std::array<double, 4>& /*values*/) {
    const auto between = [](const Position& a, const Position& b) { return std::hypot(b.x - a.x, b.y - a.y); };
    const auto [small, large] =
        std::minmax({between(cell.at(0, 0.5), cell.at(1, 0.5)), between(cell.at(0.5, 0), cell.at(0.5, 1))});
    widest = std::max(widest, large);
    if (small >= alike * thinnest || (small * alike >= thinnest && large >= other)) return;
    thinnest = small;
    other = large;
    middle = cell.at(0.5, 0.5);
  });
  if (!(widest > 2 * thinnest)) return std::nullopt;
  const double half = std::min({20 * thinnest, (whole.x1 - whole.x0) / 2, (whole.y1 - whole.y0) / 2});
  middle.x = std::clamp(middle.x, whole.x0 + half, whole.x1 - half);
  middle.y = std::clamp(middle.y, whole.y0 + half, whole.y1 - half);
  return Raster{middle.x - half, middle.x + half, middle.y - half, middle.y + half, side, side};
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
  return thin_window(cells_of(*mesh.mapped(), {}), whole, side);
}

/// A line between two points, as far as it lies in the raster.
void draw_line(Canvas& canvas, int left, int bottom, const Raster& raster, const Position& from, const Position& to,
               const Colour& colour, double opacity) {
  const double i0 = raster.column_of(from.x), i1 = raster.column_of(to.x), j0 = raster.row_of(from.y),
               j1 = raster.row_of(to.y);
  const double pixels = std::max(std::abs(i1 - i0), std::abs(j1 - j0));
  constexpr double most = 1e5;
  if (!(pixels >= 1 && pixels < most)) return;
  for (int k = 0; k < static_cast<int>(pixels); ++k) {
    const double i = i0 + (i1 - i0) * k / pixels, j = j0 + (j1 - j0) * k / pixels;
    if (i >= 0 && i < raster.width && j >= 0 && j < raster.height)
      canvas.blend(left + static_cast<int>(i), bottom + static_cast<int>(j), colour, opacity);
  }
}

/// Edges of quadrilaterals that are some pixels wide.
void draw_mesh(Canvas& canvas, int left, int bottom, const Raster& raster, const CellSource& cells) {
  constexpr double apart = 6, opacity = 0.45;
  const double per_pixel = (raster.x1 - raster.x0) / raster.width;
  cells([&](const Quadrilateral& cell, const std::array<double, 4>& /*values*/) {
    const auto between = [&](const Position& a, const Position& b) {
      return std::hypot(a.x - b.x, a.y - b.y) / per_pixel;
    };
    if (between(cell.at(0, 0.5), cell.at(1, 0.5)) >= apart)
      draw_line(canvas, left, bottom, raster, cell.sw, cell.nw, mesh_line, opacity);
    if (between(cell.at(0.5, 0), cell.at(0.5, 1)) >= apart)
      draw_line(canvas, left, bottom, raster, cell.sw, cell.se, mesh_line, opacity);
  });
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
  draw_mesh(canvas, left, bottom, raster, cells_of(*mesh.mapped(), {}));
}

/// Longer side `side` pixels long, the other to scale unless it is less than a third.
Raster raster_of(double x0, double x1, double y0, double y1, int side) {
  constexpr double most = 3;
  const double ratio = std::clamp((x1 - x0) / (y1 - y0), 1 / most, most);
  const auto pixels = [side](double part) { return static_cast<int>(std::lround(side * part)); };
  return {x0, x1, y0, y1, pixels(std::min(ratio, 1.0)), pixels(std::min(1 / ratio, 1.0))};
}

/// The whole domain.
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
  return raster_of(x0, x1, y0, y1, side);
}

Raster whole_domain(const PatchMesh& mesh, int side) {
  double x0 = HUGE_VAL, x1 = -HUGE_VAL, y0 = HUGE_VAL, y1 = -HUGE_VAL;
  for (int p = 0; p < mesh.patches(); ++p)
    for (const auto& [x, y] : mesh.nodes_of(p).at) {
      x0 = std::min(x0, x);
      x1 = std::max(x1, x);
      y0 = std::min(y0, y);
      y1 = std::max(y1, y);
    }
  return raster_of(x0, x1, y0, y1, side);
}

/// The edges of patches, on the whole domain.
void draw_patches(Canvas& canvas, int left, int bottom, const Raster& raster, const PatchMesh& mesh) {
  constexpr double opacity = 0.6;
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    // From node to node as far as they are pixels apart.
    const auto stroke = [&](int count, const auto& node) {
      Position from = nodes.at[node(0)];
      for (int k = 1; k <= count; ++k) {
        const Position to = nodes.at[node(k)];
        if (k < count && std::abs(raster.column_of(to.x) - raster.column_of(from.x)) < 1 &&
            std::abs(raster.row_of(to.y) - raster.row_of(from.y)) < 1)
          continue;
        draw_line(canvas, left, bottom, raster, from, to, {255, 255, 255}, opacity);
        from = to;
      }
    };
    for (const int j : {0, nodes.ny}) stroke(nodes.nx, [&](int i) { return nodes.node(i, j); });
    for (const int i : {0, nodes.nx}) stroke(nodes.ny, [&](int j) { return nodes.node(i, j); });
  }
}

void expects_finite(std::span<const double> nodal) {
  // Nodes of solids have no value.
  expects(std::none_of(nodal.begin(), nodal.end(), [](double value) { return std::isinf(value); }),
          "no picture shows values that are not finite");
}

constexpr int side = 560, least_side = 320;

/// What is drawn on a panel whose lower left corner is there.
using Drawing = std::function<void(Canvas&, int left, int bottom, const Raster&)>;

/// The whole domain, and the window beside it, which may be none.
void write_panels(const std::string& path, const std::string& title, const std::pair<double, double>& range,
                  Raster& whole, std::optional<Raster>& window, const Drawing& draw_whole, const Drawing& draw_window) {
  const int height = std::max(whole.height, window ? window->height : 0);
  const int second = label_room + whole.width + panel_room + label_room;
  Canvas canvas(window ? second + window->width + panel_room : second - label_room, axis_room + height + title_room);
  const int bottom = axis_room;
  panel(canvas, label_room, bottom + (height - whole.height), whole, range, title);
  draw_whole(canvas, label_room, bottom + (height - whole.height), whole);
  if (window) {
    panel(canvas, second, bottom + (height - window->height), *window, range_of(window->values),
          "where cells are thinnest");
    draw_window(canvas, second, bottom + (height - window->height), *window);
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

}  // namespace

bool pictures_available() { return true; }

void write_png(const std::string& path, const Geometry& mesh, std::span<const double> nodal, const std::string& title) {
  expects_nodal(mesh, nodal);
  expects_finite(nodal);
  Raster whole = whole_domain(mesh, side);
  fill(whole, mesh, nodal);
  auto window = thin_window(mesh, whole, std::max(least_side, whole.height));
  if (window) fill(*window, mesh, nodal);
  write_panels(
      path, title, range_of(nodal), whole, window, [](Canvas&, int, int, const Raster&) {},
      [&](Canvas& canvas, int left, int bottom, const Raster& raster) {
        draw_mesh(canvas, left, bottom, raster, mesh);
      });
}

void write_png(const std::string& path, const PatchMesh& mesh, std::span<const std::vector<double>> nodal,
               const std::string& title) {
  expects(nodal.size() == static_cast<std::size_t>(mesh.patches()), "a mesh of ", mesh.patches(),
          " patches has values on as many, not on ", nodal.size());
  std::pair<double, double> range{HUGE_VAL, -HUGE_VAL};
  for (int p = 0; p < mesh.patches(); ++p) {
    const auto& values = nodal[static_cast<std::size_t>(p)];
    const auto nodes = (std::int64_t{mesh.cells_x(p)} + 1) * (std::int64_t{mesh.cells_y(p)} + 1);
    expects(static_cast<std::int64_t>(values.size()) == nodes, "patch ", p, " has ", nodes, " nodes, not ",
            values.size());
    expects_finite(values);
    const auto [low, high] = range_of(values);
    range = {std::min(range.first, low), std::max(range.second, high)};
  }
  const CellSource cells = cells_of(mesh, nodal);
  Raster whole = whole_domain(mesh, side);
  fill(whole, cells);
  auto window = thin_window(cells, whole, std::max(least_side, whole.height));
  if (window) fill(*window, cells);
  write_panels(
      path, title, range, whole, window,
      [&](Canvas& canvas, int left, int bottom, const Raster& raster) {
        draw_patches(canvas, left, bottom, raster, mesh);
      },
      [&](Canvas& canvas, int left, int bottom, const Raster& raster) {
        draw_mesh(canvas, left, bottom, raster, cells);
      });
}

#else

bool pictures_available() { return false; }

void write_png(const std::string& path, const Geometry& /*mesh*/, std::span<const double> /*nodal*/,
               const std::string& /*title*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK that draws (Debian: libvtk9-dev)"));
}

void write_png(const std::string& path, const PatchMesh& /*mesh*/, std::span<const std::vector<double>> /*nodal*/,
               const std::string& /*title*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK that draws (Debian: libvtk9-dev)"));
}

#endif

}  // namespace stratum
