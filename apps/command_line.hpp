#pragma once

// What the programs share: options from the command line and a configuration file, with numbers checked against their
// ranges; errors as one line on stderr with the exit code of their class; and signals, at which a program ends at once and
// leaves no unfinished file.

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <stratum/core/errors.hpp>
#include <stratum/core/output_file.hpp>

namespace stratum::apps {

/// One option. An empty value name makes it a switch. A fallback is a real value; what holds otherwise is said in the help.
struct Option {
  std::string name;
  std::string value_name;
  std::string fallback;
  std::string help;
  bool repeatable = false;

  [[nodiscard]] bool is_switch() const { return value_name.empty(); }
  [[nodiscard]] std::string usage() const {
    return message(name == "help" ? "  -h, --" : "  --", name, is_switch() ? "" : " ", value_name,
                   fallback.empty() ? "" : " (=" + fallback + ")");
  }
};

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
    if (std::isinf(high)) return message("a finite number ", open_low ? "above " : "from ", low, open_low ? "" : " on");
    return message("a number in ", open_low ? "(" : "[", low, ", ", high, open_high ? ")" : "]");
  }
};

inline constexpr Range positive{0, HUGE_VAL, true, true};
inline constexpr Range not_negative{0, HUGE_VAL, false, true};

[[nodiscard]] inline double parse_number(const std::string& option, std::string_view text, const Range& range) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  expects(error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && range.contains(value),
          option, ": '", text, "' is not ", range.text());
  return value;
}

[[nodiscard]] inline int parse_integer(const std::string& option, std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  expects(error == std::errc() && end == text.data() + text.size() && value >= low && value <= high, option, ": '",
          text, "' is not a whole number in ", low, " .. ", high);
  return value;
}

/// The two sides of "LEFT<separator>RIGHT".
[[nodiscard]] inline std::pair<std::string, std::string> parse_pair(const std::string& option, const std::string& text,
                                                                    std::string_view separator, std::string_view what) {
  const auto at = text.find(separator);
  expects(at != std::string::npos, option, ": '", text, "' is not ", what);
  return {text.substr(0, at), text.substr(at + separator.size())};
}

/// The value that belongs to a name; an unknown one is refused with the list of those there are.
template <class T>
[[nodiscard]] T choice(const std::string& option, const std::string& name,
                       const std::vector<std::pair<std::string, T>>& known) {
  std::string names;
  for (const auto& [known_name, value] : known) {
    if (known_name == name) return value;
    names += (names.empty() ? "" : ", ") + known_name;
  }
  throw UsageError(message(option, ": unknown name '", name, "'; known are ", names));
}

/// How many letters to insert, delete or replace until one name is the other.
[[nodiscard]] inline std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j)
      diagonal =
          std::exchange(row[j + 1], std::min({diagonal + (from[i] == to[j] ? 0 : 1), row[j] + 1, row[j + 1] + 1}));
  }
  return row.back();
}

/// Options are --name VALUE or --name=VALUE, switches --name. A value that stands by itself may begin with one dash, as -x
/// does; what begins with two is the next option.
class CommandLine {
 public:
  /// `settings` may also stand in a configuration file, `actions` may not.
  CommandLine(std::vector<OptionGroup> settings, OptionGroup actions) : groups_(std::move(settings)) {
    groups_.push_back(std::move(actions));
  }

  /// Reads the command line, then the file named by --config; what stands on the command line wins.
  void parse(int argc, char** argv) {
    for (int k = 1; k < argc; ++k) {
      const std::string word = argv[k] == help_letter ? "--help" : argv[k];
      expects(word.starts_with("--"), "unexpected argument '", word, "'; options begin with --");
      const auto equals = word.find('=');
      const bool attached = equals != std::string::npos;
      const Option& option = find(word.substr(2, equals - 2));
      if (option.is_switch()) {
        expects(!attached, "--", option.name, " takes no value, '", word, "' has one");
        add(given_, option, "true");
        continue;
      }
      const std::string value = attached ? word.substr(equals + 1) : k + 1 < argc ? argv[k + 1] : "--";
      expects(attached ? !value.empty() : value != help_letter && !value.starts_with("--"), "--", option.name,
              " lacks its value: --", option.name, " ", option.value_name, " or --", option.name, "=",
              option.value_name);
      add(given_, option, value);
      if (!attached) ++k;
    }
    if (has("config")) given_.merge(read(text("config")));
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

  /// Given settings as key=value; the others as comments, so that what follows from their absence stays so.
  [[nodiscard]] std::string configuration() const {
    std::ostringstream out;
    for (const auto& group : std::span(groups_).first(groups_.size() - 1)) {
      out << "# " << group.title << "\n";
      for (const auto& option : group.options) {
        const bool given = option.is_switch() ? is_set(option.name) : has(option.name);
        for (const auto& value :
             given ? texts(option.name) : std::vector{option.is_switch() ? "true" : option.fallback}) {
          expects(value.find_first_of("#\n") == std::string::npos && trimmed(value) == value, "--", option.name, ": '",
                  value,
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
  static constexpr std::string_view help_letter = "-h";

  static std::string trimmed(const std::string& text) {
    constexpr const char* blanks = " \t\r";
    const auto first = text.find_first_not_of(blanks);
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blanks) + 1 - first);
  }

  static void add(Values& values, const Option& option, const std::string& value) {
    auto& all_of_it = values[option.name];
    expects(all_of_it.empty() || option.repeatable, "--", option.name, " is given twice");
    all_of_it.push_back(value);
  }

  [[nodiscard]] const Option& find(const std::string& name) const {
    std::string closest = "; ";
    std::size_t distance = std::min<std::size_t>(3, name.size());
    for (const auto& group : groups_)
      for (const auto& option : group.options) {
        const auto this_far = edits(name, option.name);
        if (this_far == 0) return option;
        if (this_far >= distance) continue;
        distance = this_far;
        closest = "; did you mean --" + option.name + "? ";
      }
    throw UsageError(message("unknown option '--", name, "'", closest, "--help lists the options"));
  }

  /// Lines of name=value; # begins a comment.
  [[nodiscard]] Values read(const std::string& path) const {
    std::ifstream file(path);
    if (!file || std::filesystem::is_directory(path))
      throw FileError(message("cannot read the configuration '", path, "'"));
    Values values;
    std::string line;
    int number = 0;
    try {
      while (std::getline(file, line)) {
        ++number;
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        const auto equals = line.find('=');
        expects(equals != std::string::npos, "'", line, "' is not name=value; --print-config shows a configuration");
        const Option& option = find(trimmed(line.substr(0, equals)));
        const std::string value = trimmed(line.substr(equals + 1));
        for (const auto& action : groups_.back().options)
          expects(&action != &option, "--", option.name, " belongs on the command line");
        expects(!option.is_switch() || value == "true" || value == "false", "--", option.name, ": '", value,
                "' is not true or false");
        add(values, option, value);
      }
    } catch (const UsageError& error) {
      throw UsageError(message("configuration '", path, "', line ", number, ": ", error.what()));
    }
    return values;
  }

  std::vector<OptionGroup> groups_;  // the last: actions
  Values given_;
};

/// The files that the program may be writing. A handler of signals can read nothing but what is global; it looks at the names
/// below `count` alone, which do not change any more.
struct Outputs {
  std::array<std::string, 8> unfinished;
  std::atomic<std::size_t> count = 0;
};
inline Outputs outputs;

/// The same for two names of one file.
inline std::string one_name(const std::string& path) {
  std::error_code error;
  const auto name = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return error ? path : name.string();
}

/// Declares a file that the program will write: a signal that ends the program removes what there is of it.
inline void remove_when_interrupted(const std::string& path) {
  const std::size_t count = outputs.count;
  if (path.empty() || count == outputs.unfinished.size()) return;
  outputs.unfinished[count] = temporary_name(path);
  outputs.count = count + 1;
}

/// SIGINT, SIGTERM and SIGHUP end the program at once, with exit code 128 + signal: 130, 143, 129. Only an unfinished file would
/// outlive it, and unlink and _exit are among what a handler may call. Beyond the file size that a shell allows, writing fails
/// as on a full disk, without a signal.
inline void handle_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) {
    for (std::size_t k = 0; k < outputs.count; ++k) (void)unlink(outputs.unfinished[k].c_str());
    _exit(128 + signal);
  };
  (void)sigfillset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // What nohup ignores stays so. A shell ignores SIGINT for what a script puts in the background; that does not.
    struct sigaction before {};
    (void)sigaction(signal, nullptr, &before);
    if (signal != SIGHUP || before.sa_handler != SIG_IGN) (void)sigaction(signal, &action, nullptr);
  }
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

/// Runs `body` and turns what it throws into one line on stderr and an exit code.
template <class Body>
[[nodiscard]] int run_program(const char* program, const Body& body) {
  const auto fail = [program](int code, const char* reason) {
    (void)std::fprintf(stderr, "%s: %s\n", program, reason);
    return code;
  };
  handle_signals();
  try {
    const int code = body();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return fail(5, "cannot write to standard output");
    return code;
  } catch (const UsageError& error) {
    return fail(1, error.what());
  } catch (const ResourceError& error) {
    return fail(4, error.what());
  } catch (const std::bad_alloc&) {
    return fail(4, "out of memory");
  } catch (const FileError& error) {
    return fail(5, error.what());
  } catch (const std::exception& error) {
    return fail(3, error.what());
  }
}

}  // namespace stratum::apps
