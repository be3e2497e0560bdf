// The problem of deal.II's step-5 on a rectangle whose cells become thin,
//
//     -div(a grad u) = 1 on (-1, 1)^2,   u = 0 on its boundaries,   a = jump within |x| < 1/2, else 1,
//
// by conjugate gradients with several preconditioners; iterations and seconds side by side.
//
//     dealii_jump [refinements = 4] [ratio = 0.25] [jump = 20]
//
// The coarse mesh has 8 x 8 cells, those in x each `ratio` times as wide as the one before; every refinement halves them all.

#include <cstdlib>

#include "dealii_comparison.hpp"

int main(int argc, char** argv) {
  const int refinements = argc > 1 ? std::atoi(argv[1]) : 4;
  const double ratio = argc > 2 ? std::atof(argv[2]) : 0.25, jump = argc > 3 ? std::atof(argv[3]) : 20;
  if (argc > 4 || refinements < 1 || refinements > 9 || !(ratio > 0 && ratio <= 1) || !(jump > 0)) {
    std::fprintf(stderr, "usage: dealii_jump [refinements, 1 to 9] [ratio in (0, 1]] [jump above 0]\n");
    return 1;
  }
  return example::run_program(argc, argv, [&] {
    using Point = dealii::Point<2>;
    example::System system(Point(-1, -1), Point(1, 1), static_cast<unsigned int>(refinements), ratio, {0, 1, 2, 3});
    const auto a = [jump](const Point& p) { return p.norm() < 0.5 ? jump : 1.0; };
    system.assemble(a, 0, [](const Point&) { return 1.0; });
    std::printf("%u unknowns, aspect ratio up to %.1e, coefficient jumping by %g; residual down by 1e-8\n\n",
                system.dof_handler.n_dofs(), system.aspect_ratio(), jump);
    return example::compare(system, example::every_method(system));
  });
}
