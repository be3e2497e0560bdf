#include "options.hpp"

#include "support/program.hpp"

namespace stratum::apps::bench {

CommandLine make_command_line() {
  OptionGroup machine = machine_options();
  machine.options.push_back(exchange_option());
  return CommandLine(
      {{"Options",
        {{"what", "NAME", "all",
          "kernels, lines (tridiagonal systems), solves, coefficients (solves with K that jumps), matrices (CSR "
          "without a mesh), boxes (in three dimensions, by fast diagonalization), patches (meshes of patches) or all; "
          "under mpirun boxes or patches"},
         {"meshes", "LIST", "U1,U2,U3,A1,A2,A3,A4,A5", "meshes of the solves; kernels are measured on A3"},
         {"boxes", "LIST", "", "cells of boxes, as in 128x128x128,256x256x64 (128^3 on a CPU, to 512^3 on a GPU)"},
         {"patches", "LIST", "",
          "cylinder, triangles or squares (14, 54 or 64 patches) with cells a side of a patch, as in "
          "cylinder:256,squares:512"},
         {"levels", "LIST", "", "levels 2 .. 15, as in 8..10,12 (8,10 on a CPU, 10,12,13 on a GPU)"},
         {"operators", "LIST", "", "tensor, cell, symmetric, nine-band (kernels: all; solves: tensor)"},
         {"periodic", "NAME", "", "x, y or xy: kernels on grids that are periodic in these directions"},
         {"neumann", "NAME", "",
          "x, y or xy: kernels on grids whose lines end at Neumann boundaries in these directions"},
         {"smoothers", "LIST", "adi,adi:simultaneous,colour_gs,jacobi", "smoothers of the solves"},
         {"auto", "", "",
          "instead: smoother auto beside every fixed choice, on --meshes at --levels and on random meshes"},
         {"random", "N", "50", "how many random meshes for --auto, 0 .. 1000"},
         {"rounds", "N", "3", "how often all solves of a mesh and level take turns, 1 .. 100 (with --quick: 1)"},
         {"peers", "LIST", "all",
          "solvers of hypre: SMG, SMG-CG, PFMG-CG, BoomerAMG-CG, in boxes on a GPU PFMG-CG, BoomerAMG-CG, "
          "BoomerAMG-Chebyshev-CG; sine-transforms, by FFTW or on a GPU cuFFT, which solve on uniform meshes; amgcl "
          "and "
          "ginkgo, of matrices in CSR; on a GPU cuDSS, a direct solver; all that are there, or none (no cuSPARSE "
          "either)"},
         {"peer-level", "N", "10", "finest level that peers solve too, 2 .. 15"},
         {"quick", "", "", "level 7, U1 and A3, a copy of 64 MiB: seconds, to see that it works"},
         {"clock", "NAME", "wall", "wall, or cpu: what one thread has spent, for a machine shared with others"},
         output_file("json", "FILE", "everything that is printed, as JSON")}},
       machine},
      {"Other", {{"help", "", "", "print this"}, {"version", "", "", "print the version"}}});
}

std::string text_before_options() {
  return "Usage: stratum_bench [OPTIONS]\n\n"
         "Measures kernels, tridiagonal systems, cycles and solves, in GB/s of declared bytes beside a copy of long\n"
         "vectors in the same run, and in time to a relative residual of 1e-8 and to discretisation accuracy. Solves\n"
         "that do not converge are named and not timed; what does not fit in memory is left out (exit code 4 at the\n"
         "end). Lines too long for a method's shared memory are named, and no error.\n"
         "Kernels whose data fit a cache can exceed the copy.\n";
}

std::string text_after_options() {
  return message(
      "Examples:\n"
      "  stratum_bench --quick                                     seconds, to see that it works\n"
      "  stratum_bench --threads 1 --levels 10 --what kernels\n"
      "  stratum_bench --levels 10 --what kernels --neumann xy\n"
      "  stratum_bench --backend cuda --what lines                 tridiagonal systems, beside cuSPARSE\n"
      "  stratum_bench --threads 1 --levels 10 --what solves --smoothers adi       beside hypre, where it was found\n"
      "  stratum_bench --threads 1 --what matrices                 CSR of any origin, beside hypre\n"
      "  stratum_bench --backend cuda --what boxes --boxes 512x512x512\n"
      "  stratum_bench --what solves --meshes A3 --levels 8..12 --smoothers adi --json a3.json\n"
      "  stratum_bench --auto --threads 1 --clock cpu --levels 8,10 --json auto.json\n"
      "  stratum_bench --backend cuda --what solves --meshes A3 --operators nine-band --levels 13\n",
      about_outputs);
}

}  // namespace stratum::apps::bench
