#pragma once

// The options of stratum_bench and what --help says around them.

#include <string>

#include "support/command_line.hpp"

namespace stratum::apps::bench {

/// Every option with its group, its default value and its help.
[[nodiscard]] CommandLine make_command_line();

/// Usage and purpose; examples and files.
[[nodiscard]] std::string text_before_options();
[[nodiscard]] std::string text_after_options();

}  // namespace stratum::apps::bench
