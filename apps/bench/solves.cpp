#include "solves.hpp"

#include <cmath>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/sample_coefficients.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "bench/contestants.hpp"

namespace stratum::apps::bench {

namespace {

// Discretisation errors are measured on the host, and only as long as that is quick.
constexpr int max_error_level = 12;

/// One table.
class Solves {
 public:
  Solves(Recorder& recorder, const Hypre* hypre) : ctx_(recorder.ctx()), recorder_(recorder), hypre_(hypre) {
    std::printf("%-5s %5s %-9s %-18s %-10s %-6s %9s %10s %4s %9s %9s %6s %9s\n", "mesh", "level", "operator",
                "smoother or peer", "cycle", "prec.", "set-up s", "solve ms", "its", "residual", "s/unk/dig", "error",
                "algebraic");
  }

  /// Every contestant in every round, so that the samples of each are spread in time; then their lines.
  void measure(const std::string& name, int level, const std::shared_ptr<const CellCoefficients>& k,
               std::vector<Contestant> contestants) {
    const std::string where = message(name, ", level ", level, ", "), mesh_name = k ? "U1" : name;
    const Settings& settings = recorder_.settings();
    recorder_.attempt(where + "right-hand side", [&] {
      System system(ctx_, make_mesh(mesh_family(mesh_name), level));
      system.k = k;
      if (level <= settings.finest_peer_level)
        for (auto& peer : peer_contestants(ctx_, settings, hypre_, system)) contestants.push_back(std::move(peer));
      for (int round = 0; round < settings.rounds; ++round)
        for (auto& contestant : contestants) {
          // What failed on a mesh fails on its finer levels too, and in double as in mixed precision.
          const std::string series =
              message(name, contestant.solver, contestant.format, contestant.smoother, contestant.cycle);
          if (contestant.left_out || failed_.count(series) > 0) continue;
          contestant.left_out = true;
          recorder_.attempt(message(where, contestant.format, ", ", contestant.solver, " ", contestant.smoother), [&] {
            contestant.take(contestant.run(system));
            contestant.left_out = false;
            if (contestant.best.status != Status::converged)
              failed_.insert(series);
            else if (round == 0 && level <= max_error_level && !k)
              measure_error(system, contestant);
          });
        }
      for (const auto& contestant : contestants)
        if (contestant.rounds > 0) report(name, level, system, contestant);
    });
  }

  [[nodiscard]] Json rows() const { return rows_; }

 private:
  /// The first that converges is what one FMG cycle is compared with.
  void measure_error(System& system, Contestant& contestant) const {
    if (!contestant.is_one_fmg_cycle()) {
      if (!std::isnan(system.converged_error)) return;
      copy<double, double>(ctx_, system.x.cview(), system.converged.view());
      system.converged_error = system.error(ctx_, system.converged);
    } else if (!std::isnan(system.converged_error)) {
      contestant.error_ratio = system.error(ctx_, system.x) / system.converged_error;
      contestant.algebraic_error = system.algebraic_error(ctx_);
    }
  }

  void report(const std::string& mesh_name, int level, const System& system, const Contestant& contestant) {
    const auto& [solver, format, smoother, cycle, precision, run, best, rounds, left_out, ratio, algebraic] =
        contestant;
    const bool converged = best.status == Status::converged;
    const auto unknowns = static_cast<double>(system.mesh.unknowns().nodes());
    const double seconds = converged ? best.solve_seconds : std::nan("");
    const double per_digit = seconds / (unknowns * best.digits());
    std::printf("%-5s %5d %-9s %-18s %-10s %-6s %9.4f ", mesh_name.c_str(), level, format.c_str(),
                (smoother.empty() ? solver : smoother).c_str(), cycle.c_str(), precision.c_str(), best.setup_seconds);
    if (converged)
      std::printf("%10.3f %4d %9.2e %9.2e", seconds * 1e3, best.iterations, best.relative_residual(), per_digit);
    else
      std::printf("%s after %d, residual %.2e, %.3g ms", std::string(to_string(best.status)).c_str(), best.iterations,
                  best.relative_residual(), best.solve_seconds * 1e3);
    if (!std::isnan(ratio)) std::printf(" %6.3f %9.3f", ratio, algebraic);
    std::printf("%s%s\n", solver == cudss_name ? "  " : "", solver == cudss_name ? best.choice.c_str() : "");

    JsonObject json;
    json.add("mesh", mesh_name).add("level", level).add("unknowns", unknowns).add("solver", solver);
    json.add("operator", format);
    if (!smoother.empty()) json.add("smoother", smoother).add("cycle", cycle);
    json.add("precision", precision).add("status", to_string(best.status)).add("setup_seconds", best.setup_seconds);
    json.add("solve_seconds", seconds).add("iterations", best.iterations);
    json.add("relative_residual", best.relative_residual()).add("seconds_per_unknown_per_digit", per_digit);
    if (contestant.is_one_fmg_cycle())
      json.add("error_to_converged_error", ratio).add("algebraic_to_converged_error", algebraic);
    rows_.push_back(json.value());
  }

  Context& ctx_;
  Recorder& recorder_;
  const Hypre* hypre_;
  std::set<std::string> failed_;
  Json rows_ = Json::array();
};

}  // namespace

Json measure_solves(Recorder& recorder, const Hypre* hypre) {
  const Settings& settings = recorder.settings();
  std::printf(
      "\nsolves to a relative residual of %g, and full multigrid (one FMG cycle); shortest of %d rounds; peers: "
      "%s\n"
      "error: that of the pass / of the converged solution; algebraic: distance of the two / error of the latter\n",
      rtol, settings.rounds, peers(recorder.ctx(), settings).c_str());
  Solves solves(recorder, hypre);
  for (const auto& mesh : settings.meshes)
    for (const int level : settings.levels) solves.measure(mesh, level, {}, own_contestants(recorder.ctx(), settings));
  return solves.rows();
}

Json measure_coefficients(Recorder& recorder, const Hypre* hypre) {
  std::printf("\nK that jumps, on U1, to a relative residual of %g by CG, V(2,2)\n", rtol);
  Solves solves(recorder, hypre);
  for (const int level : recorder.settings().levels) {
    const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), level);
    for (const auto& [name, cells] : {std::pair{"board", checkerboard(mesh, 13, 1e4)}, {"discs", discs(mesh, 1e3)}}) {
      const auto k = std::make_shared<const CellCoefficients>(cells);
      solves.measure(name, level, k, contestants_for_jumps(recorder.ctx(), recorder.settings().now, k));
    }
  }
  return solves.rows();
}

}  // namespace stratum::apps::bench
