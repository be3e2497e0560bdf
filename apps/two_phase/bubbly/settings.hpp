#pragma once

// What the options of bubbly2d ask for, checked as far as that is possible before anything is computed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <stratum/solvers/stopping.hpp>

#include "support/program.hpp"
#include "two_phase/pressure_solver.hpp"

namespace stratum::apps::bubbly {

inline constexpr const char* program_name = "bubbly2d";

enum class Problem : std::uint8_t { poisson, layers, bubbles, phase };
enum class Reuse : std::uint8_t { none, guess, ritz, automatic };

/// The options, read.
struct Settings {
  Problem problem = Problem::bubbles;
  int nx = 0, ny = 0;
  double width = 1, height = 1;
  std::vector<Disc> bubbles;
  std::vector<double> phase;
  double inside = 1, outside = 1;  // densities
  double contrast = 1;             // of layers
  bool pinned = false, project = false;
  std::string rhs;
  unsigned seed = 0;
  PressureParams params;
  StoppingParams stop;
  bool tolerance_asked_for = false;
  int time_steps = 0;  // 0: one system
  double dt = 0;
  Reuse reuse = Reuse::automatic;
  int ritz = 0;
  Machine machine;
  bool quiet = false;

  [[nodiscard]] double cell_width() const { return width / nx; }
  [[nodiscard]] double cell_height() const { return height / ny; }
  [[nodiscard]] std::size_t cells() const { return static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny); }
};

/// Throws UsageError, which names the option, where options do not fit each other, and FileError.
[[nodiscard]] Settings parse_settings(const CommandLine& options);

}  // namespace stratum::apps::bubbly
