#pragma once

// The options of paper_tables and what --help says around them.

#include <string>

#include "support/command_line.hpp"

namespace stratum::apps::studies {

/// Every option with its group, its default value and its help.
[[nodiscard]] CommandLine make_command_line();

/// Usage and purpose; examples.
[[nodiscard]] std::string text_before_options();
[[nodiscard]] std::string text_after_options();

}  // namespace stratum::apps::studies
