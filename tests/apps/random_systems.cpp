// Continuous doubt, second part: everything that the plain problems of random_problems do not have, against a direct solution
// in quadruple precision. The kinds stand in random_elements.cpp and random_matrices.cpp.
//
//     random_systems KIND PROGRAM [COUNT [SEED]]     (random_support.hpp)
//
// KIND   poisson       poisson2d: mixtures of boundary conditions, K and c by regions, tensors, deformed meshes
//        heat          heat2d: the same with a capacity, a few steps of every method
//        matrix        the C interface (PROGRAM is not run): five points with regions, rooms, identity rows, penalties and
//                      scaled rows
//
// with -mild behind it, numbers lie within 1e-2 .. 1e2 of each other and nothing is a penalty; without, within 1e-8 .. 1e8. All
// is written from the definitions and shares nothing with the library. Where a solve ends well (exit code 0), the solution must
// be right in every connected part of the matrix and in every region of K by itself, not in a norm that one of them owns. Where
// it does not end well, that is an answer too, but not for mild numbers.

#include <iostream>
#include <string>

#include "random_systems.hpp"

using namespace random_test;

int main(int argc, char** argv) {
  const std::string given = argc > 1 ? argv[1] : "";
  const auto dash = given.find("-mild");
  const bool mild = dash != std::string::npos;
  const std::string kind = given.substr(0, dash);
  if (argc < 3 || (kind != "poisson" && kind != "heat" && kind != "matrix")) {
    std::cerr << "usage: random_systems poisson|heat|matrix[-mild] PROGRAM [COUNT [SEED]]\n";
    return 1;
  }
  const std::string program = argv[2];
  return run_problems({argv + 3, argv + argc}, 300, [&](Chance& chance) {
    return kind == "matrix" ? solve_matrix(chance, mild) : solve_with_elements(chance, program, kind == "heat", mild);
  });
}
