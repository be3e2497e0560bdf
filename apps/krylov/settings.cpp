#include "settings.hpp"

#include <tuple>
#include <utility>
#include <vector>

#include <stratum/multigrid/structured/box_matrix_solver.hpp>

#include "preconditioners.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::krylov {

Settings parse_settings(const CommandLine& options) {
  Settings s;
  if (options.has("matrix")) s.matrix = options.text("matrix");
  if (options.has("rhs")) s.rhs = options.text("rhs");
  s.problem = options.text("problem");
  (void)choice<int>("--problem", s.problem, {{"laplacian", 0}, {"toeplitz", 0}, {"mesh", 0}});
  // An option of another system would be ignored without a word.
  const std::vector<std::pair<std::string, std::string>> owners{{"unknowns", "laplacian"}, {"epsilon", "laplacian"},
                                                                {"n", "toeplitz"},         {"gamma", "toeplitz"},
                                                                {"mesh", "mesh"},          {"level", "mesh"}};
  expects(s.matrix.empty() || !options.has("problem"), "--problem: --matrix gives the system already");
  for (const char* name : {"grid", "coordinates", "triangle"})
    expects(!options.has(name) || !s.matrix.empty(), "--", name, ": belongs to --matrix");
  if (options.has("grid")) s.grid = options.text("grid");
  if (options.has("coordinates")) s.coordinates = options.text("coordinates");
  expects(s.grid.empty() || s.coordinates.empty(), "--grid: --coordinates say already where the rows lie");
  if (options.has("triangle")) {
    s.triangle = options.text("triangle");
    (void)choice<int>("--triangle", s.triangle, {{"symmetric", 0}, {"general", 0}});
  }
  for (const auto& [name, owner] : owners)
    expects(!options.has(name) || (s.matrix.empty() && s.problem == owner), "--", name, ": belongs to --problem ",
            owner);

  s.storage = choice<Storage>("--storage", options.text("storage"),
                              {{"auto", Storage::automatic}, {"band", Storage::band}, {"csr", Storage::csr}});
  if (options.has("method")) s.method = parsed("--method", [&] { return solver_entry(options.text("method")).name; });
  s.restart = options.integer("restart", 1, 10000);
  s.stop.rtol = options.number("rtol", fraction);
  s.tolerance_asked_for = options.has("rtol") || options.text("precision") == "single";
  s.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000'000);
  const auto is_single = [&options](const std::string& name) {
    return choice<bool>("--" + name, options.text(name), {{"double", false}, {"single", true}});
  };
  s.single = is_single("precision");
  s.inner_single = options.has("inner-precision") ? is_single("inner-precision") : s.single;
  expects(s.inner_single || !s.single, "--inner-precision: cannot be double where --precision is single");

  std::vector<std::pair<std::string, std::string>> names{{"none", ""}};
  const auto registry = preconditioners();
  for (const auto& [name, entry] : registry.entries()) names.emplace_back(name, name);
  s.preconditioner = choice("--preconditioner", options.text("preconditioner"), names);
  const bool lie_on_grid = !s.grid.empty() || !s.coordinates.empty();
  if (lie_on_grid && !options.has("preconditioner") && options.text("inner") != "jacobi")
    s.preconditioner = "multigrid";
  const bool multigrid = s.preconditioner == "multigrid", block_ic = s.preconditioner == "block-ic";
  const std::tuple<const char*, bool, const char*> users[] = {
      {"grid", multigrid, "multigrid"},
      {"coordinates", multigrid, "multigrid"},
      {"smoother", multigrid, "multigrid"},
      {"sweeps", multigrid, "multigrid"},
      {"block-size", block_ic, "block-ic"},
      {"blocks", block_ic, "block-ic"},
      {"ic-shift", block_ic || s.preconditioner == "ic", "ic or block-ic"},
      {"ip-form", s.preconditioner == "incomplete-poisson", "incomplete-poisson"}};
  for (const auto& [name, used, owner] : users)
    expects(!options.has(name) || used, "--", name, ": belongs to --preconditioner ", owner);
  expects(!options.has("blocks") || !options.has("block-size"), "--blocks: --block-size gives them already");
  if (options.has("blocks"))
    s.incomplete_cholesky.blocks = options.integer("blocks", 1, 1'000'000'000);
  else if (block_ic)
    s.incomplete_cholesky.block_size = options.integer("block-size", 1, 1'000'000'000);
  s.incomplete_cholesky.shift = options.number("ic-shift", not_negative);
  s.incomplete_poisson = choice<IncompletePoissonForm>(
      "--ip-form", options.text("ip-form"),
      {{"scaled", IncompletePoissonForm::scaled}, {"printed", IncompletePoissonForm::printed}});
  s.multigrid.smoother = options.text("smoother");
  s.multigrid.sweeps = s.sweeps = options.integer("sweeps", 1, 1000);
  s.in_box = !s.coordinates.empty() || Settings::are_of_box(s.matrix.empty() ? options.text("unknowns") : s.grid);
  if (multigrid && s.in_box) {
    parsed("--smoother",
           [&] { expects_options_of_boxes(options.has("smoother") ? s.multigrid.smoother : "auto", {}, "", ""); });
    parsed("--sweeps", [&] { expects_options_of_boxes("", options.has("sweeps") ? s.sweeps : 1, "", ""); });
    s.multigrid.smoother = "auto";
    s.sweeps = 1;
  } else {
    check_smoother("--smoother", s.multigrid.smoother);
  }
  if (options.has("inner")) {
    s.inner = options.text("inner");
    if (s.inner != "jacobi") (void)parsed("--inner", [&] { return solver_entry(s.inner).name; });
    expects(s.inner != "jacobi" || s.preconditioner.empty(),
            "--inner jacobi: the sweeps have no preconditioner but the diagonal; leave out --preconditioner");
  }
  for (const char* name : {"inner-tolerance", "inner-max", "inner-test"})
    expects(!options.has(name) || !s.inner.empty(), "--", name,
            ": there is no inner solve; --inner METHOD asks for one");
  s.inner_stop.rtol = options.number("inner-tolerance", {0, 1, true, true});
  s.inner_stop.max_iterations = options.integer("inner-max", 1, 1'000'000'000);
  s.sweep_test = choice<SweepTest>("--inner-test", options.text("inner-test"));
  expects(!options.has("inner-test") || s.inner == "jacobi", "--inner-test: only --inner jacobi has a choice");

  s.machine = parse_machine(options);
  s.quiet = options.is_set("quiet");
  return s;
}

}  // namespace stratum::apps::krylov
