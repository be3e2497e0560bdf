#pragma once

// Errors. Misuse and bad input throw; an iteration that does not converge is a status in its SolveReport, never an
// exception. Each class maps to one exit code of the programs.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

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

namespace detail {

/// An argument of a message, taken by its kind: the code that joins them is compiled once, and not for every list of types.
class MessagePart {
 public:
  // NOLINTBEGIN(google-explicit-constructor): whatever a message is made of
  MessagePart(const char* text) : kind_(Kind::literal), text_(text) {}
  MessagePart(std::string_view text) : kind_(Kind::text), text_(text.data()), size_(text.size()) {}
  MessagePart(const std::string& text) : MessagePart(std::string_view(text)) {}
  MessagePart(char character) : kind_(Kind::character), integer_(character) {}
  template <std::signed_integral T>
  MessagePart(T number) : kind_(Kind::integer), integer_(number) {}
  template <std::unsigned_integral T>
  MessagePart(T number) : kind_(Kind::natural), natural_(number) {}
  template <std::floating_point T>
  MessagePart(T number) : kind_(Kind::number), number_(static_cast<double>(number)) {}
  MessagePart(const void* address) : kind_(Kind::address), address_(address) {}
  /// Anything else that goes to a stream.
  template <class T>
  requires(std::is_class_v<T> && !std::convertible_to<const T&, std::string_view>) MessagePart(const T& other)
      : kind_(Kind::other), address_(&other),
        print_other_([](std::ostream& out, const void* some) { out << *static_cast<const T*>(some); }) {}
  // NOLINTEND(google-explicit-constructor)

  void print(std::ostream& out) const;

 private:
  enum class Kind : std::uint8_t { literal, text, character, integer, natural, number, address, other };
  Kind kind_;
  union {
    const char* text_;
    long long integer_;
    unsigned long long natural_;
    double number_;
    const void* address_;
  };
  std::size_t size_ = 0;
  void (*print_other_)(std::ostream&, const void*) = nullptr;
};

[[nodiscard]] std::string joined(std::initializer_list<MessagePart> parts);
[[noreturn]] void throw_usage_error(std::initializer_list<MessagePart> parts);
[[noreturn]] void throw_breakdown(std::initializer_list<MessagePart> parts);

}  // namespace detail

/// Joins its arguments as a stream would print them; messages name the offending value this way.
template <class... Args>
[[nodiscard]] std::string message(const Args&... args) {
  return detail::joined({args...});
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

/// Throws UsageError with the arguments joined, as `message` does it, unless `condition` holds. They are joined only on
/// failure.
template <class... Args>
void expects(bool condition, const Args&... args) {
  if (!condition) [[unlikely]]
    detail::throw_usage_error({args...});
}

/// The same for what a matrix must be: throws BreakdownError.
template <class... Args>
void breaks_down_unless(bool condition, const Args&... args) {
  if (!condition) [[unlikely]]
    detail::throw_breakdown({args...});
}

}  // namespace stratum
