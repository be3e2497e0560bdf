#include <stratum/mesh/patches/feat3.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/text_file.hpp>
#include <stratum/mesh/patches/patch_text.hpp>

namespace stratum {

namespace {

/// An element of the file: its own lines of text, and what is in it.
struct Tag {
  std::string name;
  std::map<std::string, std::string> attributes;
  bool opens = false, closes = false;

  [[nodiscard]] std::string attribute(const std::string& of) const {
    const auto found = attributes.find(of);
    return found == attributes.end() ? "" : found->second;
  }
};

double distance(const Position& p, const Position& q) { return std::hypot(p.x - q.x, p.y - q.y); }

/// A row of Bezier segments, each from its first point by way of control points to its last; parameters of their ends.
struct BezierCurve {
  std::vector<std::vector<Position>> segments{};
  std::vector<double> params{};
  bool closed = false;

  [[nodiscard]] double period() const { return params.back() - params.front(); }
  [[nodiscard]] std::size_t segment_of(double t) const {
    const auto next = std::upper_bound(params.begin() + 1, params.end() - 1, t);
    return static_cast<std::size_t>(next - params.begin()) - 1;
  }
  [[nodiscard]] Position on_segment(std::size_t k, double u) const {
    std::vector<Position> points = segments[k];  // de Casteljau
    for (std::size_t n = points.size() - 1; n > 0; --n)
      for (std::size_t i = 0; i < n; ++i)
        points[i] = {(1 - u) * points[i].x + u * points[i + 1].x, (1 - u) * points[i].y + u * points[i + 1].y};
    return points[0];
  }
  [[nodiscard]] Position at(double t) const {
    if (closed && t > params.back()) t -= period();
    if (closed && t < params.front()) t += period();
    const std::size_t k = segment_of(t);
    return on_segment(k, (t - params[k]) / (params[k + 1] - params[k]));
  }
  /// The curve between these parameters is a straight line.
  [[nodiscard]] bool is_straight(double from, double to) const {
    const double low = std::min(from, to), high = std::max(from, to);
    if (low < params.front() || high > params.back()) return false;
    const std::size_t k = segment_of(low);
    return segments[k].size() == 2 && high <= params[k + 1];
  }
  /// The parameter of the point of the curve that is closest, near enough for a vertex that lies on it.
  [[nodiscard]] double closest(const Position& p) const {
    constexpr int samples = 64, halvings = 60;
    double best = params.front(), least = HUGE_VAL;
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const auto gap = [&](double u) { return distance(on_segment(k, u), p); };
      double u = 0;
      for (int i = 1; i <= samples; ++i)
        if (const double here = static_cast<double>(i) / samples; gap(here) < gap(u)) u = here;
      double low = std::max(0.0, u - 1.0 / samples), high = std::min(1.0, u + 1.0 / samples);
      for (int i = 0; i < halvings; ++i) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        (gap(a) < gap(b) ? high : low) = gap(a) < gap(b) ? b : a;
      }
      u = (low + high) / 2;
      if (gap(u) >= least) continue;
      least = gap(u);
      best = params[k] + u * (params[k + 1] - params[k]);
    }
    return best;
  }
};

class FeatFile {
 public:
  explicit FeatFile(const std::string& path) : file_(path) {}

  PatchMeshParts read() {
    bool is_mesh_file = false, has_mesh = false, is_whole = false;
    while (next()) {
      if (tag_ && tag_->closes && tag_->name == "FeatMeshFile") is_whole = true;
      if (!tag_ || !tag_->opens) continue;
      if (tag_->name == "FeatMeshFile")
        is_mesh_file = true;
      else if (!is_mesh_file)
        break;
      else if (tag_->name == "Chart")
        chart();
      else if (tag_->name == "Mesh") {
        mesh();
        has_mesh = true;
      } else if (tag_->name == "MeshPart")
        mesh_part();
    }
    if (!is_mesh_file) fail("it is no mesh file of FEAT3: it does not begin with <FeatMeshFile");
    if (!has_mesh) fail("it has no <Mesh");
    if (!is_whole) fail("the file ends too early: it has no </FeatMeshFile>");
    for (const auto& part : named_) apply(part);
    return std::move(parts_);
  }

 private:
  struct Chart {
    std::string kind{};
    Position centre{};
    std::shared_ptr<BezierCurve> curve{};
  };
  struct Part {
    std::string name, chart;
    std::int64_t line = 0;
    std::vector<int> vertices{}, edges{};     // of the mesh
    std::vector<std::pair<int, int>> ends{};  // of the edges, by their places in `vertices`
    std::vector<double> params{};             // of the vertices, on the chart
  };

  template <class... Args>
  [[noreturn]] void fail(const Args&... args) const {
    throw FileError(message("'", file_.path(), "', line ", file_.number(), ": ", args...));
  }
  template <class... Args>
  [[noreturn]] void refuse(const Args&... args) const {
    throw UsageError(message("'", file_.path(), "', line ", file_.number(), ": ", args...));
  }

  /// The next line that is not empty: a tag, or text.
  bool next() {
    tag_.reset();
    while (file_.next()) {
      text_ = file_.line();
      const auto begin = text_.find_first_not_of(" \t");
      if (begin == std::string_view::npos) continue;
      text_.remove_prefix(begin);
      text_.remove_suffix(text_.size() - 1 - text_.find_last_not_of(" \t"));
      if (text_.starts_with("<!--") || text_.starts_with("<?")) continue;
      if (text_.starts_with("<")) tag_ = parsed_tag();
      return true;
    }
    return false;
  }
  void need() {
    if (!next()) fail("the file ends too early");
  }

  [[nodiscard]] Tag parsed_tag() const {
    Tag tag;
    std::string_view in = text_;
    if (!in.ends_with(">")) fail("a tag ends with the line that it begins in, not '", shown(in, 40), "'");
    in.remove_prefix(1);
    in.remove_suffix(1);
    if (in.starts_with("/")) {
      tag.closes = true;
      in.remove_prefix(1);
    } else {
      tag.opens = true;
    }
    if (in.ends_with("/")) {
      tag.closes = true;
      in.remove_suffix(1);
    }
    const auto end = std::min(in.find_first_of(" \t"), in.size());
    tag.name = in.substr(0, end);
    in.remove_prefix(end);
    while (true) {
      const auto begin = in.find_first_not_of(" \t");
      if (begin == std::string_view::npos) break;
      in.remove_prefix(begin);
      const auto open = in.find("=\"");
      const auto close = open == std::string_view::npos ? open : in.find('"', open + 2);
      if (close == std::string_view::npos) fail("'", shown(in, 40), "' is not NAME=\"VALUE\"");
      tag.attributes[std::string(in.substr(0, open))] = in.substr(open + 2, close - open - 2);
      in.remove_prefix(close + 1);
    }
    return tag;
  }

  template <class T>
  [[nodiscard]] std::vector<T> numbers(std::string_view in, std::optional<std::size_t> count) const {
    std::vector<T> found;
    while (true) {
      const auto begin = in.find_first_not_of(" \t");
      if (begin == std::string_view::npos) break;
      in.remove_prefix(begin);
      const auto end = std::min(in.find_first_of(" \t"), in.size());
      T value{};
      const auto [stop, error] = std::from_chars(in.data(), in.data() + end, value);
      if (error != std::errc() || stop != in.data() + end) fail("'", shown(in.substr(0, end), 24), "' is not a number");
      found.push_back(value);
      in.remove_prefix(end);
    }
    if (count && found.size() != *count) fail("a line has ", *count, " numbers, not ", found.size());
    return found;
  }

  /// The lines of an element up to its end.
  template <class Take>
  void lines(const std::string& name, const Take& take) {
    if (tag_->closes) return;
    for (need(); !(tag_ && tag_->closes && tag_->name == name); need()) {
      if (tag_) fail("<", name, "> has lines of numbers, not a tag <", shown(tag_->name, 24), ">");
      take(text_);
    }
  }
  void skip(const std::string& name) {
    if (tag_->closes) return;
    for (need(); !(tag_ && tag_->closes && tag_->name == name); need()) {
    }
  }

  void chart() {
    const std::string name = tag_->attribute("name");
    if (tag_->closes) return;
    need();
    if (!tag_ || !tag_->opens) fail("a chart has an element that describes it");
    Chart chart{tag_->name};
    if (chart.kind == "Circle") {
      const auto centre = numbers<double>(tag_->attribute("midpoint"), 2);
      chart.centre = {centre[0], centre[1]};
    } else if (chart.kind == "Bezier") {
      chart.curve = bezier();
    }
    charts_[name] = chart;
    while (!(tag_ && tag_->closes && tag_->name == "Chart")) need();
  }

  std::shared_ptr<BezierCurve> bezier() {
    auto curve = std::make_shared<BezierCurve>();
    curve->closed = tag_->attribute("type") == "closed";
    if (tag_->closes) fail("a curve has two points or more");
    std::vector<Position> last;
    for (need(); !(tag_ && tag_->closes && tag_->name == "Bezier"); need()) {
      if (!tag_ || !tag_->opens) fail("'", shown(text_, 24), "' stands between the elements of a curve");
      if (tag_->name == "Points") {
        lines("Points", [&](std::string_view text) {
          const auto all = numbers<double>(text, std::nullopt);
          const auto controls = all.empty() ? -1.0 : all[0];
          if (!(controls >= 0 && controls <= 16) || all.size() != 3 + 2 * static_cast<std::size_t>(controls))
            fail("a point of a curve is the number of control points before it, these, and x and y");
          std::vector<Position> points = last;
          for (std::size_t k = 1; k + 1 < all.size(); k += 2) points.push_back({all[k], all[k + 1]});
          if (!last.empty()) curve->segments.push_back(points);
          last = {points.back()};
        });
      } else if (tag_->name == "Params") {
        lines("Params", [&](std::string_view text) { curve->params.push_back(numbers<double>(text, 1)[0]); });
      } else {
        skip(tag_->name);
      }
    }
    if (curve->segments.empty()) fail("a curve has two points or more");
    if (curve->params.empty())
      for (std::size_t k = 0; k <= curve->segments.size(); ++k) curve->params.push_back(static_cast<double>(k));
    if (curve->params.size() != curve->segments.size() + 1 ||
        std::adjacent_find(curve->params.begin(), curve->params.end(), std::greater_equal<>()) != curve->params.end())
      fail("a curve has an increasing parameter for each of its points");
    return curve;
  }

  void mesh() {
    const std::string type = tag_->attribute("type");
    if (type.find("simplex") != std::string::npos)
      refuse("the mesh is of triangles, ", shown(type), "; patches are quadrilaterals, hypercube:2:2");
    if (type.find("hypercube:2:2") == std::string::npos)
      refuse("the mesh is ", shown(type), "; quadrilaterals in the plane are hypercube:2:2");
    if (tag_->closes) fail("the mesh is empty");
    for (need(); !(tag_ && tag_->closes && tag_->name == "Mesh"); need()) {
      if (!tag_ || !tag_->opens) fail("'", shown(text_, 24), "' stands between the elements of the mesh");
      if (tag_->name == "Vertices") {
        lines("Vertices", [&](std::string_view text) {
          const auto at = numbers<double>(text, 2);
          if (!std::isfinite(at[0]) || !std::isfinite(at[1])) fail("coordinates must be finite");
          parts_.vertices.push_back({at[0], at[1]});
        });
      } else if (tag_->name == "Topology" && tag_->attribute("dim") == "1") {
        lines("Topology", [&](std::string_view text) {
          const auto ends = numbers<int>(text, 2);
          edges_.push_back({vertex(ends[0]), vertex(ends[1])});
        });
      } else if (tag_->name == "Topology" && tag_->attribute("dim") == "2") {
        lines("Topology", [&](std::string_view text) {
          const auto v = numbers<int>(text, 4);
          if (parts_.patches.size() == static_cast<std::size_t>(max_patches))
            refuse("a mesh has up to ", max_patches, " patches");
          parts_.patches.push_back({vertex(v[0]), vertex(v[1]), vertex(v[3]), vertex(v[2])});  // 00 10 01 11
        });
      } else {
        skip(tag_->name);
      }
    }
    if (parts_.patches.empty()) fail("the mesh has no quadrilaterals");
  }
  [[nodiscard]] int vertex(int number) const {
    if (number < 0 || static_cast<std::size_t>(number) >= parts_.vertices.size())
      fail("there is no vertex ", number, "; there are ", parts_.vertices.size());
    return number;
  }

  void mesh_part() {
    Part part{tag_->attribute("name"), tag_->attribute("chart"), file_.number()};
    if (tag_->closes) return;
    for (need(); !(tag_ && tag_->closes && tag_->name == "MeshPart"); need()) {
      if (!tag_ || !tag_->opens) fail("'", shown(text_, 24), "' stands between the elements of a mesh part");
      const std::string dimension = tag_->attribute("dim");
      if (tag_->name == "Mapping" && dimension == "0")
        lines("Mapping", [&](std::string_view text) { part.vertices.push_back(numbers<int>(text, 1)[0]); });
      else if (tag_->name == "Mapping" && dimension == "1")
        lines("Mapping", [&](std::string_view text) { part.edges.push_back(numbers<int>(text, 1)[0]); });
      else if (tag_->name == "Topology" && dimension == "1")
        lines("Topology", [&](std::string_view text) {
          const auto ends = numbers<int>(text, 2);
          part.ends.emplace_back(ends[0], ends[1]);
        });
      else if (tag_->name == "Attribute" && tag_->attribute("name") == "param" && dimension == "1")
        lines("Attribute", [&](std::string_view text) { part.params.push_back(numbers<double>(text, 1)[0]); });
      else
        skip(tag_->name);
    }
    named_.push_back(std::move(part));
  }

  /// Names edges of the boundary and bends those that have a chart.
  void apply(const Part& part) {
    std::map<std::pair<int, int>, int>& count = patches_of_edges_;
    if (count.empty())
      for (const auto& p : parts_.patches)
        for (std::size_t l = 0; l < 4; ++l) ++count[std::minmax(p[l], p[(l + 1) % 4])];
    for (std::size_t k = 0; k < part.edges.size(); ++k) {
      const int e = part.edges[k];
      if (e < 0 || static_cast<std::size_t>(e) >= edges_.size())
        throw FileError(message("'", file_.path(), "', line ", part.line, ": mesh part '", part.name, "' has edge ", e,
                                "; there are ", edges_.size()));
      const auto& [a, b] = edges_[static_cast<std::size_t>(e)];
      PatchEdgeParts said;
      said.first = a;
      said.second = b;
      said.where = message("'", file_.path(), "', mesh part '", part.name, "'");
      if (count[std::minmax(a, b)] == 1) said.boundary = part.name;
      if (!part.chart.empty()) bend(said, part, k);
      if (!said.boundary.empty() || said.curve.kind != EdgeCurve::Kind::straight) parts_.edges.push_back(said);
    }
  }

  /// Lets edge k of a mesh part follow its chart.
  void bend(PatchEdgeParts& said, const Part& part, std::size_t k) const {
    const auto found = charts_.find(part.chart);
    expects(found != charts_.end(), said.where, " has the chart '", part.chart, "', which is not in the file");
    const Chart& chart = found->second;
    if (chart.kind == "Circle") {
      said.curve = {EdgeCurve::Kind::arc, chart.centre, {}};
      return;
    }
    expects(chart.curve != nullptr, said.where, " follows the chart '", part.chart, "', a ", chart.kind,
            "; circles and Bezier curves are read");
    const auto [from, to] = params_of(said, part, k, *chart.curve);
    if (chart.curve->is_straight(from, to)) return;
    // Vertices lie beside their curve by the digits of the file, or more: between them the gaps change linearly.
    const Position a = parts_.vertices[static_cast<std::size_t>(said.first)],
                   b = parts_.vertices[static_cast<std::size_t>(said.second)], begin = chart.curve->at(from),
                   end = chart.curve->at(to);
    for (const auto& [vertex, own] : {std::pair{a, begin}, {b, end}})
      expects(distance(vertex, own) <= 0.1 * distance(a, b), said.where, ": the vertex at (", vertex.x, ", ", vertex.y,
              ") does not lie on the chart '", part.chart, "', which is at (", own.x, ", ", own.y, ") there");
    const Position at_first{a.x - begin.x, a.y - begin.y}, at_last{b.x - end.x, b.y - end.y};
    said.curve = {
        EdgeCurve::Kind::function, {}, [curve = chart.curve, from = from, to = to, at_first, at_last](double t) {
          const Position p = curve->at(from + t * (to - from));
          return Position{p.x + (1 - t) * at_first.x + t * at_last.x, p.y + (1 - t) * at_first.y + t * at_last.y};
        }};
  }

  /// Where the edge begins and ends on a curve: as the file says, or where its vertices are closest.
  [[nodiscard]] std::pair<double, double> params_of(const PatchEdgeParts& said, const Part& part, std::size_t k,
                                                    const BezierCurve& curve) const {
    const auto vertex_at = [&](int v) { return parts_.vertices[static_cast<std::size_t>(v)]; };
    if (!part.params.empty() && part.params.size() == part.vertices.size() && k < part.ends.size()) {
      const auto param = [&](int local) {
        const auto at = static_cast<std::size_t>(local);
        if (local < 0 || at >= part.vertices.size())
          throw FileError(message("'", file_.path(), "', line ", part.line, ": mesh part '", part.name, "' has vertex ",
                                  local, "; there are ", part.vertices.size()));
        return std::pair{part.vertices[at], part.params[at]};
      };
      const auto first = param(part.ends[k].first), last = param(part.ends[k].second);
      if (first.first == said.first && last.first == said.second) return {first.second, last.second};
      if (first.first == said.second && last.first == said.first) return {last.second, first.second};
    }
    double from = curve.closest(vertex_at(said.first)), to = curve.closest(vertex_at(said.second));
    // Around a closed curve the shorter way.
    if (curve.closed && std::abs(to - from) > curve.period() / 2) (to > from ? from : to) += curve.period();
    return {from, to};
  }

  TextFile file_;
  std::string_view text_;
  std::optional<Tag> tag_;
  std::map<std::string, Chart> charts_;
  std::vector<Part> named_;
  std::vector<std::pair<int, int>> edges_;
  std::map<std::pair<int, int>, int> patches_of_edges_;
  PatchMeshParts parts_;
};

}  // namespace

PatchMeshParts read_feat3(const std::string& path) { return FeatFile(path).read(); }

}  // namespace stratum
