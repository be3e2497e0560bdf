#include "results.hpp"

#include <cmath>

#include <stratum/magnetics/magnetic_field.hpp>

namespace stratum::apps::magnetics {

Results evaluate(Context& ctx, const Problem& problem, const SolvedField& field, const Settings& settings) {
  const auto& a = field.a;
  const auto& elements = problem.elements;
  const auto mean = [&](team20::Material material) {
    return mean_flux_density(elements, a, team20::boxes_of(problem.materials, material), team20::section)[2];
  };
  const auto pole = team20::boxes_of(problem.materials, team20::Material::pole);
  Results r;
  r.force = team20::quarters * eggshell_force(elements, a, pole)[2];
  const double linkage = team20::quarters * vacuum_permeability * dot(a, problem.b);
  r.energy = settings.curve ? team20::quarters * field_energy(elements, problem.steel, team20::steel_curve(),
                                                              elements.mean_square_curl(ctx, a))
                            : linkage / 2;
  r.inductance = linkage / (settings.ampere_turns * settings.ampere_turns);
  r.p1 = flux_density_at(elements, a, team20::p1)[2];
  r.p2 = flux_density_at(elements, a, team20::p2)[2];
  r.pole = mean(team20::Material::pole);
  r.yoke = mean(team20::Material::yoke);
  return r;
}

const team20::Measurement* measurement(double ampere_turns) {
  for (const auto& m : team20::measured)
    if (m.ampere_turns == ampere_turns) return &m;
  return nullptr;
}

std::string remark(const Settings& settings, const SolvedField& field) {
  const double end = team20::steel_curve().end();
  if (field.largest > end)
    return message("|B| in the steel goes up to ", field.largest, " T, beyond the curve's last point at ", end,
                   " T: there B = mu0 H + 2.16 T is taken");
  if (settings.curve) return "";
  return message("a permeability of ", settings.permeability,
                 " whatever the field is no model of this steel: the measured values cannot come out of it");
}

}  // namespace stratum::apps::magnetics
