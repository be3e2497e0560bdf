#include <stratum/mesh/patches/gmsh.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/text_file.hpp>
#include <stratum/mesh/patches/touching.hpp>

namespace stratum {

namespace {

constexpr std::int64_t most_entities = std::int64_t{1} << 28;  // nodes, elements or numbers of one

class GmshFile {
 public:
  explicit GmshFile(const std::string& path) : file_(path) {}

  QuadMesh read() {
    bool has_format = false, is_whole = false;
    while (next_line()) {
      if (file_.line() == "$MeshFormat") {
        format();
        has_format = true;
      } else if (!has_format) {
        if (!file_.line().empty() && !file_.line().starts_with("$"))
          fail("it is no file of Gmsh: it does not begin with $MeshFormat");
      } else if (file_.line() == "$PhysicalNames") {
        physical_names();
      } else if (file_.line() == "$Entities" && version_ == 4) {
        entities();
      } else if (file_.line() == "$Nodes") {
        nodes();
      } else if (file_.line() == "$Elements") {
        elements();
      } else if (file_.line() == "$EndElements") {
        is_whole = true;
      }
    }
    if (!has_format) fail("it is no file of Gmsh: it does not begin with $MeshFormat");
    expects(!quads_.empty(), "'", file_.path(), "' has no quadrilaterals; use Recombine Surface, and save them");
    if (!is_whole) fail("the file ends too early: it has no $EndElements, and its last number may be cut");
    return mesh();
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const Args&... args) const {
    throw FileError(message("'", file_.path(), "', line ", file_.number(), ": ", args...));
  }
  bool next_line() {
    if (!file_.next()) return false;
    rest_ = file_.line();
    return true;
  }
  void need_line() {
    if (!next_line()) fail("the file ends too early");
  }
  [[nodiscard]] std::string_view word() {
    const auto begin = rest_.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    const auto end = std::min(rest_.find_first_of(" \t", begin), rest_.size());
    const std::string_view found = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return found;
  }
  template <class T>
  T number() {
    const std::string_view text = word();
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
      fail("'", shown(text, 24), "' is not a number");
    return value;
  }
  double coordinate() {
    const auto value = number<double>();
    if (!std::isfinite(value)) fail("a coordinate is ", value, "; it must be finite");
    return value;
  }
  std::int64_t count() {
    const auto value = number<std::int64_t>();
    if (value < 0 || value > most_entities) fail("there cannot be ", value, " of them");
    return value;
  }

  void format() {
    need_line();
    const auto version = number<double>();
    const auto binary = number<int>();
    if (binary != 0) fail("the file is binary; save it as ASCII (Mesh.Binary = 0)");
    if (version >= 2 && version < 3)
      version_ = 2;
    else if (version == 4.1)
      version_ = 4;
    else
      fail("version ", version, " of the format is not read; save version 2.2 or 4.1 (Mesh.MshFileVersion)");
  }

  void physical_names() {
    need_line();
    const auto n = count();
    for (std::int64_t k = 0; k < n; ++k) {
      need_line();
      const int dimension = number<int>(), tag = number<int>();
      const auto begin = rest_.find('"'), end = rest_.rfind('"');
      if (begin == std::string_view::npos || end <= begin) fail("a name of a physical group stands in quotes");
      names_[{dimension, tag}] = rest_.substr(begin + 1, end - begin - 1);
    }
  }

  void entities() {
    need_line();
    const auto points = count(), curves = count(), surfaces = count();
    for (std::int64_t k = 0; k < points; ++k) need_line();
    for (int dimension = 1; dimension <= 2; ++dimension)
      for (std::int64_t k = 0; k < (dimension == 1 ? curves : surfaces); ++k) {
        need_line();
        const int tag = number<int>();
        for (int box = 0; box < 6; ++box) (void)number<double>();
        const auto groups = count();
        if (groups > 0) groups_[{dimension, tag}] = std::abs(number<int>());
      }
  }

  void node(std::int64_t tag) {
    const double x = coordinate(), y = coordinate(), z = coordinate();
    const auto place = static_cast<int>(nodes_.size());
    if (!numbers_.try_emplace(tag, place).second) fail("there are two nodes ", tag);
    nodes_.push_back({x, y});
    heights_.push_back(z);
    if (nodes_.size() > static_cast<std::size_t>(most_entities)) fail("there are too many nodes");
  }

  void nodes() {
    need_line();
    if (version_ == 2) {
      const auto n = count();
      for (std::int64_t k = 0; k < n; ++k) {
        need_line();
        node(number<std::int64_t>());
      }
      return;
    }
    const auto blocks = count();
    for (std::int64_t b = 0; b < blocks; ++b) {
      need_line();
      (void)number<int>();
      (void)number<int>();
      (void)number<int>();  // coordinates of surfaces may follow, and are not needed
      const auto n = count();
      std::vector<std::int64_t> tags;
      for (std::int64_t k = 0; k < n; ++k) {
        need_line();
        tags.push_back(number<std::int64_t>());
      }
      for (const auto tag : tags) {
        need_line();
        node(tag);
      }
    }
  }

  /// An element of this type, whose nodes come next; `group` 0: none.
  void element(int type, int entity, int group) {
    constexpr int line = 1, triangle = 2, quad = 3, point = 15;
    if (type == point) return;
    const auto surface = [&] { return entity > 0 ? message("surface ", entity) : std::string("the mesh"); };
    if (type == triangle || type == 9)
      throw UsageError(message("'", file_.path(), "', line ", file_.number(), ": ", surface(),
                               " has triangles; patches are made of quadrilaterals: use Recombine Surface"));
    if (type == 10 || type == 16 || type == 8)
      throw UsageError(message("'", file_.path(), "', line ", file_.number(),
                               ": elements of second order are not read; use Mesh.ElementOrder = 1"));
    if (type != line && type != quad)
      throw UsageError(message("'", file_.path(), "', line ", file_.number(), ": elements of type ", type,
                               " are not read; quadrilaterals and their boundary lines are"));
    std::array<int, 4> corners{};
    for (int k = 0; k < (type == quad ? 4 : 2); ++k) {
      const auto tag = number<std::int64_t>();
      const auto found = numbers_.find(tag);
      if (found == numbers_.end()) fail("node ", tag, " of an element is not among the nodes");
      corners[static_cast<std::size_t>(k)] = found->second;
    }
    if (type == quad) {
      quads_.push_back(corners);
      regions_.push_back(group);
    } else {
      lines_.push_back({corners[0], corners[1], name_of_curve(entity, group)});
      in_groups_.push_back(group != 0);
    }
  }

  [[nodiscard]] std::string name_of_curve(int entity, int group) const {
    if (group == 0) return message("curve", entity);
    const auto found = names_.find({1, group});
    return found == names_.end() ? message("group", group) : found->second;
  }

  void elements() {
    need_line();
    if (version_ == 2) {
      const auto n = count();
      for (std::int64_t k = 0; k < n; ++k) {
        need_line();
        (void)number<std::int64_t>();
        const int type = number<int>();
        const auto tags = count();
        const int group = tags > 0 ? number<int>() : 0, entity = tags > 1 ? number<int>() : 0;
        for (std::int64_t t = 2; t < tags; ++t) (void)number<std::int64_t>();
        element(type, entity, std::abs(group));
      }
      return;
    }
    const auto blocks = count();
    for (std::int64_t b = 0; b < blocks; ++b) {
      need_line();
      const int dimension = number<int>(), entity = number<int>(), type = number<int>();
      const auto n = count();
      const auto found = groups_.find({dimension, entity});
      for (std::int64_t k = 0; k < n; ++k) {
        need_line();
        (void)number<std::int64_t>();
        element(type, entity, found == groups_.end() ? 0 : found->second);
      }
    }
  }

  /// Nodes of quadrilaterals alone.
  [[nodiscard]] QuadMesh mesh() {
    QuadMesh mesh;
    std::vector<int> places(nodes_.size(), -1);
    double height = 0;
    for (auto& quad : quads_)
      for (int& k : quad) {
        const auto at = static_cast<std::size_t>(k);
        if (mesh.nodes.empty()) height = heights_[at];
        expects(heights_[at] == height, "'", file_.path(), "': a node lies at z = ", heights_[at],
                ", another at z = ", height, "; the mesh must be plane");
        if (places[at] < 0) {
          places[at] = static_cast<int>(mesh.nodes.size());
          mesh.nodes.push_back(nodes_[at]);
        }
        k = places[at];
      }
    mesh.quads = std::move(quads_);
    mesh.regions = std::move(regions_);
    std::map<std::pair<int, int>, int> quads_of_edges;
    for (const auto& quad : mesh.quads)
      for (std::size_t k = 0; k < 4; ++k) ++quads_of_edges[std::minmax(quad[k], quad[(k + 1) % 4])];
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      const auto& [first, second, name] = lines_[k];
      const int a = places[static_cast<std::size_t>(first)], b = places[static_cast<std::size_t>(second)];
      if (a < 0 || b < 0) continue;
      mesh.lines.push_back({a, b, name});
      if (in_groups_[k]) quads_of_edges.erase(std::minmax(a, b));
    }
    // Edges of one quadrilateral, on boundaries that nobody gave a name: surfaces that have no nodes in common.
    std::vector<std::pair<int, int>> edges;
    std::vector<int> ends;
    for (const auto& [edge, quads] : quads_of_edges)
      if (quads == 1) {
        edges.push_back(edge);
        ends.insert(ends.end(), {edge.first, edge.second});
      }
    detail::expect_matching(file_.path(), "surfaces", mesh.nodes, std::move(ends), edges);
    return mesh;
  }

  TextFile file_;
  std::string_view rest_;
  int version_ = 0;
  std::map<std::pair<int, int>, std::string> names_;  // of groups by dimension and number
  std::map<std::pair<int, int>, int> groups_;         // of curves and surfaces
  std::unordered_map<std::int64_t, int> numbers_;     // of nodes
  std::vector<Position> nodes_;
  std::vector<double> heights_;
  std::vector<std::array<int, 4>> quads_;
  std::vector<int> regions_;
  std::vector<QuadMesh::Line> lines_;
  std::vector<bool> in_groups_;  // of lines
};

}  // namespace

QuadMesh read_gmsh(const std::string& path) { return GmshFile(path).read(); }

}  // namespace stratum
