#include <stratum/mesh/patches/patch_text.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/text_file.hpp>

namespace stratum {

namespace {

/// Parts between commas outside parentheses.
std::vector<std::string> between_commas(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth <= 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

class Reader {
 public:
  Reader(const std::string& path, const PatchExpressions& expressions) : file_(path), expressions_(expressions) {}

  PatchText read() {
    while (file_.next()) {
      std::istringstream in(file_.line().substr(0, file_.line().find('#')));
      std::vector<std::string> words;
      for (std::string word; in >> word;) words.push_back(std::move(word));
      if (!words.empty()) line(words);
    }
    const auto& parts = text_.parts;
    expects(!parts.vertices.empty(), "'", file_.path(),
            "' has no section 'vertices'; a file of patches has sections vertices, patches, edges and boundaries");
    expects(!parts.patches.empty(), "'", file_.path(), "' has no section 'patches' with a patch in it");
    return std::move(text_);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(const Args&... args) const {
    throw UsageError(message(where(), ": ", args...));
  }
  [[nodiscard]] std::string where() const { return message("'", file_.path(), "', line ", file_.number()); }

  void line(const std::vector<std::string>& words) {
    constexpr std::string_view sections[] = {"vertices", "patches", "edges", "boundaries"};
    if (words[0] == "cells" && words.size() == 2) {
      text_.parts.cells = whole(words[1]);
    } else if (words.size() == 1 &&
               std::find(std::begin(sections), std::end(sections), words[0]) != std::end(sections)) {
      section_ = words[0];
    } else if (section_ == "vertices") {
      vertex(words);
    } else if (section_ == "patches") {
      patch(words);
    } else if (section_ == "edges") {
      edges(words);
    } else if (section_ == "boundaries") {
      boundary(words);
    } else {
      refuse("'", shown(words[0]),
             "' stands in no section; sections begin with vertices, patches, edges or boundaries");
    }
  }

  [[nodiscard]] double number(const std::string& text) const {
    double value = 0;
    const char* const first = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) return value;
    if (expressions_.value)
      if (const auto known = expressions_.value(text); known && std::isfinite(*known)) return *known;
    refuse("'", shown(text), "' is not a finite number");
  }
  [[nodiscard]] int whole(const std::string& text) const {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > max_cells)
      refuse("'", shown(text), "' is not a number of cells, 1 .. ", max_cells);
    return value;
  }
  [[nodiscard]] int vertex_of(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end())
      refuse("there is no vertex '", shown(name), "'; the section 'vertices' stands before those that use it");
    return found->second;
  }

  void vertex(const std::vector<std::string>& words) {
    if (words.size() != 3) refuse("a vertex is a name, x and y, not ", words.size(), " words");
    if (words[0].find('=') != std::string::npos || words[0] == "*")
      refuse("'", shown(words[0]), "' cannot be the name of a vertex");
    if (!numbers_.try_emplace(words[0], static_cast<int>(numbers_.size())).second)
      refuse("there are two vertices '", shown(words[0]), "'");
    text_.parts.vertices.push_back({number(words[1]), number(words[2])});
    text_.parts.vertex_names.push_back(words[0]);
  }

  void patch(const std::vector<std::string>& words) {
    const bool has_value = words.size() == 5 && words[4].starts_with("K=");
    if (words.size() != 4 && !has_value) {
      if (words.size() == 3) refuse("a patch has four vertices; triangles cannot be patches: cut each into three");
      refuse("a patch is four vertices, and K=NUMBER if it has its own, not ", words.size(), " words");
    }
    if (text_.parts.patches.size() == static_cast<std::size_t>(max_patches))
      refuse("a mesh has up to ", max_patches, " patches");
    std::array<int, 4> corners{};
    for (std::size_t k = 0; k < 4; ++k) corners[k] = vertex_of(words[k]);
    text_.parts.patches.push_back(corners);
    const double k = has_value ? number(words[4].substr(2)) : 1;
    if (!(k > 0)) refuse("K must be positive, not ", k);
    text_.diffusion.push_back(k);
  }

  /// The vertices in front of `end`, at least two.
  [[nodiscard]] std::vector<int> row(const std::vector<std::string>& words, std::size_t end) const {
    if (end < 2) refuse("an edge has two vertices");
    std::vector<int> vertices;
    for (std::size_t k = 0; k < end; ++k) vertices.push_back(vertex_of(words[k]));
    return vertices;
  }

  void edges(const std::vector<std::string>& words) {
    const auto first = std::find_if(words.begin(), words.end(),
                                    [](const std::string& word) { return word.find('=') != std::string::npos; });
    const auto vertices = row(words, static_cast<std::size_t>(first - words.begin()));
    PatchEdgeParts said;
    said.where = where();
    for (auto word = first; word != words.end(); ++word) property(*word, said);
    if (first == words.end()) refuse("of an edge something is said: cells=, grade=, arc= or curve=");
    for (std::size_t k = 0; k + 1 < vertices.size(); ++k) {
      said.first = vertices[k];
      said.second = vertices[k + 1];
      text_.parts.edges.push_back(said);
    }
  }

  void property(const std::string& word, PatchEdgeParts& said) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos) refuse("'", shown(word), "' is not of the form NAME=VALUE");
    const std::string value = word.substr(equals + 1);
    const bool is_curve = name == "arc" || name == "curve";
    if (is_curve && said.curve.kind != EdgeCurve::Kind::straight) refuse("an edge has one arc or one curve");
    if (name == "cells") {
      said.cells = whole(value);
    } else if (name == "grade") {
      try {
        said.grading = parse_grading(value);
      } catch (const UsageError& error) {
        refuse(error.what());
      }
    } else if (is_curve) {
      const auto pair = between_commas(value);
      if (pair.size() != 2)
        refuse("'", shown(word), "' is not ", name == "arc" ? "arc=X,Y with the centre" : "curve=X(t),Y(t)",
               ", without blanks");
      if (name == "arc") {
        said.curve.kind = EdgeCurve::Kind::arc;
        said.curve.centre = {number(pair[0]), number(pair[1])};
        return;
      }
      if (!expressions_.curve) refuse("curves are expressions, which are not available");
      said.curve.kind = EdgeCurve::Kind::function;
      try {
        said.curve.at = expressions_.curve(pair[0], pair[1]);
      } catch (const UsageError& error) {
        refuse(error.what());
      }
    } else {
      refuse("unknown property '", shown(name), "' of an edge; known are cells, grade, arc and curve");
    }
  }

  void boundary(const std::vector<std::string>& words) {
    const std::string& name = words.back();
    if (name.find('=') != std::string::npos) refuse("the name of a boundary has no =, as '", shown(name), "' has");
    if (words.size() == 2 && words[0] == "*") {
      if (!text_.parts.other_boundaries.empty())
        refuse("all other boundaries are '", text_.parts.other_boundaries, "' already");
      text_.parts.other_boundaries = name;
      return;
    }
    if (words.size() < 3) refuse("a line has the vertices of edges in a row and the name of their boundary");
    const auto vertices = row(words, words.size() - 1);
    PatchEdgeParts said;
    said.where = where();
    said.boundary = name;
    for (std::size_t k = 0; k + 1 < vertices.size(); ++k) {
      said.first = vertices[k];
      said.second = vertices[k + 1];
      text_.parts.edges.push_back(said);
    }
  }

  TextFile file_;
  const PatchExpressions& expressions_;
  std::string section_;
  std::map<std::string, int> numbers_;
  PatchText text_;
};

}  // namespace

PatchText read_patch_text(const std::string& path, const PatchExpressions& expressions) {
  return Reader(path, expressions).read();
}

}  // namespace stratum
