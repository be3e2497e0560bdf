#pragma once

// Restart files: all that steps in time go on from, with the bits that it had. Written whole or not at all.
//
//     a line of text that names the format, lines "name value", a line "data", numbers of 8 bytes as the machine has them,
//     and 8 bytes of a check sum (FNV-1a) of all before
//
// A line "given.NAME" has a check sum of what option --NAME said of the problem or of the steps, files that it names among it:
// a run that goes on with other data is told so.
//
// Throws FileError for a file that is none, is cut short or damaged; UsageError for one of another mesh or method.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/io/output_file.hpp>
#include <stratum/core/io/whole_file.hpp>
#include <stratum/mesh/patches/patch_mesh.hpp>
#include <stratum/multigrid/heat_progress.hpp>

#include "command_line.hpp"
#include "input_files.hpp"

namespace stratum::apps {

/// The first line of a program's files.
[[nodiscard]] inline std::string restart_format(const char* program) {
  return message("stratum ", program, " restart 2");
}

template <class T>
[[nodiscard]] std::string_view bytes_of(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

/// Of its widths, where it starts, and the kinds of its ends.
template <int D>
[[nodiscard]] std::uint64_t check_sum_of_axes(const TensorMesh<D>& mesh, std::uint64_t sum) {
  for (int d = 0; d < D; ++d) {
    const Axis& axis = mesh.axis(d);
    sum = check_sum(bytes_of(axis.widths()), sum);
    sum = check_sum(message(axis.origin(), to_string(axis.first_boundary()), to_string(axis.last_boundary())), sum);
  }
  return sum;
}

/// And, where it is no rectangle, of its nodes.
[[nodiscard]] inline std::uint64_t check_sum(const ProblemMesh& mesh) {
  std::uint64_t sum = check_sum(std::string_view());
  if (mesh.mapped()) sum = check_sum(bytes_of(mesh.mapped()->y()), check_sum(bytes_of(mesh.mapped()->x()), sum));
  if (mesh.mapped() && !mesh.mapped()->is_cartesian()) sum = check_sum(to_string(mesh.mapped()->coordinates()), sum);
  return check_sum_of_axes(mesh.logical(), sum);
}

/// Of the nodes of patches and the steps between them.
[[nodiscard]] inline std::uint64_t check_sum(const PatchMesh& mesh) {
  std::uint64_t sum = check_sum(std::string_view());
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    sum = check_sum(message(nodes.nx, ' ', nodes.ny), sum);
    for (const auto* part : {&nodes.at, &nodes.step_x, &nodes.step_y}) sum = check_sum(bytes_of(*part), sum);
  }
  for (int e = 0; e < mesh.edges(); ++e)
    if (mesh.edge(e).on_boundary()) sum = check_sum(message(mesh.edge(e).boundary), sum);
  return sum;
}

/// What options say of the problem and of the steps, by name: check sums.
using GivenData = std::map<std::string, std::uint64_t>;

inline constexpr const char* problem_options[] = {"rhs",    "capacity", "exact",    "boundary", "left",  "right",
                                                  "bottom", "top",      "front",    "back",     "kappa", "kx",
                                                  "ky",     "kz",       "reaction", "mass",     "body"};

[[nodiscard]] inline GivenData given_data(const CommandLine& options) {
  GivenData given;
  for (const char* name : problem_options) {
    if (!options.knows(name)) continue;
    std::uint64_t& sum = given[name] = check_sum("");
    for (const std::string& text : options.texts(name)) sum = check_sum(text, sum);
  }
  for (const auto& [option, path] : options.files(Names::input))
    if (const auto found = given.find(option); found != given.end())
      found->second = check_sum(contents_of(path), found->second);
  for (const char* name : {"dt", "tol", "rtol"}) given[name] = check_sum(options.has(name) ? options.text(name) : "");
  if (options.has("tol")) given["dt"] = check_sum("");  // of the first step, which is behind
  return given;
}

/// Of what the state is to go on with.
struct RestartOf {
  const char* program;
  std::uint64_t mesh;      // a check sum
  std::vector<int> cells;  // of each direction
  TimeMethod method;
  bool adaptive;
  double start;
  GivenData given;
};

inline void write_restart(const std::string& path, const RestartOf& of, const HeatState& state) {
  std::ostringstream text;
  text.precision(17);
  const HeatReport& r = state.report;
  text << restart_format(of.program) << "\nmesh " << of.mesh;
  for (std::size_t d = 0; d < of.cells.size(); ++d) text << "\ncells_" << axis_names[d] << ' ' << of.cells[d];
  text << "\nmethod " << to_string(of.method) << "\nadaptive " << of.adaptive << "\nstart " << of.start << "\nt " << r.t
       << "\nsteps " << r.steps << "\nrejected " << r.rejected << "\nforced " << r.forced << "\nsolves " << r.solves
       << "\ncycles " << r.cycles << "\nupdates " << r.updates << "\nmost_cycles " << r.most_cycles << "\nknown_slopes "
       << state.known_slopes << "\nunknowns " << state.u.size() << "\nboundary_nodes " << state.boundary_slope.size()
       << "\n";
  for (const auto& [name, sum] : of.given) text << "given." << name << ' ' << sum << '\n';
  text << "data\n";
  std::string all = text.str();
  const std::vector<double> numbers{r.shortest_dt,      r.longest_dt,    state.dt,
                                    state.error_before, state.size_of_u, state.largest_u,
                                    state.size_of_load, state.last_dt,   state.before};
  for (const auto* part : {&numbers, &state.u, &state.slope, &state.slope_before, &state.boundary_slope})
    all += bytes_of(*part);
  all += bytes_of(std::vector<std::uint64_t>{check_sum(all)});
  const RemovedWhenInterrupted unfinished_file(temporary_name(path));
  write_whole_text(path, all);
}

struct Restart {
  HeatState state;
  double start = 0;
  /// Options that said something else when the file was saved, in the order of their names.
  std::vector<std::string> changed{};
};

/// Throws as said above.
[[nodiscard]] inline Restart read_restart(const std::string& path, const RestartOf& of) {
  const std::string format = restart_format(of.program);
  const auto is_restart = [first_line = format + "\n"](std::string_view begin) {
    return begin.starts_with(first_line);
  };
  const std::string all = detail::whole_file(path, is_restart);
  if (!is_restart(all))
    throw FileError(message("'", path, "' is no restart file: it does not begin with '", format, "'"));
  const auto damaged = [&path]() -> FileError {
    return FileError(message("'", path, "' is cut short or damaged: its check sum does not fit"));
  };
  std::uint64_t sum = 0;
  if (all.size() < sizeof sum) throw damaged();
  const std::string_view content = std::string_view(all).substr(0, all.size() - sizeof sum);
  std::memcpy(&sum, all.data() + content.size(), sizeof sum);
  if (sum != check_sum(content)) throw damaged();

  const auto data = content.find("\ndata\n");
  if (data == std::string_view::npos) throw damaged();
  std::map<std::string, std::string> header;
  std::istringstream lines{std::string(content.substr(format.size(), data - format.size()))};
  for (std::string name, value; lines >> name >> value;) header[name] = value;
  const auto number = [&](const char* name, auto& to) {
    std::istringstream value(header[name]);
    if (!(value >> to)) throw damaged();
  };
  std::uint64_t mesh = 0;
  std::string cells, own_cells;
  bool adaptive = false;
  number("mesh", mesh);
  for (std::size_t d = 0; d < of.cells.size(); ++d) {
    int count = 0;
    number(message("cells_", axis_names[d]).c_str(), count);
    cells += message(d > 0 ? " x " : "", count);
    own_cells += message(d > 0 ? " x " : "", of.cells[d]);
  }
  number("adaptive", adaptive);
  expects(mesh == of.mesh, "the restart file '", path, "' is of another mesh, ", cells, " cells; this one has ",
          own_cells, ", or other widths, nodes, kinds of boundaries or another discretisation");
  expects(header["method"] == to_string(of.method) && adaptive == of.adaptive, "the restart file '", path,
          "' goes on with ", adaptive ? "adaptive" : "fixed", " steps of ", header["method"], ", not with ",
          of.adaptive ? "adaptive" : "fixed", " ones of ", to_string(of.method));

  Restart found;
  auto& [state, start, changed] = found;
  for (const auto& [name, said] : of.given)
    if (header["given." + name] != message(said)) changed.push_back(name);
  HeatReport& r = state.report;
  std::size_t unknowns = 0, boundary_nodes = 0;
  number("start", start);
  number("t", r.t);
  number("steps", r.steps);
  number("rejected", r.rejected);
  number("forced", r.forced);
  number("solves", r.solves);
  number("cycles", r.cycles);
  number("updates", r.updates);
  number("most_cycles", r.most_cycles);
  number("known_slopes", state.known_slopes);
  number("unknowns", unknowns);
  number("boundary_nodes", boundary_nodes);
  std::vector<double> numbers(9);
  state.u.resize(unknowns);
  state.slope.resize(unknowns);
  state.slope_before.resize(unknowns);
  state.boundary_slope.resize(boundary_nodes);
  std::size_t at = data + std::string_view("\ndata\n").size();
  for (auto* part : {&numbers, &state.u, &state.slope, &state.slope_before, &state.boundary_slope}) {
    const std::size_t length = part->size() * sizeof(double);
    if (content.size() - at < length) throw damaged();
    if (length > 0) std::memcpy(part->data(), content.data() + at, length);
    at += length;
  }
  if (at != content.size()) throw damaged();
  r.shortest_dt = numbers[0];
  r.longest_dt = numbers[1];
  state.dt = numbers[2];
  state.error_before = numbers[3];
  state.size_of_u = numbers[4];
  state.largest_u = numbers[5];
  state.size_of_load = numbers[6];
  state.last_dt = numbers[7];
  state.before = numbers[8];
  return found;
}

}  // namespace stratum::apps
