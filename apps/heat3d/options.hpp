#pragma once

// The options of heat3d and what --help says around them.

#include <string>

#include "support/command_line.hpp"

namespace stratum::apps::heat3d {

/// Every option with its group, its default value and its help.
[[nodiscard]] CommandLine make_command_line();

/// Usage and purpose; examples, expressions, files and exit codes.
[[nodiscard]] std::string text_before_options();
[[nodiscard]] std::string text_after_options();

}  // namespace stratum::apps::heat3d
