#include "output.hpp"

#include <cstddef>

#include <stratum/assembly/picture.hpp>

#include "support/solve_output.hpp"
#include "support/vtk_series.hpp"

namespace stratum::apps::bubbly {

OutputFiles parse_outputs(const CommandLine& options, const Settings& s) {
  OutputFiles outputs(options);
  const auto ends = [&](const char* option, const char* ending) {
    const std::string path = outputs.path(option);
    expects(path.empty() || path == "-" || path.ends_with(ending), "--", option, ": '", path, "' must end in ", ending);
  };
  ends("vtk", s.time_steps > 0 ? ".pvd" : ".vtr");
  ends("npy", ".npy");
  ends("png", ".png");
  expects(s.time_steps == 0 || outputs.path("vtk") != "-", "--vtk: a film is several files");
  if (const std::string film = outputs.path("vtk"); s.time_steps > 0 && !film.empty())
    outputs.add_family("vtk", film, [film](const std::string& file) { return VtkSeries::names(film, 1, 'r', file); });
  expects(s.time_steps == 0 || !outputs.has("history"), "--history: of one solve; --report tells of every step");
  expects(!outputs.has("png") || pictures_available(), "--png: this build has no VTK that draws (Debian: libvtk9-dev)");
  return outputs;
}

TensorMesh<2> mesh_of_cells(const Settings& s) {
  return {Axis(std::vector<double>(static_cast<std::size_t>(s.nx), s.cell_width()), s.width),
          Axis(std::vector<double>(static_cast<std::size_t>(s.ny), s.cell_height()), s.height), "cells"};
}

Fields fields_of(const Settings& s, const PressureSystem& system, const PressureSolver& solver,
                 const std::vector<double>& p, const std::vector<double>& b) {
  Fields fields{system.density, p, b, {solver.domains().begin(), solver.domains().end()}};
  for (double& value : fields.f) value /= s.cell_width() * s.cell_height();
  return fields;
}

void write_picture(const Settings& s, const std::vector<double>& p, const std::string& path, const std::string& title) {
  const auto centres = [](int cells, double width) {
    return Axis(std::vector<double>(static_cast<std::size_t>(cells - 1), width)).starting_at(width / 2);
  };
  write_png(path, TensorMesh<2>(centres(s.nx, s.cell_width()), centres(s.ny, s.cell_height())), p, title);
}

}  // namespace stratum::apps::bubbly
