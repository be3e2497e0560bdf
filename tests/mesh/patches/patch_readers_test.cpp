// Files of patches: text, Gmsh, FEAT3 and VTK, and the base complex of quadrilaterals.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <random>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/feat3.hpp>
#include <stratum/mesh/patches/gmsh.hpp>
#include <stratum/mesh/patches/patch_files.hpp>
#include <stratum/mesh/patches/patch_geometries.hpp>
#include <stratum/mesh/vtk/vtm.hpp>
#include <stratum/mesh/vtk/vts.hpp>

namespace stratum {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class PatchReaders : public testing::Test {
 protected:
  PatchReaders() : folder_(std::filesystem::temp_directory_path() / message("stratum_patches", getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~PatchReaders() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  /// Of reading a file with this text.
  [[nodiscard]] std::string refusal(const std::string& name, const std::string& text) const {
    const std::string file = write(name, text);
    try {
      (void)read_patches(file);
    } catch (const UsageError& error) {
      return error.what();
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::filesystem::path folder_;
};

constexpr const char* l_shape_text = R"(# an L
cells 8
vertices
  a -1 -1
  b  0 -1
  c -1  0
  d  0  0   # re-entrant corner
  e  1  0
  f -1  1
  g  0  1
  h  1  1
patches
  a b d c  K=10
  c d g f
  h g d e
edges
  c d  cells=4 grade=geometric:2,last
  d e  grade=geometric:h=1e-3,first
boundaries
  b d e corner
  * wall
)";

TEST_F(PatchReaders, Text) {
  const PatchFile file = read_patches(write("l.txt", l_shape_text));
  const PatchMesh& mesh = file.mesh;
  EXPECT_EQ(mesh.patches(), 3);
  EXPECT_THAT(file.diffusion, ElementsAre(10, 1, 1));
  EXPECT_THAT(mesh.boundary_names(), UnorderedElementsAre("corner", "wall"));
  EXPECT_EQ(mesh.cells_x(0), 4);
  EXPECT_EQ(mesh.cells_y(0), 8);
  const auto widths = mesh.axis(1, Direction::x).widths();
  EXPECT_NEAR(widths[3] / widths[0], 1. / 8, 1e-14);
  int corner = 0;
  for (int e = 0; e < mesh.edges(); ++e)
    corner += mesh.edge(e).boundary >= 0 &&
              mesh.boundary_names()[static_cast<std::size_t>(mesh.edge(e).boundary)] == "corner";
  EXPECT_EQ(corner, 2);
  EXPECT_EQ(read_patches(path("l.txt"), {}, 16).mesh.cells_y(0), 16);
}

TEST_F(PatchReaders, TextSaysWhichLineIsWrong) {
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string text = l_shape_text;
    text.replace(text.find(before), before.size(), after);
    return refusal("l.txt", text);
  };
  const std::string file = "'" + path("l.txt") + "', line ";
  EXPECT_EQ(with("a b d c  K=10", "a b d"),
            file + "13: a patch has four vertices; triangles cannot be patches: cut each into three");
  EXPECT_EQ(with("a b d c  K=10", "a b d x"),
            file + "13: there is no vertex 'x'; the section 'vertices' stands before those that use it");
  EXPECT_EQ(with("K=10", "K=0"), file + "13: K must be positive, not 0");
  EXPECT_EQ(with("e  1  0", "d  1  0"), file + "8: there are two vertices 'd'");
  EXPECT_EQ(with("e  1  0", "e  1  nan"), file + "8: 'nan' is not a finite number");
  EXPECT_THAT(with("geometric:2,last", "geometric:2,left"),
              HasSubstr(file + "17: 'geometric:2,left': unknown side 'left'"));
  EXPECT_THAT(with("cells=4", "cell=4"), HasSubstr(file + "17: unknown property 'cell' of an edge"));
  EXPECT_THAT(with("cells=4", "cells=0"), HasSubstr(file + "17: '0' is not a number of cells"));
  EXPECT_THAT(with("d e  grade", "a d  grade"), HasSubstr(file + "18: edge a d is no edge of a patch"));
  EXPECT_THAT(with("d e  grade=geometric:h=1e-3,first", "a b  cells=5"),
              HasSubstr(file + "18: edge a b has 5 cells, but " + file + "17: edge c d has 4"));
  EXPECT_THAT(with("d e  grade=geometric:h=1e-3,first", "f g grade=geometric:2,first"),
              HasSubstr(file + "18: edge f g has another grading than " + file + "17: edge c d"));
  EXPECT_THAT(with("d e  grade=geometric:h=1e-3,first", "d e  grade=geometric:h=1e-3,first arc=0"),
              HasSubstr("is not arc=X,Y with the centre, without blanks"));
  EXPECT_THAT(with("* wall", "a b"), HasSubstr(file + "21: a line has the vertices of edges in a row and the name"));
  EXPECT_THAT(with("* wall", ""), HasSubstr("6 boundary edges have no name: edge a b, edge a c, edge f g, ...")) << "";
  EXPECT_THAT(with("* wall", "d g wall"), HasSubstr(file + "21: edge d g lies inside, between patches 1 and 2"));
  EXPECT_THAT(with("a b d c  K", "a d b c  K"), HasSubstr("of patch 0 is turned over, folded or has no area"));
  EXPECT_THAT(with("vertices\n", ""), HasSubstr(file + "3: 'a' stands in no section"));
  EXPECT_THAT(refusal("l.txt", ""), HasSubstr("has no section 'vertices'"));
}

TEST_F(PatchReaders, TextKnowsArcsAndRefusesPatchesThatDoNotMatch) {
  const PatchFile ring = read_patches(write("ring.txt", R"(
cells 4
vertices
  a 1 0
  b 0 1
  c -1 0
  A 2 0
  B 0 2
  C -2 0
patches
  a A B b
  b B C c
edges
  a b c arc=0,0
  A B C arc=0,0
boundaries
  a b c inner
  * outer
)"));
  for (int p = 0; p < 2; ++p) {
    const PatchNodes nodes = ring.mesh.nodes_of(p);
    for (int j = 0; j <= 4; ++j)
      EXPECT_NEAR(std::hypot(nodes.at[nodes.node(0, j)].x, nodes.at[nodes.node(0, j)].y), 1, 1e-15);
  }
  // One large patch below two small ones: their common vertex hangs.
  EXPECT_THAT(refusal("hanging.txt", R"(
vertices
  a 0 0
  b 2 0
  c 2 1
  d 0 1
  m 1 1
  e 2 2
  f 1 2
  g 0 2
patches
  a b c d
  d m f g
  m c e f
boundaries
  * wall
)"),
              HasSubstr("vertex m lies on edge d c, which it is no end of: the patches do not match there"));
}

/// A mesh of Gmsh: the unit square of m x m quadrilaterals, version 2 or 4; nodes in no order.
std::string gmsh_square(int version, int m, const std::string& top = "lid") {
  const auto tag = [m](int i, int j) { return 1 + (7 * (j * (m + 1) + i)) % ((m + 1) * (m + 1)); };
  std::ostringstream nodes, quads, lines;
  std::vector<std::pair<int, std::string>> places;
  for (int j = 0; j <= m; ++j)
    for (int i = 0; i <= m; ++i) places.emplace_back(tag(i, j), message(i / double(m), " ", j / double(m), " 0"));
  int element = 0;
  std::ostringstream out;
  out << "$MeshFormat\n"
      << (version == 2 ? "2.2" : "4.1") << " 0 8\n$EndMeshFormat\n"
      << "$PhysicalNames\n2\n1 5 \"" << top << "\"\n2 9 \"inside\"\n$EndPhysicalNames\n";
  if (version == 2) {
    for (int i = 0; i < m; ++i) {
      lines << ++element << " 1 2 5 3 " << tag(i, m) << " " << tag(i + 1, m) << "\n";
      lines << ++element << " 1 2 0 1 " << tag(i, 0) << " " << tag(i + 1, 0) << "\n";
      lines << ++element << " 1 2 0 1 " << tag(0, i) << " " << tag(0, i + 1) << "\n";
      lines << ++element << " 1 2 0 1 " << tag(m, i) << " " << tag(m, i + 1) << "\n";
    }
    for (int j = 0; j < m; ++j)
      for (int i = 0; i < m; ++i)
        quads << ++element << " 3 2 9 1 " << tag(i, j) << " " << tag(i + 1, j) << " " << tag(i + 1, j + 1) << " "
              << tag(i, j + 1) << "\n";
    out << "$Nodes\n" << places.size() << "\n";
    for (const auto& [k, at] : places) out << k << " " << at << "\n";
    out << "$EndNodes\n$Elements\n" << element << "\n" << lines.str() << quads.str() << "$EndElements\n";
    return out.str();
  }
  out << "$Entities\n0 2 1 0\n1 0 0 0 1 1 0 0 0\n3 0 0 0 1 1 0 1 5 0\n1 0 0 0 1 1 0 1 9 0\n$EndEntities\n";
  out << "$Nodes\n1 " << places.size() << " 1 " << places.size() << "\n2 1 0 " << places.size() << "\n";
  for (const auto& [k, at] : places) out << k << "\n";
  for (const auto& [k, at] : places) out << at << "\n";
  out << "$EndNodes\n$Elements\n3 0 1 99\n1 3 1 " << m << "\n";
  for (int i = 0; i < m; ++i) out << ++element << " " << tag(i, m) << " " << tag(i + 1, m) << "\n";
  out << "1 1 1 " << 3 * m << "\n";
  for (int i = 0; i < m; ++i) {
    out << ++element << " " << tag(i, 0) << " " << tag(i + 1, 0) << "\n";
    out << ++element << " " << tag(0, i) << " " << tag(0, i + 1) << "\n";
    out << ++element << " " << tag(m, i) << " " << tag(m, i + 1) << "\n";
  }
  out << "2 1 3 " << m * m << "\n";
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < m; ++i)
      out << ++element << " " << tag(i, j) << " " << tag(i + 1, j) << " " << tag(i + 1, j + 1) << " " << tag(i, j + 1)
          << "\n";
  out << "$EndElements\n";
  return out.str();
}

TEST_F(PatchReaders, Gmsh) {
  for (const int version : {2, 4}) {
    const PatchFile file = read_patches(write("square.msh", gmsh_square(version, 5)));
    EXPECT_EQ(file.summary, "25 quadrilaterals in 1 patch of 5 x 5 to 5 x 5 cells");
    EXPECT_EQ(file.mesh.nodes(), 36);
    EXPECT_THAT(file.mesh.boundary_names(), UnorderedElementsAre("lid", "curve1"));
  }
  // Lines inside, as those of Gmsh's curves between surfaces, name nothing.
  std::string inside = gmsh_square(2, 4);
  inside.replace(inside.find("$EndElements"), 12, "999 1 2 0 77 18 25\n$EndElements");
  inside.replace(inside.find("$Elements\n32"), 12, "$Elements\n33");
  EXPECT_THAT(read_patches(write("inside.msh", inside)).mesh.boundary_names(), UnorderedElementsAre("lid", "curve1"));
  EXPECT_THAT(refusal("s.msh", "$MeshFormat\n4.1 1 8\n"), HasSubstr("line 2: the file is binary"));
  EXPECT_THAT(refusal("s.msh", "$MeshFormat\n3 0 8\n"), HasSubstr("version 3 of the format is not read"));
  EXPECT_THAT(refusal("s.msh", "hello\n"), HasSubstr("it is no file of Gmsh"));
  std::string text = gmsh_square(2, 3);
  text.replace(text.find(" 3 2 9 1 "), 9, " 2 2 9 1 ");
  EXPECT_THAT(refusal("s.msh", text),
              HasSubstr("surface 1 has triangles; patches are made of quadrilaterals: use Recombine"));
  text = gmsh_square(4, 3);
  EXPECT_THAT(refusal("s.msh", text.substr(0, text.size() - 40)), HasSubstr("the file ends too early"));
  // Nobody knows whether digits of the last node are gone.
  EXPECT_THAT(refusal("s.msh", text.substr(0, text.find("\n$EndElements"))), HasSubstr("it has no $EndElements"));
  // Boundaries without curves.
  text = gmsh_square(4, 3);
  text.replace(text.find("1 1 1 9\n"), 8, "2 9 3 0\n0 1 15 9\n");
  text.replace(text.find("$Elements\n3"), 11, "$Elements\n4");
  EXPECT_THAT(refusal("s.msh", text), HasSubstr("3 boundary edges have no name"));
  EXPECT_THROW((void)read_patches(path("square.msh"), {}, 8), UsageError);
}

/// Quadrilaterals of a mesh of patches, in another order and each turned; regions by patch.
QuadMesh quads_of(const PatchMesh& mesh, std::uint64_t seed, bool regions) {
  QuadMesh quads;
  std::mt19937_64 random(seed);
  std::map<std::pair<double, double>, int> numbers;
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    const auto number = [&](int i, int j) {
      const Position at = nodes.at[nodes.node(i, j)];
      const auto [found, is_new] = numbers.try_emplace({at.x, at.y}, static_cast<int>(quads.nodes.size()));
      if (is_new) quads.nodes.push_back(at);
      return found->second;
    };
    for (int j = 0; j < nodes.ny; ++j)
      for (int i = 0; i < nodes.nx; ++i) {
        std::array<int, 4> quad = {number(i, j), number(i + 1, j), number(i + 1, j + 1), number(i, j + 1)};
        std::rotate(quad.begin(), quad.begin() + random() % 4, quad.end());
        if (random() % 2 == 0) std::reverse(quad.begin(), quad.end());
        quads.quads.push_back(quad);
        if (regions) quads.regions.push_back(p);
      }
  }
  if (!regions) std::shuffle(quads.quads.begin(), quads.quads.end(), random);
  return quads;
}

/// Surfaces with nodes of their own on a curve between them, as Gmsh makes them where nobody asks for coherence.
TEST_F(PatchReaders, GmshSurfacesThatAreNotJoined) {
  const auto squares = [](const std::string& nodes, int group) {
    return message("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n", nodes,
                   "7 2 1 0\n8 2 0 0\n$EndNodes\n$Elements\n4\n1 1 2 ", group, " 1 2 3\n2 1 2 ", group,
                   " 2 5 6\n3 3 2 0 1 1 2 3 4\n4 3 2 0 2 5 8 7 6\n$EndElements\n");
  };
  EXPECT_THAT(
      refusal("two.msh", squares("5 1 0 0\n6 1 1 0\n", 0)),
      HasSubstr("the surfaces do not match: two edges between the same places are not joined, (1, 0) and (1, 1)"));
  EXPECT_THAT(refusal("half.msh", squares("5 1 0 0\n6 1 0.5 0\n", 0)),
              HasSubstr("the surfaces do not match: a node at"));
  EXPECT_THAT(refusal("over.msh", squares("5 0.5 0.5 0\n6 0.5 1 0\n", 0)), HasSubstr("the surfaces do not match"));
  // Physical groups name the faces of a crack; what is refused then are the other boundaries, which have no curves here.
  EXPECT_THAT(refusal("crack.msh", squares("5 1 0 0\n6 1 1 0\n", 7)), HasSubstr("6 boundary edges have no name"));
}

TEST_F(PatchReaders, BaseComplexFindsThePatchesAgain) {
  struct Case {
    PatchMeshParts parts;
    int patches;  // without what need not be apart
  };
  // A grid of patches is one, a ring three. The cylinder has two irregular nodes, where its wake begins.
  for (const auto& [parts, patches] : {Case{l_shape(), 3},
                                       {square_with_hole(), 8},
                                       {star(5), 5},
                                       {star(4), 1},
                                       {pipe_section(), 5},
                                       {patch_grid(3, 2), 1},
                                       {patch_ring(8), 3},
                                       {triangle_patches(2, 3), 24},
                                       {cylinder_in_channel(), 3}}) {
    auto with_cells = parts;
    with_cells.cells = 4;
    const PatchMesh mesh(with_cells);
    for (const bool regions : {false, true}) {
      BaseComplex found = base_complex(quads_of(mesh, 3, regions), "mesh");
      found.parts.other_boundaries = "all";
      const PatchMesh again(found.parts);
      if (regions)
        EXPECT_EQ(again.patches(), mesh.patches());
      else
        EXPECT_EQ(again.patches(), patches) << found.summary;
      EXPECT_EQ(again.cells(), mesh.cells());
      EXPECT_EQ(again.nodes(), mesh.nodes());
    }
  }
}

TEST_F(PatchReaders, BaseComplexEndsPatchesWhereBoundariesEnd) {
  auto parts = patch_grid(1, 1);
  parts.cells = 4;
  QuadMesh quads = quads_of(PatchMesh(parts), 1, false);
  const auto node = [&](double x, double y) {
    for (std::size_t k = 0; k < quads.nodes.size(); ++k)
      if (quads.nodes[k].x == x && quads.nodes[k].y == y) return static_cast<int>(k);
    return -1;
  };
  quads.lines = {{node(0, 0), node(.25, 0), "heater"}};
  BaseComplex found = base_complex(quads, "mesh");
  found.parts.other_boundaries = "rest";
  const PatchMesh mesh(found.parts);
  EXPECT_EQ(mesh.patches(), 2);
  EXPECT_THAT(mesh.boundary_names(), UnorderedElementsAre("heater", "rest"));
  quads.quads.push_back(quads.quads[0]);
  EXPECT_THROW((void)base_complex(quads, "mesh"), UsageError);
}

constexpr const char* feat3_text = R"(<FeatMeshFile version="1" mesh="conformal:hypercube:2:2">
  <Info>
   quarter of a disc
  </Info>
  <Chart name="outer">
    <Circle radius="1" midpoint="0 0" domain="0 4" />
  </Chart>
  <Mesh type="conformal:hypercube:2:2" size="7 9 3">
    <Vertices>
      0 0
      1 0
      0.70710678118654757 0.70710678118654757
      0 1
      0.5 0
      0.4 0.4
      0 0.5
    </Vertices>
    <Topology dim="1">
      0 4
      4 1
      1 2
      2 3
      3 6
      6 0
      4 5
      5 6
      5 2
    </Topology>
    <Topology dim="2">
      0 4 6 5
      4 1 5 2
      6 5 3 2
    </Topology>
  </Mesh>
  <MeshPart name="bnd:o" parent="root" chart="outer" topology="full" size="3 2">
    <Mapping dim="0">
      1
      2
      3
    </Mapping>
    <Mapping dim="1">
      2
      3
    </Mapping>
    <Topology dim="1">
      0 1
      1 2
    </Topology>
    <Attribute name="param" dim="1">
      0
      1
      2
    </Attribute>
  </MeshPart>
  <MeshPart name="bnd:s" parent="root" size="0 4">
    <Mapping dim="1">
      0
      1
      4
      5
    </Mapping>
  </MeshPart>
</FeatMeshFile>
)";

TEST_F(PatchReaders, Feat3) {
  const PatchFile file = read_patches(write("disc.xml", feat3_text), {}, 8);
  EXPECT_EQ(file.mesh.patches(), 3);
  EXPECT_EQ(file.mesh.cells(), 3 * 64);
  EXPECT_THAT(file.mesh.boundary_names(), UnorderedElementsAre("bnd:o", "bnd:s"));
  const PatchNodes nodes = file.mesh.nodes_of(1);
  for (int j = 0; j <= 8; ++j)
    EXPECT_NEAR(std::hypot(nodes.at[nodes.node(8, j)].x, nodes.at[nodes.node(8, j)].y), 1, 1e-15);
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string text = feat3_text;
    for (auto at = text.find(before); at != std::string::npos; at = text.find(before, at + after.size()))
      text.replace(at, before.size(), after);
    return refusal("disc.xml", text);
  };
  EXPECT_THAT(with("hypercube:2:2", "simplex:2:2"), HasSubstr("the mesh is of triangles"));
  EXPECT_THAT(with("Circle", "Polyline"),
              HasSubstr("follows the chart 'outer', a Polyline; circles and Bezier curves"));
  EXPECT_THAT(with("Circle", "Bezier"), HasSubstr("line 6: a curve has two points or more"));
  EXPECT_THAT(with("bnd:s\"", "bnd:o\""), "");
  EXPECT_THAT(with("      0 4 6 5\n", "      0 4 6 9\n"), HasSubstr("line 30: there is no vertex 9; there are 7"));
  EXPECT_THAT(with("      0 4 6 5\n", "      0 4 6\n"), HasSubstr("line 30: a line has 4 numbers, not 3"));
  EXPECT_THAT(with("</Topology>", ""), HasSubstr("a tag"));
  EXPECT_THAT(with("      4\n      5\n    </Mapping>", "    </Mapping>"), HasSubstr("2 boundary edges have no name"));
  // Cut between its parts.
  EXPECT_THAT(with("</FeatMeshFile>\n", ""), HasSubstr("ends too early"));
}

TEST_F(PatchReaders, Feat3FollowsBezierCurves) {
  // A quarter of a circle, nearly; where vertices lie on it the file says, or they say it themselves.
  const std::string circle = R"(<Circle radius="1" midpoint="0 0" domain="0 4" />)",
                    param = R"(    <Attribute name="param" dim="1">
      0
      1
      2
    </Attribute>
)";
  for (const char* const params : {"      0\n      0.5\n      1\n", ""}) {
    std::string text = feat3_text;
    text.replace(text.find(circle), circle.size(), R"(<Bezier dim="2" size="2" type="open">
      <Points>
        0 1 0
        2 1 0.5522847498307936 0.5522847498307936 1 0 1
      </Points>
    </Bezier>)");
    text.replace(text.find(param), param.size(),
                 *params == 0 ? ""
                              : message("    <Attribute name=\"param\" dim=\"1\">\n", params, "    </Attribute>\n"));
    const PatchMesh mesh = read_patches(write("disc.xml", text), {}, 8).mesh;
    const PatchNodes nodes = mesh.nodes_of(1);
    for (int j = 0; j <= 8; ++j)
      EXPECT_NEAR(std::hypot(nodes.at[nodes.node(8, j)].x, nodes.at[nodes.node(8, j)].y), 1, 3e-4) << params;
    EXPECT_NE(nodes.at[nodes.node(8, 4)].x, (nodes.at[nodes.node(8, 0)].x + nodes.at[nodes.node(8, 8)].x) / 2);
  }
}

TEST_F(PatchReaders, Vtm) {
  if (!vtk_available()) GTEST_SKIP() << "no VTK in this build";
  auto parts = cylinder_in_channel();
  parts.cells = 4;
  const PatchMesh mesh(turned_at_random(
      graded_towards(parts, vertices_of_boundary(parts, "wall"), {VertexGrading::Kind::smallest, 1e-4}), 5));
  write_vtm(path("mesh.vtm"), mesh, [&](int p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    return PatchFields{{{"u", std::vector<double>(nodes.at.size(), 1.0)}}, {{"patch", std::vector<double>(16, p)}}};
  });
  const PatchFile file = read_patches(path("mesh.vtm"));
  EXPECT_EQ(file.mesh.nodes(), mesh.nodes());
  EXPECT_EQ(file.mesh.cells(), mesh.cells());
  EXPECT_THAT(file.mesh.boundary_names(), testing::Contains("0.left"));
  // A block whose edge has twice as many nodes.
  const PatchNodes nodes = mesh.halved(1).nodes_of(0);
  write_vts(path("mesh/0.vts"), nodes.nx, nodes.ny, nodes.at, {});
  EXPECT_THAT(
      refusal(
          "mesh.vtm",
          R"(<VTKFile type="vtkMultiBlockDataSet"><DataSet file="mesh/0.vts"/><DataSet file="mesh/1.vts"/></VTKFile>)"),
      HasSubstr("the blocks do not match"));
  EXPECT_THAT(refusal("mesh.vtm", R"(<VTKFile type="vtkMultiBlockDataSet"><DataSet file="mesh/99.vts"/></VTKFile>)"),
              HasSubstr("99.vts"));
  EXPECT_THAT(refusal("mesh.vtm", "nothing"), HasSubstr("is no multi-block file"));
  // Cut between its blocks.
  EXPECT_THAT(refusal("mesh.vtm", R"(<VTKFile type="vtkMultiBlockDataSet"><DataSet file="mesh/1.vts"/>)"),
              HasSubstr("ends too early"));
}

}  // namespace
}  // namespace stratum
