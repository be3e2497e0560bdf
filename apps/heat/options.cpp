#include "options.hpp"

#include "support/body_options.hpp"
#include "support/mapped_mesh_options.hpp"
#include "support/mesh_options.hpp"
#include "support/patch_options.hpp"
#include "support/probe.hpp"
#include "support/problem_options.hpp"
#include "support/program.hpp"
#include "support/solver_options.hpp"
#include "times.hpp"

namespace stratum::apps::heat {

namespace {

constexpr const char* before_options =
    "Usage: heat2d [OPTIONS]\n\nSolves the heat equation capacity u_t - div(K grad u) + c u = f on a rectangle, on a "
    "deformed one, or on patches, by bilinear\nfinite elements, implicit time steps and geometric multigrid. Cells may "
    "be up to "
    "10^15 times as long as wide. All data\nmay depend on the time. Without options u = sin(pi x/a) sin(pi y/b) decays "
    "between boundaries that are held at zero.\n";

constexpr const char* examples =
    "Examples:\n"
    "  heat2d                                          steps that adapt; prints the error\n"
    "  heat2d --initial 'x<1/2' --left neumann --right neumann --bottom neumann --top neumann --end 1\n"
    "  heat2d --mesh A3 --method crank-nicolson --dt 1e-3 --exact 'sin(x+y-t)' --rhs '2*sin(x+y-t)-cos(x+y-t)'\n"
    "  heat2d --boundary 'sin(20*t)' --end 1 --tol 1e-5 --output-every 0.02 --vtk film.pvd\n"
    "  heat2d --map '(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)' --initial 'x>1' --end 1 --vtk ring.pvd\n"
    "  heat2d --kappa 'y<0.1 ? 0.01 : 1' --capacity '1+x' --rhs 'exp(-t)' --left robin:5,0 --end 2\n"
    "  heat2d --discretisation fv --initial 'x<1/2' --kappa file:k.npy --left neumann --right neumann --vtk film.pvd\n"
    "  heat2d --end 1 --restart-every 0.1 --save run.state;  heat2d --end 2 --restart run.state --save more.state\n"
    "  heat2d --patches pipe.msh --initial 1 --boundary wall=robin:5,0 --boundary inner=neumann --vtk film.pvd\n"
    "  mpirun -n 4 heat2d --level 10 --rhs 1           on four ranks, a subdomain each\n\n";

constexpr const char* about_end = "Exit codes: 0 all steps were solved, 1 usage error, 2 a stage did not converge, or "
                                  "the steps became too short or too\nmany, 3 diverged, breakdown or not finite, 4 "
                                  "device or memory, 5 files; 128 + N after signal N (130: interrupted).\n";

}  // namespace

CommandLine make_command_line() {
  const std::vector<OptionGroup> settings{
      {"Mesh", joined(mesh_options<2>(), mapped_mesh_options(), patch_options("x, y and t"))},
      {"Problem: capacity u_t - div(K grad u) + c u = f; expressions in x, y, the time t, a, b, xl, xr, yl, yr",
       joined({expression_option("initial", "EXPR", "", "u at the start (the exact solution if it is given, else 0)"),
               expression_option("rhs", "EXPR", "0", "f"),
               expression_option("capacity", "EXPR", "1",
                                 "positive: an expression or file:PATH, one value for each cell, as for c"),
               expression_option("exact", "EXPR", "", "the exact solution, to compute the error"),
               expression_option("boundary", "EXPR", "",
                                 "u on Dirichlet boundaries that have no value of their own (the exact solution if it "
                                 "is given, else 0). With --patches also NAME=TYPE, the condition on the boundary "
                                 "NAME, with the types of --left; once for each",
                                 true)},
              joined(boundary_and_coefficient_options(), {body_option()}),
              {{"discretisation", "NAME", "elements",
                "elements (bilinear, unknowns at nodes), or fv (cell-centred finite volumes: unknowns in cells, "
                "harmonic means of K on faces; with euler u stays between its data on any cells; on rectangles)"},
               {"mass", "NAME", "consistent",
                "how u_t is weighed at nodes: consistent, or lumped (a diagonal: with euler, on cells that are not "
                "stretched, u stays between its data however short the steps are)"}})},
      time_options(),
      {"Solver", joined({{"solver", "NAME", "",
                          "multigrid, or cg preconditioned by one cycle (cg if coefficients vary, else multigrid)"},
                         {"cycle", "NAME", "v", "v, w or f"}},
                        smoothing_options(),
                        {{"precision", "NAME", "mixed",
                          "mixed (cycles in single, solution and residual in double precision) or double"},
                         {"inner", "KIND:N", "cycles:1",
                          "mixed precision: cycles between two double-precision updates, cycles:N (1 .. 1000), or "
                          "rtol:X, as many as reduce the residual to X (1e-6 .. 1)"},
                         {"rtol", "X", "",
                          "tolerance of the solve of each stage, relative to u at its start, X in (0, 1) (a hundredth "
                          "of --tol; 1e-8)"},
                         {"max-iterations", "N", "100", "iterations of a stage, 1 .. 1000000"}})},
      machine_options_of_ranks(),
      {"Output",
       {output_file("vtk", "SERIES.pvd",
                    "a time series for ParaView: SERIES_0000.vtr at the start, SERIES_0001.vtr ... at the times of "
                    "--output-every; .vts for a deformed mesh, .vtm for patches, .pvtr or .pvts with a subdomain of "
                    "each rank on several ranks"),
        {"output-every", "DT", "",
         "time between two lines on the screen, files of the series and values of --probe (only at the end)"},
        with_files({"probe", "LINE:FILE", "",
                    "X0,Y0,X1,Y1,N:FILE.csv, u at N points of the line from (X0, Y0) to (X1, Y1), at the start and the "
                    "times of --output-every; columns: t, x, y, distance from the first point, u; written at the end"},
                   Names::output, probe_files),
        output_file("save", "FILE", "the file from which --restart continues, on any number of ranks"),
        {"restart-every", "DT", "", "time between two writes of that file (only at the end)"},
        output_file("png", "FILE.png", "a picture of u at the end, and an enlarged part where the cells are thinnest"),
        output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
        {"quiet", "", "", "print errors and warnings only"}}}};
  return CommandLine(settings, other_options("level=9", {{"list-meshes", "", "", "list the named meshes"},
                                                         {"list-smoothers", "", "", "list the smoothers"}}));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() {
  return message(about_expressions, about_gradings, about_files, examples, about_outputs, about_end);
}

}  // namespace stratum::apps::heat
