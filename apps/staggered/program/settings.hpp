#pragma once

// What the options of staggered ask for, checked as far as that is possible before anything is computed.

#include <cstdint>
#include <string>
#include <vector>

#include <stratum/solvers/mixed/reliable_cg.hpp>
#include <stratum/solvers/stopping.hpp>
#include <stratum/staggered/dirac.hpp>
#include <stratum/staggered/propagator.hpp>

#include "support/program.hpp"

namespace stratum::apps::propagators {

using namespace stratum::staggered;  // what all of this is about

enum class StartField : std::uint8_t { unit, random, near };

/// The options, read.
struct Settings {
  Lattice lattice{8, 8, 8, 16};
  StartField field = StartField::near;
  double sigma = 0.3;
  std::uint64_t seed = 1;
  std::string gauge;  // a file; empty: made
  std::vector<double> masses;
  Source source = Source::point;
  bool mixed = true, shorts = false, together = false;
  Reals reals = Reals::r18;
  ReliableCgParams reliable;
  StoppingParams stop;
  bool tolerance_asked_for = false;
  LatticePartition partition;
  Machine machine;
  bool quiet = false;
};

/// Throws UsageError, which names the option, where options do not fit each other.
[[nodiscard]] Settings parse_settings(const CommandLine& options);

}  // namespace stratum::apps::propagators
