#include "options.hpp"

#include "heat/times.hpp"
#include "poisson3d/bodies.hpp"
#include "poisson3d/problem.hpp"
#include "support/mesh_options.hpp"
#include "support/probe.hpp"
#include "support/problem_options.hpp"
#include "support/program.hpp"

namespace stratum::apps::heat3d {

namespace {

constexpr const char* before_options =
    "Usage: heat3d [OPTIONS]\n\nSolves the heat equation capacity u_t - div(K grad u) + c u = f in a box by trilinear "
    "finite elements and implicit time\nsteps: a solve of poisson3d in each, directly where K allows it, else by "
    "multigrid. f and the values of faces may\ndepend on the time. Without options u = sin(pi x/a) sin(pi y/b) "
    "sin(pi z/d) decays between faces that are held at zero.\n";

constexpr const char* examples =
    "Examples:\n"
    "  heat3d                                          steps that adapt; prints the error\n"
    "  heat3d --cells 64 --rhs 'x<0.5 ? sin(10*t) : 0' --end 1 --output-every 0.05 --vtk film.pvd\n"
    "  heat3d --cells 64,64,8 --domain 1,1,0.01 --front neumann --back robin:20,20*25 --initial 25 --rhs 1000 --end 2\n"
    "  heat3d --cells 48 --kappa 'x+y>1 ? 400 : 1' --capacity 3 --initial 'z' --bottom neumann --top neumann\n"
    "  heat3d --cells 32 --body 'ball(0.5,0.5,0.5,0.2):value:sin(t)' --left neumann --body "
    "'box(0.8,0,0,0.9,1,1):no-flux'\n"
    "  heat3d --cells 32 --method crank-nicolson --dt 1e-3 --exact 'sin(x+y+z-t)' --rhs '3*sin(x+y+z-t)-cos(x+y+z-t)'\n"
    "  heat3d --end 1 --restart-every 0.1 --save run.state;  heat3d --end 2 --restart run.state --save more.state\n\n";

constexpr const char* about_end = "Exit codes: 0 all steps were solved, 1 usage error, 2 a stage did not converge, or "
                                  "the steps became too short or too\nmany, 3 diverged, breakdown or not finite, 4 "
                                  "device or memory, 5 files; 128 + N after signal N (130: interrupted).\n";

}  // namespace

CommandLine make_command_line() {
  const std::vector<OptionGroup> settings{
      {"Mesh", mesh_options<3>()},
      {"Problem: capacity u_t - div(K grad u) + c u = f; expressions in x, y, z, a, b, d, xl, xr, yl, yr, zl, zr, and "
       "the time t but for K and ALPHA",
       joined({expression_option("initial", "EXPR", "", "u at the start (the exact solution if it is given, else 0)"),
               expression_option("rhs", "EXPR", "0",
                                 "f; or, as everywhere, file:PATH.vtr:ARRAY, .vti or file:PATH.npy, an array on the "
                                 "cells or at the nodes of the mesh or of a coarser level"),
               {"capacity", "C", "1", "a positive number"},
               {"reaction", "C", "0", "c, a number from 0 on"},
               expression_option("exact", "EXPR", "", "the exact solution, to compute the error"),
               expression_option("boundary", "EXPR", "",
                                 "u on Dirichlet faces that have no value of their own (the exact solution if it is "
                                 "given, else 0)")},
              boundary_options<3>(), joined(poisson3d::coefficient_options(), {poisson3d::box_body_option()}))},
      heat::time_options(),
      {"Solver",
       {{"solver", "NAME", "auto",
         "of each stage: direct, planes, fd-cg or multigrid, as --method of poisson3d; auto chooses and says why. "
         "Several "
         "ranks take all but planes"},
        {"precision", "NAME", "double",
         "mixed: multigrid cycles in single precision, in half the memory; direct solves are in double"},
        {"rtol", "X", "",
         "tolerance of the solve of each stage, relative to u at its start, X in (0, 1) (a hundredth of --tol; 1e-8)"},
        {"max-iterations", "N", "100", "iterations of a stage, 1 .. 1000"},
        {"quadrature", "N", "",
         "f and the values on faces are integrated by N points in every direction of a cell, 1 .. 4 (4 of an f without "
         "t in boxes of up to 2^18 cells, else 2)"}}},
      machine_options_of_ranks(),
      {"Output",
       {output_file("vtk", "SERIES.pvd",
                    "a time series for ParaView: SERIES_0000.vtr at the start, SERIES_0001.vtr ... at the times of "
                    "--output-every; of several ranks .pvtr, with a file of each rank"),
        {"output-every", "DT", "",
         "time between two lines on the screen, files of the series and values of --probe (only at the end)"},
        with_files({"probe", "WHERE:FILE", "",
                    "X0,Y0,Z0,X1,Y1,Z1,N:FILE.csv, u at N points of the line from (X0, Y0, Z0) to (X1, Y1, Z1); or "
                    "AXIS=AT,M,N:FILE.csv, at M x N points on a plane, as z=0.5,65,33; at the start and the times of "
                    "--output-every; columns: t, x, y, z, of a line the distance from its first point, and u; written "
                    "at the end"},
                   Names::output, probe_files),
        output_file("save", "FILE", "the file from which --restart continues, on any number of ranks"),
        {"restart-every", "DT", "", "time between two writes of that file (only at the end)"},
        output_file("png", "FILE.png",
                    "a picture of u at the end on the front, the right and the top face, or on --slice"),
        {"slice", "AXIS=AT", "", "draw u on a plane instead, as z=0.5, and enlarged where cells are thin"},
        output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
        {"quiet", "", "", "print errors and warnings only"}}}};
  return CommandLine(settings, other_options("level=6", {{"list-meshes", "", "", "list the named meshes"}}));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() {
  return message(about_expressions, about_gradings, examples, about_outputs, about_end);
}

}  // namespace stratum::apps::heat3d
