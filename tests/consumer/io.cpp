// A program of someone else's that uses stratum::io: it prints what there is.
#include <cstdio>
#include <stdexcept>

#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

int main() {
  std::printf("vtk %d expressions %d\n", stratum::vtk_available(), stratum::expressions_available());
  try {
    const auto mesh = stratum::make_mesh(stratum::mesh_family("U1"), 3);
    stratum::write_vtr("consumer.vtr", mesh, {});
    if (!stratum::vtk_available()) return 1;
  } catch (const stratum::UsageError&) {
    if (stratum::vtk_available()) return 1;
  }
  try {
    if (stratum::parse_expression("x + y", 1, 1)({0.25, 0.5, 0.75, 0.5, 0.25, 0.5}) != 0.75) return 1;
  } catch (const stratum::UsageError&) {
    if (stratum::expressions_available()) return 1;
  }
  return 0;
}
