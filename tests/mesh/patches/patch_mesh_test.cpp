// Meshes of patches: how edges and chords join, where nodes lie, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <stratum/mesh/patches/patch_geometries.hpp>
#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {
namespace {

using testing::HasSubstr;

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

PatchMeshParts with_cells(PatchMeshParts parts, int cells) {
  parts.cells = cells;
  return parts;
}

double area(const PatchMesh& mesh) {
  double sum = 0;
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    for (int j = 0; j < nodes.ny; ++j)
      for (int i = 0; i < nodes.nx; ++i) {
        const auto cross = [](const Position& a, const Position& b) { return a.x * b.y - a.y * b.x; };
        const auto x = [&](int b) { return nodes.step_x[static_cast<std::size_t>((j + b) * nodes.nx + i)]; };
        const auto y = [&](int a) { return nodes.step_y[nodes.node(i + a, j)]; };
        sum += (cross(x(0), y(0)) + cross(x(0), y(1)) + cross(x(1), y(0)) + cross(x(1), y(1))) / 4;
      }
  }
  return sum;
}

/// All copies of the nodes of an edge.
void expect_same_bits_on_edges(const PatchMesh& mesh) {
  std::vector<PatchNodes> nodes;
  for (int p = 0; p < mesh.patches(); ++p) nodes.push_back(mesh.nodes_of(p));
  for (int e = 0; e < mesh.edges(); ++e) {
    std::vector<std::vector<Position>> copies;
    for (const auto& [p, l] : mesh.edge(e).sides) {
      const PatchNodes& own = nodes[static_cast<std::size_t>(p)];
      std::vector<Position> on_edge;
      for (int k = 0; k <= (l % 2 == 0 ? own.nx : own.ny); ++k)
        on_edge.push_back(own.at[l == 0   ? own.node(k, 0)
                                 : l == 1 ? own.node(own.nx, k)
                                 : l == 2 ? own.node(k, own.ny)
                                          : own.node(0, k)]);
      if (mesh.local_edges(p)[static_cast<std::size_t>(l)].reversed) std::reverse(on_edge.begin(), on_edge.end());
      copies.push_back(on_edge);
    }
    if (copies.size() < 2) continue;
    ASSERT_EQ(copies[0].size(), copies[1].size());
    for (std::size_t k = 0; k < copies[0].size(); ++k) {
      EXPECT_EQ(copies[0][k].x, copies[1][k].x);
      EXPECT_EQ(copies[0][k].y, copies[1][k].y);
    }
  }
}

TEST(PatchMesh, CountsOfTheGeometries) {
  struct Counts {
    PatchMeshParts parts;
    int patches, edges, vertices, chords;
  };
  for (const Counts& c : {Counts{l_shape(), 3, 10, 8, 4},
                          {square_with_hole(), 8, 24, 16, 8},
                          {cylinder_in_channel(), 14, 39, 25, 12},
                          {pipe_section(), 5, 12, 8, 3},
                          {star(5), 5, 15, 11, 5},
                          {patch_grid(3, 2), 6, 17, 12, 5},
                          {patch_ring(8), 8, 24, 16, 9},
                          {c_grid(), 6, 18, 12, 6}}) {
    const PatchMesh mesh(with_cells(c.parts, 4));
    EXPECT_EQ(mesh.patches(), c.patches);
    EXPECT_EQ(mesh.edges(), c.edges);
    EXPECT_EQ(mesh.vertices(), c.vertices);
    EXPECT_EQ(mesh.chords(), c.chords);
    EXPECT_EQ(mesh.cells(), 16 * c.patches);
    // V - E + F of the fine mesh equals that of the patches.
    std::int64_t edges = 0;
    for (int e = 0; e < mesh.edges(); ++e) edges += 4;
    edges += std::int64_t{mesh.patches()} * 2 * 3 * 4;
    EXPECT_EQ(mesh.nodes() - edges + mesh.cells(), c.vertices - c.edges + c.patches);
  }
  EXPECT_EQ(PatchMesh(triangle_patches(3, 1)).patches(), 54);
}

TEST(PatchMesh, CellsCoverTheDomain) {
  EXPECT_NEAR(area(PatchMesh(l_shape())), 3, 1e-14);
  EXPECT_NEAR(area(PatchMesh(square_with_hole())), 8, 1e-14);
  EXPECT_NEAR(area(PatchMesh(triangle_patches(3, 1))), 1, 1e-14);
  // Polygons in circles: 128 and 256 corners.
  const auto polygon = [](int n, double r) { return 0.5 * n * r * r * std::sin(2 * std::numbers::pi / n); };
  EXPECT_NEAR(area(PatchMesh(with_cells(pipe_section(), 32))), polygon(128, 1), 1e-13);
  EXPECT_NEAR(area(PatchMesh(with_cells(patch_ring(8), 32))), polygon(256, 2) - polygon(256, 1), 1e-12);
  EXPECT_NEAR(area(PatchMesh(with_cells(cylinder_in_channel(), 32))), 2.2 * 0.41 - polygon(256, 0.05), 1e-13);
}

TEST(PatchMesh, NeighboursHaveTheSameBitsOnTheirEdges) {
  for (auto parts : {cylinder_in_channel(), pipe_section(), c_grid(), triangle_patches(2, 5)}) {
    parts.cells = 6;
    for (const std::uint64_t seed : {1, 2})
      expect_same_bits_on_edges(PatchMesh(turned_at_random(
          graded_towards(parts, vertices_of_boundary(parts, parts.edges.empty() ? "outer" : "wall"), {}), seed)));
  }
}

TEST(PatchMesh, TurnedPatchesKeepTheirGradings) {
  auto parts = l_shape();
  parts.cells = 8;
  const int corner = 2;
  ASSERT_EQ(parts.vertices[corner].x, 0);
  ASSERT_EQ(parts.vertices[corner].y, 0);
  parts = graded_towards(parts, {corner}, {VertexGrading::Kind::bisected, 0.25});
  const PatchMesh plain(parts), turned(turned_at_random(parts, 3));
  for (const PatchMesh& mesh : {plain, turned})
    for (const auto& [p, c] : mesh.patches_of_vertex(corner)) {
      const PatchNodes nodes = mesh.nodes_of(p);
      const bool right = c == 1 || c == 2, upper = c >= 2;
      const Position x =
          nodes.step_x[static_cast<std::size_t>((upper ? nodes.ny : 0) * nodes.nx + (right ? nodes.nx - 1 : 0))];
      EXPECT_EQ(std::abs(x.x + x.y), 0.125 * 0.125 * 0.125);  // (nu / 2)^3
    }
}

TEST(PatchMesh, StepsOfThinCellsHaveAllTheirDigits) {
  // At (1, 1) positions are 1e-16 apart, widths 1e-18.
  auto parts = patch_grid(1, 1);
  parts.cells = 8;
  parts = graded_towards(parts, {2}, {VertexGrading::Kind::smallest, 1e-18});
  const PatchMesh mesh(parts);
  const PatchNodes nodes = mesh.nodes_of(0);
  for (int j = 0; j <= 8; ++j) EXPECT_NEAR(nodes.step_x[static_cast<std::size_t>(j * 8 + 7)].x / 1e-18, 1, 1e-9);
  // Along an arc, against the distance of two points on the circle.
  auto ring = patch_ring(4);
  ring.cells = 4;
  ring.edges.front().widths = {1e-17, 0.3, 0.3, 0.4};
  const PatchNodes round = PatchMesh(ring).nodes_of(0);
  const auto along = round.step_y[round.node(0, 0)];
  EXPECT_NEAR(std::hypot(along.x, along.y) / (1e-17 * std::numbers::pi / 2), 1, 1e-14);
}

TEST(PatchMesh, ReversedGradingsAreReversedWidths) {
  auto parts = patch_grid(1, 1);
  PatchEdgeParts edge;
  edge.first = 1;  // against the patch
  edge.second = 0;
  edge.cells = 10;
  edge.grading = parse_grading("geometric:h=1e-9,last");
  parts.edges.push_back(edge);
  const Axis axis = PatchMesh(parts).axis(0, Direction::x);
  EXPECT_EQ(axis.widths(), geometric_with_smallest(1, 10, 1e-9, GradedSide::first).widths());
}

TEST(PatchMesh, HalvedFollowsCurvesAndWidths) {
  auto parts = pipe_section();
  parts.cells = 4;
  const PatchMesh fine = PatchMesh(parts).halved(2);
  parts.cells = 16;
  const PatchMesh direct(parts);
  EXPECT_EQ(fine.cells(), direct.cells());
  EXPECT_NEAR(area(fine), area(direct), 1e-13);
}

TEST(PatchMesh, RefusesContradictions) {
  const auto made = [](const PatchMeshParts& parts) { return refusal([&] { (void)PatchMesh(parts); }); };
  const auto edge = [](int a, int b, int cells, const char* grading = nullptr) {
    PatchEdgeParts said;
    said.first = a;
    said.second = b;
    said.cells = cells;
    if (grading != nullptr) said.grading = parse_grading(grading);
    said.where = "'mesh', line 7";
    return said;
  };
  // 0 1 / 2 3: the first patch; 4 beyond 1 is the right one.
  auto parts = patch_grid(2, 1);
  parts.edges.push_back(edge(0, 3, 8));
  parts.edges.push_back(edge(4, 5, 9));
  EXPECT_THAT(made(parts), HasSubstr("'mesh', line 7: edge 4 5 has 9 cells, but 'mesh', line 7: edge 0 3 has 8"));
  parts.edges.pop_back();
  parts.edges.back().grading = parse_grading("geometric:2,first");
  EXPECT_EQ(made(parts), "");
  parts.edges.push_back(edge(4, 5, 0, "geometric:2,last"));
  const std::string other = made(parts);
  parts.edges.back() = edge(5, 4, 0, "geometric:2,last");
  const std::string same = made(parts);
  EXPECT_TRUE(other.empty() != same.empty()) << other << same;
  EXPECT_THAT(other + same, HasSubstr("another grading than 'mesh', line 7: edge 0 3"));
  parts.edges.back() = edge(0, 2, 0);
  EXPECT_THAT(made(parts), HasSubstr("edge 0 2 is no edge of a patch"));
  parts.edges.back() = edge(1, 2, 0);
  parts.edges.back().boundary = "wall";
  EXPECT_THAT(made(parts), HasSubstr("edge 1 2 lies inside, between patches 0 and 1"));

  parts = patch_grid(2, 1);
  parts.patches.push_back({1, 2, 5, 0});
  EXPECT_THAT(made(parts), HasSubstr("edge 1 2 belongs to three patches, 0, 1 and 2"));

  parts = l_shape();
  parts.other_boundaries.clear();
  EXPECT_THAT(made(parts), HasSubstr("8 boundary edges have no name"));
  parts = l_shape();
  parts.patches[0][1] = parts.patches[0][0];
  EXPECT_THAT(made(parts), HasSubstr("twice; patches are quadrilaterals"));
  parts = l_shape();
  parts.vertices[0] = {-0.4, -0.4};
  EXPECT_THAT(made(parts), HasSubstr("of patch 0 is turned over, folded or has no area"));
  parts = patch_grid(1, 1);
  parts.edges.push_back(edge(0, 1, 0));
  parts.edges.back().curve = {EdgeCurve::Kind::arc, {0.5, -1}, {}};
  parts.edges.push_back(parts.edges.back());
  EXPECT_THAT(made(parts), HasSubstr("edge 0 1 has two curves; two edges with the same two vertices are one"));
  parts.edges.pop_back();
  parts.edges.back().curve = {EdgeCurve::Kind::arc, {0.5, 0}, {}};
  EXPECT_THAT(made(parts), HasSubstr("an arc of half a turn can go either way"));
  parts.edges.back().curve = {EdgeCurve::Kind::function, {}, [](double t) { return Position{t, 0.5}; }};
  EXPECT_THAT(made(parts), HasSubstr("its curve is at (0, 0.5) for t = 0, and the vertex at (0, 0)"));
}

TEST(PatchMesh, RefusesGradingsOfMoebiusBandsThatAreNotSymmetric) {
  // Three patches around, the third joins the first the other way.
  PatchMeshParts parts;
  parts.vertices = {{1, 0}, {2, 0}, {-0.5, 0.9}, {-1, 1.8}, {-0.5, -0.9}, {-1, -1.8}};
  parts.patches = {{0, 1, 3, 2}, {2, 3, 5, 4}, {4, 5, 0, 1}};
  parts.other_boundaries = "wall";
  PatchEdgeParts edge;
  edge.first = 0;
  edge.second = 1;
  edge.cells = 8;
  edge.grading = parse_grading("geometric:2,first");
  parts.edges = {edge};
  EXPECT_THAT(refusal([&] { (void)PatchMesh(parts); }), HasSubstr("a Moebius band"));
  parts.edges[0].grading = parse_grading("geometric:2,both");
  EXPECT_THAT(refusal([&] { (void)PatchMesh(parts); }), HasSubstr("the mesh is folded there"));
}

TEST(PatchMesh, FromGridsOfNodes) {
  // Two patches of 2 x 2 and 2 x 1 cells side by side; the second one is turned.
  GridPatchParts parts;
  for (int j = 0; j <= 2; ++j)
    for (int i = 0; i <= 3; ++i) parts.nodes.push_back({static_cast<double>(i), static_cast<double>(j)});
  const auto n = [](int i, int j) { return j * 4 + i; };
  parts.patches = {{2, 2, {n(0, 0), n(1, 0), n(2, 0), n(0, 1), n(1, 1), n(2, 1), n(0, 2), n(1, 2), n(2, 2)}},
                   {2, 1, {n(3, 2), n(3, 1), n(3, 0), n(2, 2), n(2, 1), n(2, 0)}}};
  parts.boundaries = {{n(3, 0), n(3, 1), "right"}};
  parts.other_boundaries = "rest";
  const PatchMesh mesh(parts);
  EXPECT_EQ(mesh.edges(), 7);
  EXPECT_EQ(mesh.vertices(), 6);
  EXPECT_EQ(mesh.nodes(), 12);
  EXPECT_THAT(mesh.boundary_names(), testing::ElementsAre("right", "rest"));
  EXPECT_NEAR(area(mesh), 6, 1e-14);
  expect_same_bits_on_edges(mesh);
  expect_same_bits_on_edges(mesh.halved(2));
  EXPECT_NEAR(area(mesh.halved(2)), 6, 1e-14);
  EXPECT_EQ(mesh.halved(2).cells(), 96);
  // A T-junction.
  parts.patches[1] = {1, 1, {n(2, 0), n(3, 0), n(2, 1), n(3, 1)}};
  EXPECT_THAT(refusal([&] { (void)PatchMesh(parts); }), HasSubstr("patches meet in whole edges"));
}

}  // namespace
}  // namespace stratum
