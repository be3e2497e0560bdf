#include "auto_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/version.h>

#include "support/json.hpp"
#include "support/timing.hpp"

namespace stratum::apps {

namespace {

/// A mesh of random size, boundaries and gradings; the same on every machine.
class RandomMeshes {
 public:
  explicit RandomMeshes(std::uint32_t seed) : engine_(seed) {}

  struct Mesh {
    std::string name;
    TensorMesh<2> mesh;
  };
  /// Numbers in [-1, 1).
  Field<double> values(Context& ctx, const GridLayout<2>& shape) {
    std::vector<double> host(static_cast<std::size_t>(shape.nodes()));
    for (double& value : host) value = uniform(-1, 1);
    Field<double> v(ctx, shape);
    copy_from_host(ctx, host.data(), v.view());
    return v;
  }
  Mesh next() {
    const double side = std::pow(10.0, uniform(-1, 1));
    const auto [x, x_name] = line(side);
    const auto [y, y_name] = line(1);
    return {message(x.size(), " x ", y.size(), ", x ", x_name, ", y ", y_name, ", boundaries 1 : ", 1 / side), {x, y}};
  }

 private:
  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(engine_()) / 4294967295.0; }
  int whole(int low, int high) { return std::min(high, static_cast<int>(std::floor(uniform(low, high + 1)))); }
  double decades(double fewest, double most) { return std::pow(10.0, uniform(fewest, most)); }

  std::pair<Axis, std::string> line(double length) {
    int cells = 0;
    while (cells < 32 || cells > 768) cells = whole(1, 12) << whole(3, 8);
    const auto side = static_cast<GradedSide>(whole(0, 2));
    const std::string at = message(",", to_string(side));
    switch (whole(0, 5)) {
      case 0: return {stratum::uniform(length, cells), "uniform"};
      case 1: {
        const double ratio = std::pow(decades(0.3, 9), 1.0 / cells);
        return {geometric(length, cells, ratio, side), message("geometric:", ratio, at)};
      }
      case 2: {
        const double smallest = length / cells * decades(-9, -0.1);
        return {geometric_with_smallest(length, cells, smallest, side), message("geometric:h=", smallest, at)};
      }
      case 3: {
        const double stretch = uniform(0.5, 8);
        return {hyperbolic_tangent(length, cells, stretch, side), message("tanh:", stretch, at)};
      }
      case 4: return {cosine(length, cells, side), message("cosine", at)};
      default: {
        const double transition = length * decades(-6, -0.7);
        return {shishkin(length, cells, transition, side), message("shishkin:", transition, at)};
      }
    }
  }

  std::mt19937 engine_;
};

class AutoTable {
 public:
  AutoTable(Context& ctx, Stopwatch now) : ctx_(ctx), now_(now) {}

  void run(const std::vector<std::string>& names, const std::vector<int>& levels, int random_meshes) {
    std::printf(
        "time to a relative residual of %g, milliseconds; cycles in brackets\n%-66s %-26s %15s  %-12s %15s %6s\n", rtol,
        "mesh", "auto chose", "auto", "best fixed", "", "ratio");
    for (const int level : levels)
      for (const auto& name : names) {
        const auto mesh = make_mesh(mesh_family(name), level);
        Field<double> b(ctx_, mesh.unknowns());
        assemble_load(ctx_, mesh, {}, b);
        measure(message(name, ", level ", level), mesh, b);
      }
    RandomMeshes random(seed);
    for (int k = 0; k < random_meshes; ++k) {
      const auto [name, mesh] = random.next();
      measure(name, mesh, random.values(ctx_, mesh.unknowns()));
    }
    double sum = 0;
    for (const double ratio : ratios_) sum += std::log(ratio);
    const auto count = static_cast<double>(ratios_.size());
    within_ = static_cast<int>(std::count_if(ratios_.begin(), ratios_.end(), [](double r) { return r <= 1.15; }));
    mean_ = std::exp(sum / count);
    worst_ = *std::max_element(ratios_.begin(), ratios_.end());
    std::printf("\n%d of %zu meshes within 15 %% of the best fixed choice; geometric mean %.3f, largest %.3f\n",
                within_, ratios_.size(), mean_, worst_);
  }

  [[nodiscard]] std::string json(const std::string& clock) const {
    JsonObject json;
    json.add("program", "stratum_bench --auto").add("version", STRATUM_VERSION).add("device", ctx_.description());
    json.add("rtol", rtol).add("seed", seed).add("clock", clock);
    json.add("within_15_percent", within_).add("geometric_mean", mean_).add("largest", worst_);
    json.add("meshes", rows_);
    return json.text();
  }

 private:
  static constexpr double rtol = 1e-8;
  static constexpr std::uint32_t seed = 20;

  struct Candidate {
    std::string name;
    std::unique_ptr<PoissonSolver> solver;
    double seconds = HUGE_VAL;
    int iterations = 0;
    bool converges = true;
  };

  std::unique_ptr<PoissonSolver> make(const TensorMesh<2>& mesh, const std::string& smoother,
                                      std::optional<int> sweeps) {
    PoissonSolverParams params;
    params.stop.rtol = rtol;
    params.retry_in_double = false;
    params.multigrid.smoother = smoother;
    params.multigrid.sweeps = sweeps;
    return std::make_unique<PoissonSolver>(ctx_, mesh, params);
  }

  void time(Candidate& candidate, FieldView<const double> b, FieldView<double> x) {
    set(ctx_, 0.0, x);
    ctx_.synchronise();
    const double begin = now_();
    const auto report = candidate.solver->solve(ctx_, b, x);
    candidate.seconds = std::min(candidate.seconds, now_() - begin);
    candidate.iterations = report.iterations;
    candidate.converges = report.status == Status::converged;
  }

  /// The smoothers that auto took, the finest level's first, and what it iterates with; none where a GPU solves that level.
  static std::string choice_of(const PoissonSolver& solver) {
    std::string text, latest;
    const auto levels = solver.level_reports();
    if (levels.size() > 1 && levels.back().smoother.empty()) return "no cycle";
    for (auto level = levels.rbegin(); level != levels.rend() && !level->smoother.empty(); ++level)
      if (level->smoother != latest) text += (text.empty() ? "" : ">") + (latest = level->smoother);
    if (solver.params().method == Method::cg) text += " cg";
    if (solver.params().multigrid.cycle == Cycle::f) text += " f";
    return text.empty() ? "one level" : text;
  }

  void measure(const std::string& name, const TensorMesh<2>& mesh, const Field<double>& b) {
    Field<double> x(ctx_, mesh.unknowns());
    std::vector<Candidate> candidates;
    candidates.push_back({"auto", make(mesh, "auto", std::nullopt)});
    for (const char* smoother : {"jacobi", "colour_gs", "line_x", "line_y", "adi"})
      for (const int sweeps : {2, 4})
        candidates.push_back({message(smoother, ":", sweeps), make(mesh, smoother, sweeps)});
    for (auto& candidate : candidates) time(candidate, b.cview(), x.view());

    auto& chosen = candidates.front();
    const auto slower = [](const Candidate& c) { return c.converges ? c.seconds : HUGE_VAL; };
    const auto best = [&]() -> const Candidate& {
      return *std::min_element(candidates.begin() + 1, candidates.end(),
                               [&](const auto& l, const auto& r) { return slower(l) < slower(r); });
    };
    // A fifth of a second for each that may still be the best.
    const int rounds = static_cast<int>(std::clamp(0.2 / best().seconds, 4.0, 50.0));
    for (int round = 0; round < rounds; ++round) {
      const double limit = 1.5 * best().seconds;
      for (auto& candidate : candidates)
        if (&candidate == &chosen || slower(candidate) < limit) time(candidate, b.cview(), x.view());
    }
    const double ratio = slower(chosen) / slower(best());
    ratios_.push_back(ratio);
    std::printf("%-66s %-26s %9.3f (%3d)  %-12s %9.3f (%3d) %6.3f\n", name.c_str(), choice_of(*chosen.solver).c_str(),
                chosen.seconds * 1e3, chosen.iterations, best().name.c_str(), best().seconds * 1e3, best().iterations,
                ratio);
    (void)std::fflush(stdout);
    JsonObject json;
    json.add("mesh", name).add("unknowns", mesh.unknowns().nodes());
    json.add("auto", choice_of(*chosen.solver))
        .add("auto_seconds", chosen.seconds)
        .add("auto_iterations", chosen.iterations);
    json.add("best_fixed", best().name).add("best_fixed_seconds", best().seconds);
    json.add("best_fixed_iterations", best().iterations).add("ratio", ratio);
    rows_.push_back(json.value());
  }

  Context& ctx_;
  Stopwatch now_;
  std::vector<double> ratios_;
  Json rows_ = Json::array();
  int within_ = 0;
  double mean_ = 0, worst_ = 0;
};

}  // namespace

std::string print_auto_table(Context& ctx, Stopwatch now, const std::string& clock,
                             const std::vector<std::string>& names, const std::vector<int>& levels, int random_meshes) {
  AutoTable table(ctx, now);
  table.run(names, levels, random_meshes);
  return table.json(clock);
}

}  // namespace stratum::apps
