// heat3d: solves capacity u_t - div(K grad u) + c u = f in a box by implicit steps in time, and writes what ParaView opens as a
// film. --help explains. The parts stand in heat3d/: options, settings and run, beside those of heat2d in heat/.

#include "heat3d/options.hpp"
#include "heat3d/run.hpp"
#include "heat3d/settings.hpp"
#include "support/mesh_options.hpp"
#include "support/program.hpp"

using namespace stratum::apps;
using namespace stratum::apps::heat3d;

int main(int argc, char** argv) {
  Ranks ranks;
  Program program{
      program_name,        text_before_options(),          text_after_options(),
      make_command_line(), {{"list-meshes", list_meshes}}, prepare_by(parse_settings, parse_outputs, run, &ranks)};
  return run_program(program, argc, argv, &ranks);
}
