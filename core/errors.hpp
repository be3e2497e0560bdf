#pragma once

// Errors. Misuse and bad input throw; an iteration that does not converge is a status in its SolveReport, never an
// exception. Each class maps to one exit code of the programs.

#include <algorithm>
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

/// A matrix with which a method cannot go on: exit code 3.
class BreakdownError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
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

/// What a message shows of text that somebody else wrote: no control characters, and no more than `most` bytes.
[[nodiscard]] inline std::string shown(std::string_view text, std::size_t most = 80) {
  std::size_t end = std::min(text.size(), most);
  // Not in the middle of a character of several bytes.
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
  std::string result(text.substr(0, end));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return result + (end < text.size() ? "..." : "");
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

/// The same for what a matrix must be: throws BreakdownError.
template <class... Args>
void breaks_down_unless(bool condition, const Args&... args) {
  if (!condition) throw BreakdownError(message(args...));
}

}  // namespace stratum
