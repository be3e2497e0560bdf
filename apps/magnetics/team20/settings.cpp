#include "settings.hpp"

#include <string>
#include <utility>
#include <vector>

#include <stratum/solvers/solver.hpp>

namespace stratum::apps::magnetics {

Settings parse_settings(const CommandLine& options) {
  Settings s;
  s.element = choice<EdgeElement>("--element", options.text("element"),
                                  {{"hexahedra", EdgeElement::hexahedron}, {"tetrahedra", EdgeElement::tetrahedron}});
  s.grid.spacing = 1e-3 * options.number("spacing", {0.3, 50});
  s.grid.growth = options.number("growth", {1, 10});
  s.grid.gap_cells = options.integer("gap-cells", 1, 100);
  s.permeability = options.number("permeability", positive);
  s.ampere_turns = options.number("ampere-turns", positive);
  s.curve = options.is_set("curve");
  expects(!s.curve || !options.has("permeability"), "--permeability: --curve says what the steel is");
  s.nonlinear.method =
      choice<NonlinearMethod>("--nonlinear", options.text("nonlinear"),
                              {{"newton", NonlinearMethod::newton}, {"anderson", NonlinearMethod::anderson}});
  for (const char* name : {"nonlinear", "nonlinear-max", "damping"})
    expects(!options.has(name) || s.curve, "--", name, ": the field is linear without --curve");
  expects(!options.has("damping") || s.nonlinear.method == NonlinearMethod::anderson,
          "--damping: belongs to --nonlinear anderson");
  s.nonlinear.max_iterations = options.integer("nonlinear-max", 1, 1'000'000);
  s.nonlinear.damping = options.number("damping", {0, 1, true, false});

  s.solver.method = options.text("method");
  for (const auto& m : variable_methods)
    if (s.solver.method == m.name) {
      s.solver.method = m.outer;
      s.solver.inner = m.inner;
    }
  s.solver.method = parsed("--method", [&] { return solver_entry(s.solver.method).name; });
  if (options.has("inner"))
    s.solver.inner = parsed("--inner", [&] { return solver_entry(options.text("inner")).name; });
  expects(s.solver.inner.empty() || !solver_entry(s.solver.method).constant_symmetric, "--method ", s.solver.method,
          ": an inner solve varies from call to call; use vpcg, vpgcr or vpgmres");
  s.solver.restart = options.integer("restart", 1, 10000);
  s.stop.rtol = s.nonlinear.rtol = options.number("rtol", fraction);
  s.tolerance_asked_for = options.has("rtol");
  s.stop.max_iterations = options.has("max-iterations") ? options.integer("max-iterations", 1, 1'000'000'000)
                          : s.solver.inner.empty()      ? 100'000
                                                        : 1000;
  for (const char* name : {"inner-tolerance", "inner-max", "inner-history"})
    expects(!options.has(name) || !s.solver.inner.empty(), "--", name,
            ": there is no inner solve; --method vpcg, vpgcr and vpgmres have one");
  s.solver.inner_stop.rtol = options.number("inner-tolerance", {0, 1, true, true});
  s.solver.inner_stop.max_iterations = options.integer("inner-max", 1, 1'000'000'000);
  s.solver.mixed = choice<bool>("--precision", options.text("precision"), {{"double", false}, {"mixed", true}});

  std::vector<std::pair<std::string, std::string>> names{{"none", ""}};
  const auto registry = edge_preconditioners();
  for (const auto& [name, entry] : registry.entries()) names.emplace_back(name, name);
  s.solver.preconditioner = choice("--preconditioner", options.text("preconditioner"), names);
  expects(!s.solver.mixed || !s.solver.inner.empty() || !s.solver.preconditioner.empty(),
          "--precision mixed: there is neither an inner solve nor a preconditioner to be in float");
  const bool block_ic = s.solver.preconditioner == "block-ic";
  expects(!options.has("block-size") || block_ic, "--block-size: belongs to --preconditioner block-ic");
  expects(!options.has("ic-shift") || block_ic || s.solver.preconditioner == "ic",
          "--ic-shift: belongs to --preconditioner ic or block-ic");
  if (block_ic) s.solver.incomplete_cholesky.block_size = options.integer("block-size", 1, 1'000'000'000);
  s.solver.incomplete_cholesky.shift = options.number("ic-shift", not_negative);
  s.machine = parse_machine(options);
  s.quiet = options.is_set("quiet");
  return s;
}

}  // namespace stratum::apps::magnetics
