#include "options.hpp"

#include "support/program.hpp"

namespace stratum::apps::studies {

CommandLine make_command_line() {
  return CommandLine(
      {{"Options",
        {{"study", "NAME", "multigrid",
          "multigrid (Goeddeke, Strzodka 2011), toeplitz (Ikuno, Deki, Fujita 2010), bubbly (Gupta 2010), edge (Ikuno, "
          "Kawaguchi and others 2012), staggered (Jang, Kim, Lee 2011), coefficients (iterations where they vary, "
          "beside "
          "targets) or boundary-layers (errors where they are thin, on square cells and on Shishkin's)"},
         {"table", "N", "",
          "only Table 1 .. 6; or krylov, which the paper has not: iterations of Krylov methods; of the toeplitz "
          "study 2; of the bubbly study 1 to 3, iterations by deflation vectors and which method when; of the edge "
          "study 2, 3: other preconditioners, and 4, on a GPU: layouts of the matrix; of the staggered study 1, or "
          "what the paper has not: 2, "
          "iterations by scheme; 3, one D beside a copy; 4, times by precision; 5, times by subdomains"},
         {"figure", "N", "", "only Figure 2, 5 or 6; of the toeplitz study 2 to 5, of the bubbly study 74 to 79"},
         {"max-level", "N", "",
          "finest level, 2 .. 12 (multigrid 9, the paper's last is 10 in Table 1 and 9 elsewhere; bubbly, coefficients "
          "and boundary-layers 8; edge 8, where 7, 8 and 9 are meshes of 10^4, 10^5 and 6 10^5 unknowns)"},
         {"inner-test", "NAME", "increment",
          "toeplitz: Jacobi sweeps stop by the increment, as the published counts show, or by the residual, as "
          "equation (3) says"},
         {"csv", "", "", "values separated by commas, '-' left empty"}}},
       machine_options()},
      {"Other", {{"help", "", "", "print this"}, {"version", "", "", "print the version"}}});
}

std::string text_before_options() {
  return "Usage: paper_tables [OPTIONS]\n\n"
         "Solves the problems of Goeddeke and Strzodka, Cyclic Reduction Tridiagonal Solvers on GPUs Applied to Mixed\n"
         "Precision Multigrid (2011), and prints Tables 1 to 6 and Figures 2, 5 and 6 beside the published values; "
         "with\n"
         "--study toeplitz the problem of Ikuno, Deki and Fujita, Numerical Investigations of Variable Preconditioned "
         "GCR\n"
         "with Mixed Precision on GPU (2010), Table 2 and Figures 2 to 5; with --study bubbly those of Gupta, "
         "Implementation\n"
         "of the Deflated Preconditioned Conjugate Gradient Method for Bubbly Flow on the GPU (2010), Figures 74 to "
         "79. "
         "These\n"
         "two run on CPU and GPU where there are both. --study staggered is Jang, Kim and Lee, Multi GPU Performance "
         "of\n"
         "Conjugate Gradient Solver with Staggered Fermions in Mixed Precision (2011), Table 1 and iterations. A '!' "
         "marks "
         "an iteration that did not reach the tolerance. Two more "
         "studies are not of papers: "
         "coefficients\n"
         "and boundary-layers.\n";
}

std::string text_after_options() {
  return "Examples:\n"
         "  paper_tables                          all of them, to level 9\n"
         "  paper_tables --table 1 --max-level 10\n"
         "  paper_tables --figure 6 --csv > figure6.csv\n"
         "  paper_tables --table 5 --threads 1    double beside mixed precision, CPU beside GPU where there is one\n"
         "  paper_tables --study toeplitz --table 2\n"
         "  paper_tables --study bubbly --figure 74\n"
         "  paper_tables --study edge --max-level 7\n"
         "  paper_tables --study staggered --table 2\n"
         "  paper_tables --study coefficients --max-level 9\n"
         "  paper_tables --study boundary-layers\n";
}

}  // namespace stratum::apps::studies
