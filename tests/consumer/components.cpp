// A program of someone else's that uses the libraries of programs: a number of each.
#include <cmath>
#include <cstdio>

#include <stratum/magnetics/magnetisation_curve.hpp>
#include <stratum/staggered/gauge_field.hpp>
#include <stratum/two_phase/five_point.hpp>

int main() {
  const stratum::MagnetisationCurve curve({1.0, 2.0}, {100.0, 1000.0}, 1.5e6);
  stratum::Context ctx(stratum::Backend::cpu, 1);
  const auto a = stratum::five_point_operator(ctx, stratum::poisson_links(4, 3));
  const double links = stratum::staggered::plaquette(stratum::staggered::GaugeField::near_unit({2, 2, 2, 2}, 0, 1));
  std::printf("field %g unknowns %lld plaquette %g\n", curve.field(1.0), static_cast<long long>(a.shape().nodes()),
              links);
  return std::abs(curve.field(1.0) - 100) < 1e-9 && a.shape().nodes() == 12 && std::abs(links - 1) < 1e-12 ? 0 : 1;
}
