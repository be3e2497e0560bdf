// bubbly2d: solves the pressure equation -div(1/density grad p) = f of two fluids in a box, in cells, by conjugate gradients
// with a preconditioner and deflation; one system, or a series of them while bubbles move. --help explains. The parts stand in
// bubbly/: options, settings, system, solve, report and output.

#include <stratum/mesh/vtk/vtk.hpp>

#include "support/program.hpp"
#include "two_phase/bubbly/options.hpp"
#include "two_phase/bubbly/output.hpp"
#include "two_phase/bubbly/settings.hpp"
#include "two_phase/bubbly/solve.hpp"
#include "two_phase/bubbly/system.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;
using namespace stratum::apps::bubbly;

int run(const Settings& settings, const CommandLine& options, OutputFiles outputs) {
  Context ctx = settings.machine.context();
  expects(!outputs.has("vtk") || vtk_available(), "--vtk: this build has no VTK (Debian: libvtk9-dev)");
  outputs.check();
  expect_room_for(ctx, settings);
  return settings.time_steps > 0 ? solve_in_time(ctx, settings, options, outputs)
                                 : solve_once(ctx, settings, options, outputs);
}

}  // namespace

int main(int argc, char** argv) {
  Program program{program_name,
                  text_before_options(),
                  text_after_options(),
                  make_command_line(),
                  {},
                  prepare_by(parse_settings, parse_outputs, run)};
  return run_program(program, argc, argv);
}
