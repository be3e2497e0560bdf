#pragma once

// The options of team20, what --help says around them, and its lists.

#include <string>

#include "support/command_line.hpp"

namespace stratum::apps::magnetics {

/// Every option with its group, its default value and its help.
[[nodiscard]] CommandLine make_command_line();

/// Usage and purpose; examples, files and exit codes.
[[nodiscard]] std::string text_before_options();
[[nodiscard]] std::string text_after_options();

/// Print what there is, for --list-methods and --list-preconditioners.
void list_methods();
void list_preconditioners();

}  // namespace stratum::apps::magnetics
