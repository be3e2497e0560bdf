#include "options.hpp"

#include "support/mapped_mesh_options.hpp"
#include "support/mesh_options.hpp"
#include "support/probe.hpp"
#include "support/problem_options.hpp"
#include "support/program.hpp"
#include "support/solver_options.hpp"

namespace stratum::apps::heat {

namespace {

constexpr const char* before_options = "Usage: heat2d [OPTIONS]\n\n"
                                       "Solves the heat equation capacity u_t - div(K grad u) + c u = f on a rectangle "
                                       "with bilinear finite elements, implicit\n"
                                       "steps in time and geometric multigrid; the mesh may be stretched as far as "
                                       "double precision reaches. All data may\n"
                                       "change with the time. Without a problem of yours, u = sin(pi x/a) sin(pi y/b) "
                                       "decays between boundaries held at zero.\n";

constexpr const char* examples =
    "Examples:\n"
    "  heat2d                                          steps that adapt; prints the error\n"
    "  heat2d --initial 'x<1/2' --left neumann --right neumann --bottom neumann --top neumann --end 1\n"
    "  heat2d --mesh A3 --method crank-nicolson --dt 1e-3 --exact 'sin(x+y-t)' --rhs '2*sin(x+y-t)-cos(x+y-t)'\n"
    "  heat2d --boundary 'sin(20*t)' --end 1 --tol 1e-5 --output-every 0.02 --vtk film.pvd\n"
    "  heat2d --map '(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)' --initial 'x>1' --end 1 --vtk ring.pvd\n"
    "  heat2d --kappa 'y<0.1 ? 0.01 : 1' --capacity '1+x' --rhs 'exp(-t)' --left robin:5,0 --end 2\n"
    "  heat2d --end 1 --restart-every 0.1 --save run.state;  heat2d --end 2 --restart run.state --save more.state\n"
    "  mpirun -n 4 heat2d --level 10 --rhs 1           on four ranks, a subdomain each\n\n";

constexpr const char* about_end =
    "Exit codes: 0 all steps were solved, 1 usage, 2 a stage was not, or steps became too short or too many, 3 "
    "diverged,\n"
    "breakdown or not finite, 4 device or memory, 5 files; 128 + N after signal N: 130 interrupted.\n";

}  // namespace

CommandLine make_command_line() {
  const std::vector<OptionGroup> settings{
      {"Mesh", joined(mesh_options<2>(), mapped_mesh_options())},
      {"Problem: capacity u_t - div(K grad u) + c u = f; expressions in x, y, the time t, a, b, xl, xr, yl, yr",
       joined(
           {expression_option("initial", "EXPR", "",
                              "u at the start (the exact solution there where it is given, else 0)"),
            expression_option("rhs", "EXPR", "0", "f"),
            expression_option("capacity", "EXPR", "1",
                              "positive; an expression or file:PATH, taken cell by cell as c is"),
            expression_option("exact", "EXPR", "", "the exact solution, to measure the error by"),
            expression_option(
                "boundary", "EXPR", "",
                "u on the boundaries that have no value of their own (the exact solution where it is given, else 0)")},
           boundary_and_coefficient_options())},
      {"Time",
       {{"start", "T", "0", "when it starts"},
        {"end", "T", "0.1", "and ends"},
        {"method", "NAME", "tr-bdf2",
         "euler (implicit, first order), crank-nicolson (second; a start that is not smooth rings on) or tr-bdf2 "
         "(second; "
         "damps it)"},
        {"tol", "X", "",
         "tr-bdf2 finds its steps so that each errs by X of the norm of u, X in (0, 1) (1e-4 where "
         "there is "
         "no --dt)"},
        {"dt", "DT", "", "steps of this length or a little shorter; with --tol of the first one"},
        {"max-steps", "N", "10000000", "1 .. 1000000000"},
        input_file("restart", "FILE",
                   "go on from a file of --save, with the bits of a run without the break; with other data from its u "
                   "alone, which is said")}},
      {"Solver",
       joined({{"solver", "NAME", "", "multigrid, or cg around the cycle (cg where coefficients vary, else multigrid)"},
               {"cycle", "NAME", "v", "v, w or f"}},
              smoothing_options(),
              {{"precision", "NAME", "mixed", "mixed (float cycles, double defect and update) or double"},
               {"inner", "KIND:N", "cycles:1",
                "mixed precision: between updates in double cycles:N (1 .. 1000), or rtol:X, as many as reduce the "
                "residual to X (1e-6 .. 1)"},
               {"rtol", "X", "",
                "a stage is solved as well as its start were known up to X, X in (0, 1) (a hundredth of --tol; 1e-8)"},
               {"max-iterations", "N", "100", "of a stage, 1 .. 1000000"}})},
      machine_options_of_ranks(),
      {"Output",
       {output_file(
            "vtk", "SERIES.pvd",
            "a film for ParaView: SERIES_0000.vtr at the start, SERIES_0001.vtr ... at the times of --output-every; "
            ".vts of a deformed mesh, .pvtr or .pvts with a subdomain of each of several ranks"),
        {"output-every", "DT", "",
         "a line, a file of the film and points of --probe whenever so much time has passed (at the end)"},
        with_files({"probe", "LINE:FILE", "",
                    "X0,Y0,X1,Y1,N:FILE.csv, u along a line, at N points from (X0, Y0) to (X1, Y1), at the start and "
                    "the times of --output-every: t, x, y, the distance from the first end and u; written at the end"},
                   Names::output, probe_files),
        output_file("save", "FILE", "all that --restart goes on from, on any number of ranks"),
        {"restart-every", "DT", "", "write it whenever so much time has passed (at the end)"},
        output_file("png", "FILE.png", "a picture of u at the end, and enlarged where cells are thin"),
        output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
        {"quiet", "", "", "print errors only"}}}};
  return CommandLine(settings, other_options("level=9", {{"list-meshes", "", "", "list the named meshes"},
                                                         {"list-smoothers", "", "", "list the smoothers"}}));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() {
  return message(about_expressions, about_gradings, about_files, examples, about_outputs, about_end);
}

}  // namespace stratum::apps::heat
