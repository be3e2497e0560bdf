#pragma once

// What the programs share: options from the command line and a configuration file, by Boost.Program_options, with numbers
// checked against their ranges; errors as one line on stderr with the exit code of their class; and signals, at which a
// program ends at once and leaves no unfinished file.

#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <boost/program_options.hpp>

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

class CommandLine {
 public:
  /// `settings` may also stand in a configuration file, `actions` may not.
  CommandLine(std::vector<OptionGroup> settings, const OptionGroup& actions) : groups_(std::move(settings)) {
    for (const auto& group : groups_) settings_.add(describe(group));
    all_.add(settings_).add(describe(actions));
  }

  /// Reads the command line, then the file named by --config; what stands on the command line wins.
  void parse(int argc, char** argv) {
    namespace po = boost::program_options;
    for (int k = 1; k < argc; ++k) refuse_placeholders(argv[k]);
    try {
      using Style = po::command_line_style::style_t;
      const auto parsed =
          po::command_line_parser(argc, argv).options(all_).style(Style::unix_style & ~Style::allow_guessing).run();
      for (const auto& option : parsed.options)
        expects(!option.string_key.empty(), "unexpected argument '",
                option.original_tokens.empty() ? "" : option.original_tokens[0], "'; options begin with --");
      po::store(parsed, values_);
    } catch (const po::error& error) {
      throw UsageError(message(error.what(), "; --help lists the options"));
    }
    if (values_.count("config") == 0) return;
    const std::string path = values_["config"].as<std::string>();
    std::ifstream file(path);
    if (!file || std::filesystem::is_directory(path))
      throw FileError(message("cannot read the configuration '", path, "'"));
    std::stringstream text;
    text << file.rdbuf();
    refuse_placeholders(text.str());
    try {
      po::store(po::parse_config_file(text, settings_), values_);
    } catch (const po::error& error) {
      throw UsageError(message("configuration '", path, "': ", error.what(), "; --print-config shows one"));
    }
  }

  /// Stands on the command line or in the configuration file.
  [[nodiscard]] bool has(const std::string& name) const {
    return values_.count(name) > 0 && !values_[name].defaulted();
  }
  /// Of a switch.
  [[nodiscard]] bool is_set(const std::string& name) const { return values_[name].as<bool>(); }
  [[nodiscard]] std::string text(const std::string& name) const { return values_[name].as<std::string>(); }
  /// Of a repeatable option, in the order given.
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const {
    return has(name) ? values_[name].as<std::vector<std::string>>() : std::vector<std::string>();
  }
  [[nodiscard]] double number(const std::string& name, const Range& range) const {
    return parse_number("--" + name, text(name), range);
  }
  [[nodiscard]] int integer(const std::string& name, int low, int high) const {
    return parse_integer("--" + name, text(name), low, high);
  }

  [[nodiscard]] std::string help() const {
    std::ostringstream out;
    out << all_;
    return out.str();
  }

  /// Given settings as key=value; the others as comments, so that what follows from their absence stays so.
  [[nodiscard]] std::string configuration() const {
    std::ostringstream out;
    for (const auto& group : groups_) {
      out << "# " << group.title << "\n";
      for (const auto& option : group.options) {
        const bool is_switch = option.value_name.empty();
        const bool given = is_switch ? is_set(option.name) : has(option.name);
        const auto values = option.repeatable && given ? texts(option.name)
                                                       : std::vector<std::string>{is_switch ? "true"
                                                                                  : given   ? text(option.name)
                                                                                            : option.fallback};
        for (const auto& value : values) {
          constexpr std::string_view blanks = " \t\r";
          const bool stays = value.empty() || (value.find_first_of("#\n") == std::string::npos &&
                                               blanks.find(value.front()) == std::string_view::npos &&
                                               blanks.find(value.back()) == std::string_view::npos);
          expects(stays, "--", option.name, ": '", value,
                  "' cannot stand in a configuration, where # begins a comment and blanks around a value are lost");
          out << (given ? "" : "# ") << option.name << "=" << value << "\n";
        }
      }
    }
    return out.str();
  }

 private:
  static constexpr unsigned width = 110;

  /// Boost's messages replace these words by what the user wrote, over and over where that holds the word itself.
  static void refuse_placeholders(std::string_view text) {
    for (const char* word :
         {"%canonical_option%", "%invalid_line%", "%option%", "%original_token%", "%prefix%", "%value%"})
      expects(text.find(word) == std::string_view::npos, "'", word, "' cannot stand in an option");
  }

  static boost::program_options::options_description describe(const OptionGroup& group) {
    namespace po = boost::program_options;
    po::options_description description(group.title, width, width / 2);
    for (const auto& option : group.options) {
      if (option.value_name.empty()) {
        const std::string name = option.name == "help" ? "help,h" : option.name;
        description.add_options()(name.c_str(), po::bool_switch(), option.help.c_str());
        continue;
      }
      if (option.repeatable) {
        auto* values = po::value<std::vector<std::string>>()->value_name(option.value_name);
        description.add_options()(option.name.c_str(), values, option.help.c_str());
        continue;
      }
      auto* value = po::value<std::string>()->value_name(option.value_name);
      if (!option.fallback.empty()) value->default_value(option.fallback);
      description.add_options()(option.name.c_str(), value, option.help.c_str());
    }
    return description;
  }

  std::vector<OptionGroup> groups_;
  boost::program_options::options_description settings_{width, width / 2};
  boost::program_options::options_description all_{width, width / 2};
  boost::program_options::variables_map values_;
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
