#pragma once

// --report: everything that is printed and more, as JSON. docs/reference/report.md describes the members.

#include <string>
#include <vector>

#include "outcome.hpp"
#include "settings.hpp"

namespace stratum::apps::poisson {

/// Of all levels that were solved; the members of the top are those of the last one.
[[nodiscard]] std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                                      const std::vector<Outcome>& outcomes, const OutputFiles& outputs);

}  // namespace stratum::apps::poisson
