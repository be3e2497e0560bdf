// heat2d: solves capacity u_t - div(K grad u) + c u = f on a rectangle or a deformed mesh by implicit steps in time over
// geometric multigrid, and writes what ParaView opens as a film. --help explains. The parts stand in heat/: options, settings,
// run, report and output.

#include "heat/options.hpp"
#include "heat/output.hpp"
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
                  prepare_by(parse_settings, parse_outputs, run, &ranks)};
  return run_program(program, argc, argv, &ranks);
}
