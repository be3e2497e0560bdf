#pragma once

// Errors. Misuse and bad input throw; an iteration that does not converge is a status in its SolveReport, never an
// exception. Each class maps to one exit code of the programs.

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stratum {

/// Misuse or bad input: exit code 1.
class UsageError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A device failed, or memory does not suffice: exit code 4.
class ResourceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file cannot be read or written: exit code 5.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Joins its arguments as a stream would print them; messages name the offending value this way.
template <class... Args>
[[nodiscard]] std::string message(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

/// Throws UsageError with `what` unless `condition` holds.
inline void expects(bool condition, std::string_view what) {
  if (!condition) throw UsageError(std::string(what));
}

/// The same for messages that are costly to build: `args` are joined only on failure.
template <class First, class Second, class... Args>
void expects(bool condition, const First& first, const Second& second, const Args&... args) {
  if (!condition) throw UsageError(message(first, second, args...));
}

}  // namespace stratum
