// heat2d: solves capacity u_t - div(K grad u) + c u = f on a rectangle, a deformed mesh or patches by implicit steps in time
// over geometric multigrid, and writes what ParaView opens as a film. --help explains. The parts stand in heat/: options,
// settings, run, report and output, and for patches patches_settings and patches_run.

#include <functional>

#include "heat/options.hpp"
#include "heat/output.hpp"
#include "heat/patches_run.hpp"
#include "heat/run.hpp"
#include "heat/settings.hpp"
#include "support/mesh_options.hpp"
#include "support/program.hpp"
#include "support/solver_options.hpp"

using namespace stratum::apps;
using namespace stratum::apps::heat;

int main(int argc, char** argv) {
  Ranks ranks;
  Program program{program_name,
                  text_before_options(),
                  text_after_options(),
                  make_command_line(),
                  {{"list-meshes", list_meshes}, {"list-smoothers", list_smoothers}},
                  [on_rectangle = prepare_by(parse_settings, parse_outputs, run, &ranks),
                   on_patches = prepare_by(parse_patch_settings, parse_patch_outputs, run_patches, &ranks)](
                      const CommandLine& options) -> std::function<int()> {
                    return options.has("patches") ? on_patches(options) : on_rectangle(options);
                  }};
  return run_program(program, argc, argv, &ranks);
}
