#pragma once

// Bodies inside the box (assembly/box_bodies.hpp): the option --body SHAPE:KIND.

#include <functional>
#include <string>
#include <vector>

#include <stratum/assembly/box_bodies.hpp>

#include "support/program.hpp"

namespace stratum::apps::poisson3d {

[[nodiscard]] Option box_body_option();

/// `field`: of an expression or a file.
[[nodiscard]] std::vector<Body3D> parse_bodies(const CommandLine& options,
                                               const std::function<ScalarFunction3D(const std::string&)>& field);

}  // namespace stratum::apps::poisson3d
