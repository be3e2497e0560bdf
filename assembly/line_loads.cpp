#include <stratum/assembly/line_loads.hpp>

#include <stratum/assembly/geometry.hpp>

namespace stratum {

std::vector<double> parabola_loads(const Axis& line) {
  return line_loads(
      line.size(), [&line](int i) { return line.widths()[static_cast<std::size_t>(i)]; },
      [&line](int i, double t) {
        const LinePoint p = LineInterval(line, i).at(t);
        return p.from_begin * p.from_end;
      });
}

std::vector<double> hat_integrals(const Axis& line) {
  std::vector<double> loads(line.widths().size() + 1, 0.0);
  for (std::size_t k = 0; k < line.widths().size(); ++k) {
    loads[k] += line.widths()[k] / 2;
    loads[k + 1] += line.widths()[k] / 2;
  }
  return loads;
}

std::vector<double> at_unknowns(const Axis& line, std::vector<double> loads) {
  if (line.is_periodic()) loads.front() += loads.back();
  const auto first = loads.begin() + line.first_unknown();
  return {first, first + line.unknowns()};
}

}  // namespace stratum
