#include "options.hpp"

#include <stratum/solvers/mixed/reliable_cg.hpp>

#include "settings.hpp"
#include "support/program.hpp"

namespace stratum::apps::propagators {

namespace {

constexpr const char* before_options = "Usage: staggered [OPTIONS]\n\n"
                                       "Propagators of staggered quarks on an SU(3) gauge field in four dimensions. A "
                                       "= m^2 - D_eo D_oe on the even sites\n"
                                       "is solved by conjugate gradients; the odd sites follow. From a point or a wall "
                                       "the pion's correlator comes out, on\n"
                                       "the unit field the difference from the propagator by Fourier transform.\n";

constexpr const char* examples =
    "Examples:\n"
    "  staggered                                             8 x 8 x 8 x 16 sites near the unit field\n"
    "  staggered --mass 0.02,0.05,0.1 --correlator pion.csv  the pion becomes light as its quarks do\n"
    "  staggered --mass 0.02,0.05,0.1 --together             the same in one iteration\n"
    "  staggered --field unit --precision double             beside the Fourier transform\n"
    "  staggered --field random --save-gauge hot.nersc --quiet\n"
    "  staggered --gauge hot.nersc --mass 0.03 --reals 12\n"
    "  staggered --source random --scheme group-wise         fails, and says so\n\n";

}  // namespace

CommandLine make_command_line() {
  const ReliableCgParams defaults;
  return CommandLine(
      {{"Gauge field",
        {{"lattice", "NX,NY,NZ,NT", "8,8,8,16", "sites in x, y, z and t, all even"},
         {"field", "NAME", "near",
          "unit, random (uniform in SU(3)) or near: 1 + sigma X, projected on SU(3), X normal"},
         {"sigma", "X", "0.3", "near: from 0 on"},
         {"seed", "N", "1", "seed of field and random source, 0 .. 2000000000"},
         input_file("gauge", "FILE", "read the field from a file of the NERSC archive instead")}},
       {"Quarks: (m + D) q = b, D without its factor 1/2, antiperiodic in t",
        {{"mass", "M,...", "0.1", "one or several, above 0"},
         {"source", "NAME", "point",
          "point (the origin) or wall (all even sites of t = 0), in all three colours, or random: one, normal "
          "numbers"}}},
       {"Solver",
        {{"precision", "NAME", "mixed",
          "mixed (steps in single, residuals in double precision), mixed16 (the steps also store links in 16 bits) or "
          "double"},
         {"reals", "N", "18", "how many numbers store a link in the steps: 18, 12 or 10"},
         {"rtol", "X", "1e-10", "stop when the true residual is below X ||b||, X in (0, 1)"},
         {"max-iterations", "N", "100000", "1 .. 1000000000"},
         {"together", "", "", "solve for all masses in one iteration; the smallest mass converges last"},
         {"delta", "X", "",
          message("mixed: update in double precision when the residual has fallen by this factor, in (0, 1) (",
                  plain(defaults.delta), "; mixed16 ", plain(delta_of_shorts), ", with --together ",
                  plain(defaults.delta), ")")},
         {"scheme", "NAME", "corrected",
          "mixed: corrected, restart (forgets the last direction), or schemes that fail: group-wise (never replaces "
          "the residual), reliable (never resets the single-precision solution)"},
         {"beta", "NAME", "guarded",
          "mixed: the residual that gives the factor beta at an update, true, recursive, or guarded (true unless it "
          "has jumped)"},
         {"solution-in-double", "", "", "mixed: sum the steps in double precision; this allows a smaller delta"}}},
       machine_options_of_ranks(),
       {"Several ranks (mpirun)",
        {{"partition", "T,Z", "",
          "ranks along t and along z, where nt and nz of each rank are even (along t alone if possible)"},
         {"overlap", "WHEN", "auto",
          "whether a rank computes on inner sites while it exchanges others: yes, no, or auto (yes)"}}},
       {"Output",
        {output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
         output_file("history", "FILE.csv", "the residual after every iteration"),
         output_file("correlator", "FILE.csv", "correlator and effective mass of the pion"),
         output_file("save-gauge", "FILE", "the gauge field as a file of the NERSC archive"),
         {"quiet", "", "", "print errors only"}}}},
      other_options("mass=0.05"));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() { return message(examples, about_outputs, about_exit_codes); }

}  // namespace stratum::apps::propagators
