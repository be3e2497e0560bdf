#include "boxes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/operators/box_operator.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>
#include <stratum/solvers/direct/box_diagonalization.hpp>

#include "bench/peers/hypre_box.hpp"

namespace stratum::apps::bench {

namespace {

enum class Kind : std::uint8_t { uniform, graded, neumann };

const char* name_of(Kind kind) {
  return kind == Kind::uniform ? "uniform" : kind == Kind::graded ? "graded in x, y, z" : "the same, Neumann";
}

/// Of several ranks those of the last one.
double seconds_of(const Recorder& recorder, const std::function<void()>& run) {
  const Stopwatch now = recorder.settings().now;
  constexpr int samples = 5;
  double shortest = std::numeric_limits<double>::infinity();
  Communicator* const ranks = recorder.ctx().communicator();
  for (int k = 0; k <= samples; ++k) {
    recorder.ctx().synchronise();
    if (ranks != nullptr) ranks->barrier();
    const double begin = now();
    run();
    recorder.ctx().synchronise();
    double seconds = now() - begin;
    if (ranks != nullptr) {
      const auto of_ranks = ranks->gather_on_host(seconds);
      seconds = *std::max_element(of_ranks.begin(), of_ranks.end());
    }
    if (k > 0) shortest = std::min(shortest, seconds);
  }
  return shortest;
}

TensorMesh<3> mesh_of(const BoxCells& cells, Kind kind) {
  const auto axis = [&](int n) {
    const double smallest = std::min(1e-6, 0.5 / n);
    return kind == Kind::uniform ? uniform(1, n) : geometric_with_smallest(1, n, smallest, GradedSide::first);
  };
  return {axis(cells[0]), axis(cells[1]), axis(cells[2])};
}

constexpr double box_rtol = 1e-10;
constexpr int most_cycles = 100;

/// One of hypre's solvers on the same matrix.
Json measure_peer(const Recorder& recorder, const Hypre& hypre, const std::string& name, const BoxCells& cells,
                  Kind kind) {
  const SolveReport report =
      solve_box_by_hypre(hypre, name, mesh_of(cells, kind), box_rtol, most_cycles, recorder.settings().now);
  std::printf("  hypre %-26s %9.3f ms %23d cycles, residual %.1e, %s; set-up %.2f s\n", name.c_str(),
              1e3 * report.solve_seconds, report.iterations, report.relative_residual(),
              std::string(to_string(report.status)).c_str(), report.setup_seconds);
  JsonObject json;
  json.add("cells", Json::array({cells[0], cells[1], cells[2]}))
      .add("kind", name_of(kind))
      .add("peer", "hypre " + name);
  json.add("seconds", report.solve_seconds).add("status", std::string(to_string(report.status)));
  json.add("iterations", report.iterations).add("relative_residual", report.relative_residual());
  json.add("setup_seconds", report.setup_seconds);
  return json.value();
}

Json measure_box(const Recorder& recorder, const BoxCells& cells, Kind kind) {
  Context& ctx = recorder.ctx();
  const TensorMesh<3> mesh = mesh_of(cells, kind);
  PoissonProblem3D problem;
  if (kind == Kind::neumann)
    for (const BoxFace face : {BoxFace::left, BoxFace::bottom, BoxFace::front})
      problem.boundaries[face].kind = BoundaryConditionType::neumann;
  PoissonSolver3D solver(ctx, mesh, problem);
  SolveReport report;
  const double seconds = seconds_of(recorder, [&] { report = solver.solve(); });
  const auto& n = solver.plan().unknowns;
  const double unknowns = static_cast<double>(n[0]) * n[1] * n[2];
  const std::string name = message(cells[0], "x", cells[1], "x", cells[2], " ", name_of(kind));
  std::printf("%-34s %9.3f ms %9.1f GFLOP/s %3d solves, residual %.1e, %s; set-up %.2f s\n", name.c_str(),
              1e3 * seconds, 1e-9 * solver.plan().operations * report.iterations / seconds, report.iterations,
              report.relative_residual(), std::string(to_string(report.status)).c_str(), report.setup_seconds);
  JsonObject json;
  json.add("cells", Json::array({cells[0], cells[1], cells[2]})).add("kind", name_of(kind));
  json.add("unknowns", unknowns).add("seconds", seconds).add("status", std::string(to_string(report.status)));
  json.add("solves", report.iterations).add("relative_residual", report.relative_residual());
  json.add("operations", solver.plan().operations).add("setup_seconds", report.setup_seconds);
  json.add("choice", report.choice);
  return json.value();
}

/// The parts of a solve, of an operator of its own whose longest direction has the lines; for times the numbers do not matter.
Json measure_parts(const Recorder& recorder, BoxCells cells) {
  Context& ctx = recorder.ctx();
  std::sort(cells.begin(), cells.end());
  std::array<AxisFactors, 3> factors;
  std::array<int, 3> n{};
  for (std::size_t d = 0; d < 3; ++d) {
    n[d] = cells[d] - 1;
    factors[d].k.assign(static_cast<std::size_t>(cells[d]), cells[d]);
    factors[d].m.assign(static_cast<std::size_t>(cells[d]), 1.0 / (6 * cells[d]));
  }
  const auto modes = [](int count) {
    LineModes made;
    made.values.assign(static_cast<std::size_t>(count), 1.0);
    made.vectors.assign(static_cast<std::size_t>(count) * static_cast<std::size_t>(count), 1e-3);
    return made;
  };
  const BoxOperator a(ctx, factors, 0);
  BoxDiagonalization direct(ctx, factors, 0, modes(n[0]), modes(n[1]));
  const int lead = 8, row = padded_size(lead + padded_size(n[0]) + 1), rows = padded_size(n[1]) + 2;
  const std::int64_t plane = std::int64_t{row} * rows, numbers = plane * (n[2] + 2) + lead;
  const auto bytes = static_cast<std::size_t>(numbers) * sizeof(double);
  const auto u = allocate(ctx, bytes), b = allocate(ctx, bytes), r = allocate(ctx, bytes);
  const auto ghosted = [&](const std::shared_ptr<void>& memory) {
    return FieldView<double, 3>{
        static_cast<double*>(memory.get()) + plane + row + lead, {n[0], n[1], n[2]}, {row, plane}};
  };
  const std::int64_t pitch = padded_size(n[0]);
  const auto dense = [&](const std::shared_ptr<void>& memory) {
    return FieldView<double, 3>{
        static_cast<double*>(memory.get()), {n[0], n[1], n[2]}, {pitch, pitch * padded_size(n[1])}};
  };
  const double unknowns = static_cast<double>(n[0]) * n[1] * n[2], operations = 4 * unknowns * (n[0] + n[1]);
  const std::string name = message(cells[0], "x", cells[1], "x", cells[2]);
  const auto rate = [&](const char* what, double words, const std::function<void()>& run) {
    JsonObject json;
    json.add("cells", Json::array({cells[0], cells[1], cells[2]})).add("kernel", what);
    return recorder.rate(std::move(json), message(name, " ", what), words, unknowns, sizeof(double),
                         seconds_of(recorder, run));
  };
  set(ctx, 1, dense(b));  // the norm of zero is found a second time, in case squares have underflowed
  Json rows_of_table = Json::array();
  rows_of_table.push_back(rate("box residual", 3, [&] { a.residual(ctx, dense(b), ghosted(u), dense(r)); }));
  rows_of_table.push_back(
      rate("norm of it alone", 2, [&] { (void)a.residual_norm(ctx, dense(b), ghosted(u), dense(r)); }));
  const double seconds = seconds_of(recorder, [&] { direct.apply(ctx, dense(b), dense(r), ghosted(u), false); });
  std::printf("%-34s %9.3f ms %9.1f GFLOP/s by %s\n", message(name, " direct solution").c_str(), 1e3 * seconds,
              1e-9 * operations / seconds, direct.products().c_str());
  rows_of_table.push_back(JsonObject()
                              .add("cells", Json::array({cells[0], cells[1], cells[2]}))
                              .add("kernel", "box direct solution")
                              .add("seconds", seconds)
                              .add("operations", operations)
                              .add("products", direct.products())
                              .value());
  return rows_of_table;
}

}  // namespace

Json measure_boxes(Recorder& recorder, const Hypre* hypre) {
  Json all = Json::array();
  std::printf("\nBoxes, double: solves by fast diagonalization to 1e-10\n");
  for (const BoxCells& cells : recorder.settings().boxes)
    for (const Kind kind : {Kind::uniform, Kind::graded, Kind::neumann})
      recorder.attempt(message("box ", cells[0], "x", cells[1], "x", cells[2]), [&] {
        all.push_back(measure_box(recorder, cells, kind));
        const Settings& settings = recorder.settings();
        const bool small = *std::max_element(cells.begin(), cells.end()) <= 1 << settings.finest_peer_level;
        if (hypre == nullptr || kind == Kind::neumann || !small) return;
        for (const std::string& name : settings.peers) all.push_back(measure_peer(recorder, *hypre, name, cells, kind));
      });
  if (recorder.ctx().subdomains() > 1) return all;
  print_rate_heading("their parts");
  for (const BoxCells& cells : recorder.settings().boxes)
    recorder.attempt(message("parts of box ", cells[0], "x", cells[1], "x", cells[2]), [&] {
      for (auto& row : measure_parts(recorder, cells)) all.push_back(row);
    });
  return all;
}

}  // namespace stratum::apps::bench
