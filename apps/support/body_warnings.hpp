#pragma once

// What programs warn of where bodies hold u or let nothing in: values that differ from those of boundaries, and solids that
// touch in corners alone (assembly/corner_contacts.hpp); of a solution, what leaks between cells of high K that touch in corners
// alone (assembly/corner_leaks.hpp). And of data that the mesh does not resolve (assembly/unresolved_data.hpp). `when` begins
// the messages that depend on the time.

#include <string>

#include <stratum/assembly/body_fluxes.hpp>
#include <stratum/assembly/corner_contacts.hpp>
#include <stratum/assembly/corner_leaks.hpp>
#include <stratum/assembly/unresolved_data.hpp>

#include "program.hpp"

namespace stratum::apps {

inline void warn_of_bodies(const char* program, Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                           const std::string& when = "") {
  if (const auto map = bodies_on(ctx, mesh, problem)) warn(program, corner_contacts(mesh, *map).warning());
  if (const CornerGap body = largest_body_gap(ctx, mesh, problem); body.gap > 0)
    warn(program, message(when, "a body and a boundary differ by ", body.gap, " at (", body.x, ", ", body.y,
                          "); there u has the value of the boundary"));
}

/// Of several right-hand sides.
inline std::string of_solution(std::size_t k, std::size_t count) {
  return count > 1 ? message("solution ", k + 1, ": ") : "";
}
/// `when` names the solution.
inline void warn_of_leaks(const char* program, Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                          const GridFunction<const double>& u, const CellCoefficients* cells, const std::string& when) {
  if (auto leaks = corner_leaks(ctx, mesh, problem, u, cells).warning(); !leaks.empty()) warn(program, when + leaks);
}

/// `vanishes`: the right-hand side of all equations is zero.
template <class Mesh, class Problem>
void warn_of_data(const char* program, Context& ctx, const Mesh& mesh, const Problem& problem, const DataRule& rule,
                  const std::string& of_solution) {
  if (auto data = warning_of_data(ctx, mesh, problem, rule); !data.empty()) warn(program, of_solution + data);
}

inline void warn_of_bodies(const char* program, const Context& ctx, const TensorMesh<3>& mesh,
                           const PoissonProblem3D& problem, const std::string& when = "") {
  const auto bodies = bodies_on(ctx, mesh, problem);
  if (!bodies) return;
  warn(program, corner_contacts(mesh, *bodies).warning());
  if (const BodyGap3D body = largest_body_gap(mesh, problem, *bodies); body.gap > 0)
    warn(program, message(when, "a body and a face differ by ", body.gap, " at (", body.x, ", ", body.y, ", ", body.z,
                          "); there u has the value of the face"));
}

}  // namespace stratum::apps
