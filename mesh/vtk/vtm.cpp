#include <stratum/mesh/vtk/vtm.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/output_file.hpp>
#include <stratum/core/io/text_file.hpp>
#include <stratum/mesh/patches/touching.hpp>
#include <stratum/mesh/vtk/vts.hpp>

namespace stratum {

namespace {

std::size_t index(int number) { return static_cast<std::size_t>(number); }
double distance(const Position& p, const Position& q) { return std::hypot(p.x - q.x, p.y - q.y); }

struct Block {
  std::string name;
  StructuredNodes nodes;
  std::size_t first = 0;  // of its nodes among all

  [[nodiscard]] std::size_t node(int i, int j) const { return index(j) * (index(nodes.nx) + 1) + index(i); }
};

/// Names and files of the blocks.
std::vector<std::pair<std::string, std::string>> data_sets(const std::string& path) {
  TextFile file(path);
  std::string text;
  constexpr std::size_t most = std::size_t{1} << 26;
  while (file.next() && text.size() < most) text += file.line() + "\n";
  if (text.find("vtkMultiBlockDataSet") == std::string::npos)
    throw FileError(message("'", path, "' is no multi-block file of VTK: it has no vtkMultiBlockDataSet"));
  if (text.find("</VTKFile>") == std::string::npos)
    throw FileError(message("'", path, "' ends too early: it has no </VTKFile>"));
  std::vector<std::pair<std::string, std::string>> found;
  for (auto at = text.find("<DataSet"); at != std::string::npos; at = text.find("<DataSet", at + 1)) {
    const std::string tag = text.substr(at, std::min(text.find('>', at), text.size()) - at);
    const auto attribute = [&tag](const char* name) -> std::string {
      const auto begin = tag.find(message(" ", name, "=\""));
      if (begin == std::string::npos) return "";
      const auto open = tag.find('"', begin) + 1, close = tag.find('"', open);
      return close == std::string::npos ? "" : tag.substr(open, close - open);
    };
    if (const std::string name = attribute("file"); !name.empty()) {
      const std::string own = attribute("name");
      found.emplace_back(own.empty() || own.find('=') != std::string::npos ? std::to_string(found.size()) : own, name);
    }
  }
  expects(!found.empty(), "'", path, "' names no files of blocks");
  return found;
}

/// The smallest number of those that are joined.
class Joined {
 public:
  explicit Joined(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t of(std::size_t k) {
    while (parent_[k] != k) k = parent_[k] = parent_[parent_[k]];
    return k;
  }
  void join(std::size_t a, std::size_t b) {
    a = of(a);
    b = of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

/// Joins the nodes on the edges of blocks that lie at the same place.
void join_blocks(const std::vector<Block>& blocks, Joined& joined) {
  struct Candidate {
    Position at;
    double near;
    std::size_t number;
  };
  std::vector<Candidate> candidates;
  for (const Block& block : blocks) {
    const auto& [nx, ny, at] = block.nodes;
    for (int j = 0; j <= ny; ++j)
      for (int i = 0; i <= nx; ++i) {
        if (i > 0 && i < nx && j > 0 && j < ny) continue;
        const Position p = at[block.node(i, j)];
        double width = HUGE_VAL;
        if (i > 0) width = std::min(width, distance(p, at[block.node(i - 1, j)]));
        if (i < nx) width = std::min(width, distance(p, at[block.node(i + 1, j)]));
        if (j > 0) width = std::min(width, distance(p, at[block.node(i, j - 1)]));
        if (j < ny) width = std::min(width, distance(p, at[block.node(i, j + 1)]));
        const double rounding = 4 * std::numeric_limits<double>::epsilon() * std::max(std::abs(p.x), std::abs(p.y));
        candidates.push_back({p, std::max(1e-6 * width, rounding), block.first + block.node(i, j)});
      }
  }
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.at.x < b.at.x; });
  for (std::size_t k = 0; k < candidates.size(); ++k)
    for (std::size_t l = k + 1; l < candidates.size() && candidates[l].at.x - candidates[k].at.x <= candidates[k].near;
         ++l)
      if (distance(candidates[k].at, candidates[l].at) <= std::min(candidates[k].near, candidates[l].near))
        joined.join(candidates[k].number, candidates[l].number);
}

}  // namespace

void write_vtm(const std::string& path, const PatchMesh& mesh, const std::function<PatchFields(int patch)>& fields,
               VtkCompression compression) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).replace_extension();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw FileError(message("cannot make the folder '", folder.string(), "': ", error.message()));
  std::string blocks;
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    const PatchFields own = fields(p);
    const auto views = [](const auto& all) {
      std::vector<VtkField> list;
      for (const auto& [name, values] : all) list.push_back({name, values});
      return list;
    };
    const std::string file = message(p, ".vts");
    write_vts((folder / file).string(), nodes.nx, nodes.ny, nodes.at, views(own.nodes), views(own.cells), compression);
    blocks += message("    <DataSet index=\"", p, "\" name=\"", p, "\" file=\"",
                      (folder.filename() / file).generic_string(), "\"/>\n");
  }
  write_whole_text(path, message("<VTKFile type=\"vtkMultiBlockDataSet\" version=\"1.0\">\n  <vtkMultiBlockDataSet>\n",
                                 blocks, "  </vtkMultiBlockDataSet>\n</VTKFile>\n"));
}

QuadMesh read_vtm(const std::string& path) {
  std::vector<Block> blocks;
  std::size_t count = 0;
  for (const auto& [name, file] : data_sets(path)) {
    const auto whole = std::filesystem::path(path).parent_path() / file;
    blocks.push_back({name, read_vts_nodes(whole.string()), count});
    count += blocks.back().nodes.at.size();
    expects(count <= static_cast<std::size_t>(std::numeric_limits<int>::max()), "'", path, "' has more than ",
            std::numeric_limits<int>::max(), " nodes");
  }
  Joined joined(count);
  join_blocks(blocks, joined);

  QuadMesh mesh;
  std::vector<int> numbers(count, -1);
  const auto number_of = [&](const Block& block, int i, int j) {
    const std::size_t all = joined.of(block.first + block.node(i, j));
    if (numbers[all] < 0) {
      numbers[all] = static_cast<int>(mesh.nodes.size());
      mesh.nodes.push_back(block.nodes.at[block.node(i, j)]);
    }
    return numbers[all];
  };
  std::map<std::pair<int, int>, int> quads_of_edges;  // on the edges of blocks
  const auto for_edges = [&](const Block& block, const auto& take) {
    const auto& [nx, ny, at] = block.nodes;
    for (int i = 0; i < nx; ++i) {
      take(number_of(block, i, 0), number_of(block, i + 1, 0), ".bottom");
      take(number_of(block, i, ny), number_of(block, i + 1, ny), ".top");
    }
    for (int j = 0; j < ny; ++j) {
      take(number_of(block, 0, j), number_of(block, 0, j + 1), ".left");
      take(number_of(block, nx, j), number_of(block, nx, j + 1), ".right");
    }
  };
  for (const Block& block : blocks) {
    for (int j = 0; j < block.nodes.ny; ++j)
      for (int i = 0; i < block.nodes.nx; ++i)
        mesh.quads.push_back({number_of(block, i, j), number_of(block, i + 1, j), number_of(block, i + 1, j + 1),
                              number_of(block, i, j + 1)});
    for_edges(block, [&](int a, int b, const char*) { ++quads_of_edges[std::minmax(a, b)]; });
  }
  std::vector<int> on_boundary;
  std::vector<std::pair<int, int>> edges;
  for (const Block& block : blocks)
    for_edges(block, [&](int a, int b, const char* end) {
      if (quads_of_edges[std::minmax(a, b)] > 1) return;
      mesh.lines.push_back({a, b, block.name + end});
      edges.emplace_back(a, b);
      on_boundary.insert(on_boundary.end(), {a, b});
    });
  detail::expect_matching(path, "blocks", mesh.nodes, std::move(on_boundary), edges);
  return mesh;
}

}  // namespace stratum
