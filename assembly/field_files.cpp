#include <stratum/assembly/field_files.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

using On = FileValues::On;

/// Numbers in one direction: which of them a point takes, and how much of each.
class FileLine {
 public:
  struct Share {
    std::size_t number = 0;
    double weight = 1;
  };

  /// One number for all points.
  FileLine() = default;
  /// `cells` of them, each so many intervals of the axis.
  FileLine(On on, int cells, const Axis& axis) : on_(on), cells_(cells) {
    const int parts = axis.size() / cells;
    if (on == On::nodes)
      for (int k = 0; k <= cells; ++k) {
        begins_.push_back(axis.from_begin()[static_cast<std::size_t>(k * parts)]);
        ends_.push_back(axis.from_end()[static_cast<std::size_t>(k * parts)]);
      }
  }

  [[nodiscard]] std::array<Share, 2> at(double place, double from_begin, double from_end) const {
    if (on_ == On::unsaid) return {{{0, 1}, {0, 0}}};
    constexpr double rounding = 1e-9;  // of a cell
    const double among = place * cells_;
    const auto last = static_cast<std::size_t>(cells_) - 1;
    const auto k = std::min(static_cast<std::size_t>(std::max(among, 0.0)), last);
    if (on_ == On::nodes) {
      const double t = std::clamp(fraction(k, among, from_begin, from_end), 0.0, 1.0);
      return {{{k, 1 - t}, {k + 1, t}}};
    }
    const double side = std::round(among);
    const auto right = static_cast<std::size_t>(std::max(side, 0.0));
    if (std::abs(among - side) > rounding || right == 0 || right > last) return {{{k, 1}, {k, 0}}};
    return {{{right - 1, 0.5}, {right, 0.5}}};
  }

 private:
  /// By the distance to the nearer end, which knows the thinnest cells; of a deformed mesh, whose points have none, by numbers.
  [[nodiscard]] double fraction(std::size_t k, double among, double from_begin, double from_end) const {
    if (std::isnan(from_begin)) return among - static_cast<double>(k);
    if (from_begin <= from_end) return (from_begin - begins_[k]) / (begins_[k + 1] - begins_[k]);
    return 1 - (from_end - ends_[k + 1]) / (ends_[k] - ends_[k + 1]);
  }

  On on_ = On::unsaid;
  int cells_ = 1;
  std::vector<double> begins_, ends_;  // of nodes
};

/// A file's numbers at points.
struct FileFunction {
  struct Numbers {
    FileLine x, y;
    std::size_t columns;
    std::vector<double> values;
  };
  std::shared_ptr<const Numbers> numbers;  // of all threads' copies

  double operator()(const Point& p) const {
    if (std::isnan(p.place_x) || std::isnan(p.place_y)) return std::nan("");  // a point of no mesh
    const auto in_x = numbers->x.at(p.place_x, p.to_left, p.to_right),
               in_y = numbers->y.at(p.place_y, p.to_bottom, p.to_top);
    double sum = 0;
    for (const auto& [j, weight_y] : in_y)
      for (const auto& [i, weight_x] : in_x)
        if (weight_x * weight_y != 0) sum += weight_x * weight_y * numbers->values[j * numbers->columns + i];
    return sum;
  }
};

/// Cells of the file in a direction with so many numbers; 0: they do not fit.
int cells_of(On on, int numbers, int cells) {
  const int given = on == On::nodes ? numbers - 1 : numbers;
  return parts_of(cells, given) > 0 ? given : 0;
}

const std::vector<double>& only_component(const FileValues& numbers) {
  expects(numbers.components.size() == 1, "'", numbers.from, "' has ", numbers.components.size(),
          " numbers at a place, one is needed here");
  return numbers.components.front();
}

/// Of one direction; unsaid where they fit neither.
On lies_on_line(On said, int numbers, const Axis& axis) {
  for (const On on : {On::cells, On::nodes})
    if ((said == On::unsaid || said == on) && cells_of(on, numbers, axis.size()) > 0) return on;
  return On::unsaid;
}

}  // namespace

On lies_on(const FileValues& numbers, const TensorMesh<2>& mesh) {
  if (numbers.dimensions != 2) return On::unsaid;
  const int nx = mesh.x().size(), ny = mesh.y().size();
  for (const On on : {On::cells, On::nodes}) {
    const int in_x = parts_of(nx, on == On::nodes ? numbers.columns - 1 : numbers.columns),
              in_y = parts_of(ny, on == On::nodes ? numbers.rows - 1 : numbers.rows);
    // Few numbers are soon taken for nodes that are meant to be cells of another mesh.
    const bool fits = in_x > 0 && in_y > 0 && (on == On::cells || in_x == in_y);
    if (fits && (numbers.on == On::unsaid || numbers.on == on)) return on;
  }
  return On::unsaid;
}

ScalarFunction function_of(FileValues numbers, const TensorMesh<2>& mesh) {
  const On on = lies_on(numbers, mesh);
  const int nx = mesh.x().size(), ny = mesh.y().size();
  const auto& values = only_component(numbers);
  expects(on != On::unsaid, "'", numbers.from, "' has ", numbers.columns, " x ", numbers.rows, " numbers",
          numbers.on == On::cells   ? " on cells"
          : numbers.on == On::nodes ? " on nodes"
                                    : "",
          ", and the mesh has ", nx, " x ", ny, " cells and ", nx + 1, " x ", ny + 1,
          " nodes: numbers on cells or nodes of the mesh, or of one that it refines by halving, are needed, for ",
          coarser_counts(nx), " cells in x and ", coarser_counts(ny), " in y");
  const FileLine x(on, cells_of(on, numbers.columns, nx), mesh.x()), y(on, cells_of(on, numbers.rows, ny), mesh.y());
  return FileFunction{std::make_shared<const FileFunction::Numbers>(
      FileFunction::Numbers{x, y, static_cast<std::size_t>(numbers.columns), values})};
}

ScalarFunction function_of(FileValues numbers, const TensorMesh<2>& mesh, const BoundaryPlace& boundary) {
  const bool row = numbers.rows == 1, column = numbers.columns == 1;
  const bool is_line = numbers.dimensions == 1 || (numbers.on == On::unsaid && (row || column));
  if (!is_line) return function_of(std::move(numbers), mesh);
  const Axis& axis = boundary.along == Direction::x ? mesh.x() : mesh.y();
  const int count = std::max(numbers.columns, numbers.rows);
  const On on = lies_on_line(On::unsaid, count, axis);
  expects(on != On::unsaid, "'", numbers.from, "' has ", count, " numbers along a boundary that has ", axis.size(),
          " intervals and ", axis.size() + 1,
          " nodes: numbers on intervals or nodes of the mesh, or of one that it refines by halving, are needed, for ",
          coarser_counts(axis.size()), " intervals");
  const FileLine line(on, cells_of(on, count, axis.size()), axis), none;
  const bool along_x = boundary.along == Direction::x;
  return FileFunction{std::make_shared<const FileFunction::Numbers>(
      FileFunction::Numbers{along_x ? line : none, along_x ? none : line, along_x ? static_cast<std::size_t>(count) : 1,
                            only_component(numbers)})};
}

}  // namespace stratum
