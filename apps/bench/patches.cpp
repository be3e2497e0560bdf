#include "patches.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include <stratum/mesh/patches/patch_geometries.hpp>
#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

namespace stratum::apps::bench {

namespace {

PatchMeshParts parts_of(const PatchCase& patches) {
  constexpr double thinnest = 1e-6;
  constexpr int triangles = 3, squares = 8;
  PatchMeshParts parts = patches.name == "cylinder"    ? cylinder_in_channel()
                         : patches.name == "triangles" ? triangle_patches(triangles)
                                                       : patch_grid(squares, squares);
  parts.cells = patches.cells;
  if (patches.name != "cylinder") return parts;
  const auto wall = vertices_of_boundary(parts, "wall");
  return graded_towards(parts, wall, {VertexGrading::Kind::smallest, thinnest});
}

Json measure_case(const Recorder& recorder, const PatchCase& patches) {
  const PatchMesh mesh(parts_of(patches));
  PatchProblem problem;
  problem.rhs = [](const Point& p) { return 1 + std::sin(7 * p.x + 3 * p.y); };
  PatchSolverParams params;
  params.full_multigrid = false;
  PatchPoissonSolver solver(recorder.ctx(), mesh, problem, params);
  SolveReport report;
  const double seconds = seconds_of(recorder, [&] { report = solver.solve(); }),
               pass = seconds_of(recorder, [&] { (void)solver.full_multigrid_pass(); });
  const auto unknowns = static_cast<double>(solver.unknowns());
  const std::string name = message(patches.name, ", ", mesh.patches(), " of ", patches.cells, "^2");
  std::printf("%-34s %9.3f ms %3d iterations, residual %.1e, %s; FMG cycle %.3f ms; set-up %.2f s\n", name.c_str(),
              1e3 * seconds, report.iterations, report.relative_residual(),
              std::string(to_string(report.status)).c_str(), 1e3 * pass, report.setup_seconds);
  JsonObject json;
  json.add("mesh", patches.name).add("patches", mesh.patches()).add("cells", patches.cells).add("unknowns", unknowns);
  json.add("seconds", seconds).add("status", std::string(to_string(report.status)));
  json.add("iterations", report.iterations).add("relative_residual", report.relative_residual());
  json.add("fmg_seconds", pass).add("setup_seconds", report.setup_seconds);
  return json.value();
}

}  // namespace

Json measure_patches(Recorder& recorder) {
  Json all = Json::array();
  std::printf("\nPatches: conjugate gradients around a cycle in float, to 1e-8 from zero\n");
  if (const Communicator* const ranks = recorder.ctx().communicator())
    std::printf("on %d ranks, which exchange by %s\n", ranks->size(), std::string(ranks->name()).c_str());
  for (const PatchCase& patches : recorder.settings().patches)
    recorder.attempt(message("patches ", patches.name, ":", patches.cells),
                     [&] { all.push_back(measure_case(recorder, patches)); });
  return all;
}

}  // namespace stratum::apps::bench
