#include "boxes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/operators/box_operator.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>
#include <stratum/solvers/direct/box_diagonalization.hpp>
#include <stratum/solvers/direct/mode_products.hpp>

#include "bench/peers/hypre_box.hpp"
#include "bench/peers/sine_transform.hpp"

namespace stratum::apps::bench {

namespace {

enum class Kind : std::uint8_t { uniform, graded, bisected, neumann, uniform_jumps, flat_jumps, graded_jumps };

bool has_jumps(Kind kind) {
  return kind == Kind::uniform_jumps || kind == Kind::flat_jumps || kind == Kind::graded_jumps;
}

/// Direct solutions have no use for fewer digits.
double rtol_of(Kind kind) { return has_jumps(kind) ? 1e-8 : 1e-10; }

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::uniform: return "uniform";
    case Kind::graded: return "graded in x, y, z";
    case Kind::bisected: return "A3 in x, y, z";
    case Kind::neumann: return "graded, Neumann";
    case Kind::uniform_jumps: return "uniform, K of 1 and 10000";
    case Kind::flat_jumps: return "graded in z, K of 1 and 10000";
    case Kind::graded_jumps: return "graded, K of 1 and 10000";
  }
  return "";
}

/// The level of a cube of 2^level cells a direction, which the named meshes have; else none.
std::optional<int> level_of(const BoxCells& cells) {
  const auto n = static_cast<unsigned>(cells[0]);
  if (cells[1] != cells[0] || cells[2] != cells[0] || !std::has_single_bit(n)) return std::nullopt;
  return std::countr_zero(n);
}

TensorMesh<3> mesh_of(const BoxCells& cells, Kind kind) {
  if (kind == Kind::bisected) return make_mesh(box_family("A3", "xyz"), level_of(cells).value());
  const auto axis = [&](int d) {
    const int n = cells[static_cast<std::size_t>(d)];
    const double smallest = std::min(1e-6, 0.5 / n);
    const bool even = kind == Kind::uniform || kind == Kind::uniform_jumps || (kind == Kind::flat_jumps && d < 2);
    return even ? uniform(1, n) : geometric_with_smallest(1, n, smallest, GradedSide::first);
  };
  return {axis(0), axis(1), axis(2)};
}

/// A checkerboard of seven fields a direction; null: 1.
ScalarFunction3D diffusion_of(Kind kind) {
  if (!has_jumps(kind)) return {};
  return [](const Point3D& p) {
    constexpr double fields = 7;
    const auto field = [](double x) { return static_cast<int>(fields * x); };
    return (field(p.x) + field(p.y) + field(p.z)) % 2 == 0 ? 1.0 : 1e4;
  };
}

constexpr int most_cycles = 100;

// For an unknown: 27 entries of 12 bytes, as many again on coarse levels, and what they are made by.
constexpr double gpu_peer_bytes = 1500;

/// What a peer made of the same matrix.
Json of_peer(const SolveReport& report, const std::string& name, const BoxCells& cells, Kind kind) {
  std::printf("  %-32s %9.3f ms %23d cycles, residual %.1e, %s; set-up %.2f s\n", name.c_str(),
              1e3 * report.solve_seconds, report.iterations, report.relative_residual(),
              std::string(to_string(report.status)).c_str(), report.setup_seconds);
  JsonObject json;
  json.add("cells", {cells[0], cells[1], cells[2]}).add("kind", name_of(kind)).add("peer", name);
  json.add("seconds", report.solve_seconds).add("status", std::string(to_string(report.status)));
  json.add("iterations", report.iterations).add("relative_residual", report.relative_residual());
  json.add("setup_seconds", report.setup_seconds);
  return json.value();
}

Json measure_box(const Recorder& recorder, const BoxCells& cells, Kind kind) {
  Context& ctx = recorder.ctx();
  const TensorMesh<3> mesh = mesh_of(cells, kind);
  PoissonProblem3D problem;
  if (has_jumps(kind)) problem.rhs = [](const Point3D&) { return 1.0; };
  problem.diffusion.xx = diffusion_of(kind);
  if (kind == Kind::neumann)
    for (const BoxFace face : {BoxFace::left, BoxFace::bottom, BoxFace::front})
      problem.boundaries[face].kind = BoundaryConditionType::neumann;
  PoissonSolver3DParams params;
  params.stop.rtol = rtol_of(kind);
  params.float_cycles = has_jumps(kind);
  PoissonSolver3D solver(ctx, mesh, problem, params);
  SolveReport report;
  const double seconds = seconds_of(recorder, [&] { report = solver.solve(); });
  const auto& n = solver.plan().unknowns;
  const double unknowns = static_cast<double>(n[0]) * n[1] * n[2];
  const std::string name = message(cells[0], "x", cells[1], "x", cells[2], " ", name_of(kind));
  const bool direct = solver.plan().kind == BoxMethod::direct;
  const std::string rate =
      direct ? message(std::lround(1e-9 * solver.plan().operations * report.iterations / seconds), " GFLOP/s") : "";
  std::printf("%-34s %9.3f ms %17s %3d %s, residual %.1e, %s; set-up %.2f s\n", name.c_str(), 1e3 * seconds,
              rate.c_str(), report.iterations, direct ? "solves" : "cycles", report.relative_residual(),
              std::string(to_string(report.status)).c_str(), report.setup_seconds);
  JsonObject json;
  json.add("cells", {cells[0], cells[1], cells[2]}).add("kind", name_of(kind));
  json.add("unknowns", unknowns).add("seconds", seconds).add("status", std::string(to_string(report.status)));
  json.add("solves", report.iterations).add("relative_residual", report.relative_residual());
  json.add("operations", solver.plan().operations).add("setup_seconds", report.setup_seconds);
  json.add("choice", report.choice);
  return json.value();
}

/// What hypre makes of it.
void measure_hypre(Recorder& recorder, const Hypre& hypre, const BoxCells& cells, Kind kind, Json& all) {
  Context& ctx = recorder.ctx();
  const double unknowns = (cells[0] - 1.0) * (cells[1] - 1.0) * (cells[2] - 1.0), entries = BoxSystem::bands * unknowns;
  if (entries > static_cast<double>(Hypre::most_entries())) {
    std::printf("  hypre: none, its integers do not count %.2g entries of a matrix\n", entries);
    return;
  }
  if (ctx.on_gpu()) expect_available(ctx, static_cast<std::int64_t>(gpu_peer_bytes * unknowns), "hypre: about ");
  BoxSystem system(mesh_of(cells, kind), diffusion_of(kind), ctx.on_gpu() ? ctx.threads() : 1);
  for (const std::string& name : recorder.settings().box_peers)
    recorder.attempt(message("hypre ", name), [&] {
      all.push_back(of_peer(solve_box_by_hypre(hypre, name, system, rtol_of(kind), most_cycles),
                            message("hypre ", name, ctx.on_gpu() ? " (GPU)" : ""), cells, kind));
    });
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
    factors[d].k[0] *= 1.5;  // not uniform
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
    json.add("cells", {cells[0], cells[1], cells[2]}).add("kernel", what);
    return recorder.rate(std::move(json), message(name, " ", what), words, unknowns, sizeof(double),
                         seconds_of(recorder, run));
  };
  set(ctx, 1, dense(b));  // the norm of zero is found a second time, in case squares have underflowed
  Json rows_of_table = Json::array();
  rows_of_table.push_back(rate("box residual", 3, [&] { a.residual(ctx, dense(b), ghosted(u), dense(r)); }));
  rows_of_table.push_back(
      rate("norm of it alone", 2, [&] { (void)a.residual_norm(ctx, dense(b), ghosted(u), dense(r)); }));
  if (!ctx.on_gpu() && ctx.threads() == 1)
    for (const bool uniform : {false, true}) {
      AxisFactors axis = factors[0];
      if (uniform) axis.k[0] = axis.k[1];
      if (uniform && !ModeProducts::by_fourier(false, axis)) continue;
      const ModeProducts products(ctx, axis, uniform ? ModeProducts::modes(ctx, axis) : modes(n[0]));
      const auto scratch = allocate(ctx, products.scratch() * sizeof(double));
      const auto from = dense(b), to = dense(r);
      rows_of_table.push_back(rate(uniform ? "Fourier transform along x" : "dense product along x", 2, [&] {
        for (int k = 0; k < n[2]; ++k)
          products.along_rows(ModeProducts::Product::to_modes, n[1], from.row(0, k), from.strides.row, to.row(0, k),
                              to.strides.row, false, static_cast<double*>(scratch.get()));
      }));
    }
  const double seconds = seconds_of(recorder, [&] { direct.apply(ctx, dense(b), dense(r), ghosted(u), false); });
  std::printf("%-34s %9.3f ms %9.1f GFLOP/s by %s\n", message(name, " direct solution").c_str(), 1e3 * seconds,
              1e-9 * operations / seconds, direct.products().c_str());
  rows_of_table.push_back(JsonObject()
                              .add("cells", {cells[0], cells[1], cells[2]})
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
  std::printf("\nBoxes: by fast diagonalization in double to 1e-10; where K jumps by multigrid in float to 1e-8\n");
  for (const BoxCells& cells : recorder.settings().boxes)
    for (const Kind kind : {Kind::uniform, Kind::graded, Kind::bisected, Kind::neumann, Kind::uniform_jumps,
                            Kind::flat_jumps, Kind::graded_jumps}) {
      if (kind == Kind::bisected && !level_of(cells)) continue;
      recorder.attempt(message("box ", cells[0], "x", cells[1], "x", cells[2]), [&] {
        all.push_back(measure_box(recorder, cells, kind));
        const Settings& settings = recorder.settings();
        const bool small = *std::max_element(cells.begin(), cells.end()) <= 1 << settings.finest_peer_level;
        if (kind == Kind::neumann || !small) return;
        const TensorMesh<3> mesh = mesh_of(cells, kind);
        if (settings.sine_transforms && !has_jumps(kind) && !recorder.ctx().on_gpu() && sines_solve(mesh))
          all.push_back(
              of_peer(solve_box_by_sines(mesh, rtol_of(kind), settings.now), "FFTW, sines in x, y, z", cells, kind));
        if (hypre != nullptr) measure_hypre(recorder, *hypre, cells, kind, all);
      });
    }
  if (recorder.ctx().subdomains() > 1) return all;
  print_rate_heading("their parts");
  for (const BoxCells& cells : recorder.settings().boxes)
    recorder.attempt(message("parts of box ", cells[0], "x", cells[1], "x", cells[2]),
                     [&] { all.append(measure_parts(recorder, cells)); });
  return all;
}

}  // namespace stratum::apps::bench
