#include <stratum/mesh/patches/feat3.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
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

class FeatFile {
 public:
  explicit FeatFile(const std::string& path) : file_(path) {}

  PatchMeshParts read() {
    bool is_mesh_file = false, has_mesh = false;
    while (next()) {
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
    for (const auto& part : named_) apply(part);
    return std::move(parts_);
  }

 private:
  struct Chart {
    std::string kind;
    Position centre{};
  };
  struct Part {
    std::string name, chart;
    std::vector<int> edges;
    std::int64_t line = 0;
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
  [[nodiscard]] std::vector<T> numbers(std::string_view in, std::size_t count) const {
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
    if (found.size() != count) fail("a line has ", count, " numbers, not ", found.size());
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
    }
    charts_[name] = chart;
    while (!(tag_ && tag_->closes && tag_->name == "Chart")) need();
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
    Part part{tag_->attribute("name"), tag_->attribute("chart"), {}, file_.number()};
    if (tag_->closes) return;
    for (need(); !(tag_ && tag_->closes && tag_->name == "MeshPart"); need()) {
      if (!tag_ || !tag_->opens) fail("'", shown(text_, 24), "' stands between the elements of a mesh part");
      if (tag_->name == "Mapping" && tag_->attribute("dim") == "1")
        lines("Mapping", [&](std::string_view text) { part.edges.push_back(numbers<int>(text, 1)[0]); });
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
    for (const int e : part.edges) {
      if (e < 0 || static_cast<std::size_t>(e) >= edges_.size())
        throw FileError(message("'", file_.path(), "', line ", part.line, ": mesh part '", part.name, "' has edge ", e,
                                "; there are ", edges_.size()));
      const auto& [a, b] = edges_[static_cast<std::size_t>(e)];
      PatchEdgeParts said;
      said.first = a;
      said.second = b;
      said.where = message("'", file_.path(), "', mesh part '", part.name, "'");
      if (count[std::minmax(a, b)] == 1) said.boundary = part.name;
      if (!part.chart.empty()) {
        const auto chart = charts_.find(part.chart);
        expects(chart != charts_.end(), said.where, " has the chart '", part.chart, "', which is not in the file");
        expects(chart->second.kind == "Circle", said.where, " follows the chart '", part.chart, "', a ",
                chart->second.kind, "; circles are read");
        said.curve = {EdgeCurve::Kind::arc, chart->second.centre, {}};
      }
      if (!said.boundary.empty() || said.curve.kind != EdgeCurve::Kind::straight) parts_.edges.push_back(said);
    }
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
