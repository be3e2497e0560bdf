#pragma once

// Bodies inside the box (assembly/box_bodies.hpp): the option --body SHAPE:KIND.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stratum/assembly/box_bodies.hpp>
#include <stratum/multigrid/box_planes.hpp>

#include "support/program.hpp"

namespace stratum::apps::poisson3d {

[[nodiscard]] Option box_body_option();

/// The shape is a box, a ball or a cylinder, not an expression or a file.
[[nodiscard]] bool has_name(const std::string& shape);
/// `field`: of an expression or a file.
[[nodiscard]] std::vector<Body3D> parse_bodies(const CommandLine& options,
                                               const std::function<ScalarFunction3D(const std::string&)>& field);

/// Of every cell between these planes the number of its body, from 1 on, or 0; empty where there are none.
[[nodiscard]] std::vector<double> numbers_of_bodies(const std::shared_ptr<const BoxBodies>& bodies,
                                                    const NodePlanes& planes);

}  // namespace stratum::apps::poisson3d
