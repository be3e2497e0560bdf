#pragma once

// Options of the programs, from the command line and a configuration file, with numbers checked against their ranges. What is
// an option and what its value is Boost.Program_options's to say; the programs say what is allowed, and what was meant.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/text_file.hpp>
#include <stratum/core/names.hpp>

namespace stratum::apps {

/// What the value of an option names.
enum class Names : std::uint8_t { no_file, input, output };

/// One option. An empty value name makes it a switch. A fallback is a real value; what holds otherwise is said in the help.
struct Option {
  std::string name;
  std::string value_name;
  std::string fallback;
  std::string help;
  bool repeatable = false;
  Names names = Names::no_file;
  /// The files in a value that is more than one name, as file:PATH in an expression's place. What cannot be parsed names none.
  std::vector<std::string> (*files_in)(const std::string& value) = nullptr;

  [[nodiscard]] bool is_switch() const { return value_name.empty(); }
  [[nodiscard]] std::string usage() const {
    return message(name == "help" ? "  -h, --" : "  --", name, is_switch() ? "" : " ", value_name,
                   fallback.empty() ? "" : " (=" + fallback + ")");
  }
};

[[nodiscard]] inline Option input_file(std::string name, std::string value_name, std::string help) {
  return {std::move(name), std::move(value_name), "", std::move(help), false, Names::input};
}
[[nodiscard]] inline Option output_file(std::string name, std::string value_name, std::string help) {
  return {std::move(name), std::move(value_name), "", std::move(help), false, Names::output};
}
/// One whose value names files among other things.
[[nodiscard]] inline Option with_files(Option option, Names names,
                                       std::vector<std::string> (*files_in)(const std::string& value)) {
  option.names = names;
  option.files_in = files_in;
  return option;
}

/// A number as people write it, 1e-8 and not 1e-08: a parameter's default in the help.
[[nodiscard]] inline std::string plain(double value) {
  std::string text = message(value);
  const auto exponent = text.find("e-0");
  return exponent == std::string::npos ? text : text.erase(exponent + 2, 1);
}

/// Options of several lists, in their order.
[[nodiscard]] inline std::vector<Option> joined(std::vector<Option> first, const std::vector<Option>& second,
                                                const std::vector<Option>& third = {}) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

/// A finite number; bounds belong to the range unless open.
struct Range {
  double low = 0;
  double high = 0;
  bool open_low = false;
  bool open_high = false;

  [[nodiscard]] bool contains(double value) const {
    return (open_low ? value > low : value >= low) && (open_high ? value < high : value <= high);
  }
  [[nodiscard]] std::string text() const {
    if (std::isinf(low)) return "a finite number";
    if (std::isinf(high)) return message("a finite number ", open_low ? "above " : "from ", low, open_low ? "" : " on");
    return message("a number in ", open_low ? "(" : "[", low, ", ", high, open_high ? ")" : "]");
  }
};

inline constexpr Range any_number{-HUGE_VAL, HUGE_VAL, true, true};
inline constexpr Range positive{0, HUGE_VAL, true, true};
inline constexpr Range not_negative{0, HUGE_VAL, false, true};
/// Of a relative tolerance: one asks for nothing.
inline constexpr Range fraction{0, 1, true, true};

/// A number, or what an expression of numbers, pi and e is worth, as 4*pi or 25/60; nothing of other text.
[[nodiscard]] std::optional<double> number_of(std::string_view text);
/// Such a number, in the range.
[[nodiscard]] double parse_number(const std::string& option, std::string_view text, const Range& range);

[[nodiscard]] inline int parse_integer(const std::string& option, std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  expects(error == std::errc() && end == text.data() + text.size() && value >= low && value <= high, option, ": '",
          shown(text), "' is not a whole number in ", low, " .. ", high);
  return value;
}

/// The two sides of "LEFT<separator>RIGHT".
[[nodiscard]] inline std::pair<std::string, std::string> parse_pair(const std::string& option, const std::string& text,
                                                                    std::string_view separator, std::string_view what) {
  const auto at = text.find(separator);
  expects(at != std::string::npos, option, ": '", shown(text), "' is not ", what);
  return {text.substr(0, at), text.substr(at + separator.size())};
}

/// The D parts of "A,B" or "A,B,C", any of which may be empty.
template <std::size_t D>
[[nodiscard]] std::array<std::string, D> parse_parts(const std::string& option, const std::string& text,
                                                     std::string_view what, const char* separators = ",") {
  std::array<std::string, D> parts;
  std::size_t k = 0, begin = 0;
  for (bool more = true; more; ++k) {
    const auto end = text.find_first_of(separators, begin);
    more = end != std::string::npos;
    expects(k < D && (more || k + 1 == D), option, ": '", shown(text), "' is not ", what);
    parts[k] = text.substr(begin, more ? end - begin : end);
    begin = end + 1;
  }
  return parts;
}

/// The numbers of "NX,NY" or "NXxNY", of three in three dimensions; "N" is N in every direction.
template <std::size_t D>
[[nodiscard]] std::array<std::string, D> parse_sizes(const std::string& option, const std::string& text) {
  constexpr const char* separators = ",x";
  if (text.find_first_of(separators) != std::string::npos)
    return parse_parts<D>(option, text, D == 2 ? "N, NX,NY or NXxNY" : "N, NX,NY,NZ or NXxNYxNZ", separators);
  std::array<std::string, D> same;
  same.fill(text);
  return same;
}

/// Which of `known` a name is; an unknown one is refused with the list of those there are, a renamed one with its new name.
[[nodiscard]] std::size_t index_of_name(const std::string& option, const std::string& name,
                                        const std::vector<std::string>& known);

/// The value that belongs to a name.
template <class T>
[[nodiscard]] T choice(const std::string& option, const std::string& name,
                       const std::vector<std::pair<std::string, T>>& known) {
  std::vector<std::string> names;
  for (const auto& [known_name, value] : known) names.push_back(known_name);
  return known[index_of_name(option, name, names)].second;
}

/// As to_string names them.
template <class Values>
[[nodiscard]] std::vector<std::string> texts_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto value : values) names.emplace_back(to_string(value));
  return names;
}

/// A value of an enumeration by its name in the table (core/names.hpp), one of `values`.
template <HasNames E, class Values = decltype(values_of<E>)>
[[nodiscard]] E choice(const std::string& option, const std::string& name, const Values& values = values_of<E>) {
  return values[index_of_name(option, name, texts_of(values))];
}

/// What `parse` makes of an option's text; what it throws is said to be of that option.
template <class Parse>
[[nodiscard]] auto parsed(const std::string& option, const Parse& parse) {
  try {
    return parse();
  } catch (const UsageError& error) {
    throw UsageError(message(option, ": ", error.what()));
  }
}

/// Options are --name VALUE or --name=VALUE, switches --name, and --no-name to undo one of a configuration. A value that stands
/// by itself may begin with one dash, as -x does; what begins with two is the next option.
class CommandLine {
 public:
  /// `settings` may also stand in a configuration file, `actions` may not.
  CommandLine(std::vector<OptionGroup> settings, OptionGroup actions);

  /// Reads the command line, then the file named by --config; what stands on the command line wins. Throws UsageError with the
  /// option and what is wrong with it, FileError where the file cannot be read.
  void parse(int argc, char** argv);

  [[nodiscard]] bool knows(const std::string& name) const {
    for (const auto& group : groups_)
      for (const auto& option : group.options)
        if (option.name == name) return true;
    return false;
  }
  /// Stands on the command line or in the configuration file.
  [[nodiscard]] bool has(const std::string& name) const { return given_.count(name) > 0; }
  /// Of a switch.
  [[nodiscard]] bool is_set(const std::string& name) const { return text(name) == "true"; }
  [[nodiscard]] std::string text(const std::string& name) const {
    return has(name) ? given_.at(name).back() : find(name).fallback;
  }
  /// Of a repeatable option, in the order given.
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const {
    return has(name) ? given_.at(name) : std::vector<std::string>();
  }
  [[nodiscard]] double number(const std::string& name, const Range& range) const {
    return parse_number("--" + name, text(name), range);
  }
  [[nodiscard]] int integer(const std::string& name, int low, int high) const {
    return parse_integer("--" + name, text(name), low, high);
  }
  /// Options that name files of this kind and are given, each with the name.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> files(Names kind) const {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& group : groups_)
      for (const auto& option : group.options) {
        if (option.names != kind) continue;
        for (const auto& value : texts(option.name))
          for (const auto& file : option.files_in == nullptr ? std::vector{value} : option.files_in(value))
            found.emplace_back(option.name, file);
      }
    return found;
  }

  [[nodiscard]] std::string help() const {
    std::size_t column = 0;
    for (const auto& group : groups_)
      for (const auto& option : group.options)
        column = std::max(column, std::min(option.usage().size() + 3, width / 2 + 1));
    std::string out;
    for (const auto& group : groups_) {
      out += "\n" + group.title + ":\n";
      for (const auto& option : group.options) {
        std::string line = option.usage();
        std::istringstream words(option.help);
        for (std::string word; words >> word;) {
          if (line.size() + 1 + word.size() > width) {
            out += line + "\n";
            line.clear();
          }
          line.resize(std::max(column, line.size() + 1), ' ');
          line += word;
        }
        out += line + "\n";
      }
    }
    return out;
  }

  /// Options that were given.
  [[nodiscard]] auto names_given() const { return std::views::keys(given_); }

  /// Everything that was given, a line each.
  [[nodiscard]] std::string given() const {
    std::string text;
    for (const auto& [name, values] : given_)
      for (const auto& value : values) text += "--" + name + "=" + value + "\n";
    return text;
  }

  /// Given settings as key=value; the others as comments, so that what follows from their absence stays so.
  [[nodiscard]] std::string configuration() const {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    std::ostringstream out;
    for (const auto& group : std::span(groups_).first(groups_.size() - 1)) {
      out << "# " << group.title << "\n";
      for (const auto& option : group.options) {
        const bool given = option.is_switch() ? is_set(option.name) : has(option.name);
        for (const auto& value :
             given ? texts(option.name) : std::vector{option.is_switch() ? "true" : option.fallback}) {
          const bool blanks = !value.empty() && (is_blank(value.front()) || is_blank(value.back()));
          expects(value.find_first_of("#\n") == std::string::npos && !blanks, "--", option.name, ": '", shown(value),
                  "' cannot stand in a configuration, where # begins a comment and blanks around a value are lost");
          out << (given ? "" : "# ") << option.name << "=" << value << "\n";
        }
      }
    }
    return out.str();
  }

 private:
  using Values = std::map<std::string, std::vector<std::string>>;
  static constexpr std::size_t width = 109;

  /// Throws UsageError for an unknown one, with the one closest to it.
  [[nodiscard]] const Option& find(const std::string& name) const;
  /// The setting that --no-NAME undoes; null for any other name.
  [[nodiscard]] const Option* undone_by(const std::string& name) const;
  void add(Values& values, const std::string& name, std::string value) const;
  [[nodiscard]] Values read(const std::string& path) const;

  std::vector<OptionGroup> groups_;  // the last: actions
  Values given_;
};

}  // namespace stratum::apps
