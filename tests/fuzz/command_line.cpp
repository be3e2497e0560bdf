// Command line and configuration file: the input is a line for every argument, then an empty line, then the file. What is
// accepted can be written as a configuration, and that gives the same options again.

#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "../../apps/support/command_line.hpp"
#include "target.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;

CommandLine make_command_line() {
  return CommandLine({{"Numbers", {{"level", "N", "", "whole"}, {"rtol", "X", "1e-8", "above 0"}}},
                      {"Words",
                       {{"cycle", "NAME", "v", "one of a list"},
                        {"domain", "A,B", "", "a pair"},
                        {"rhs", "EXPR", "", "any text, several times", true},
                        {"quiet", "", "", "a switch"}}}},
                     {"Other", {{"config", "FILE", "", "a file"}, {"help", "", "", "print this"}}});
}

/// A file that has a name only here.
class Configuration {
 public:
  explicit Configuration(const std::string& text) : file_(memfd_create("configuration", 0)) {
    require(file_ >= 0 && write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "it is written");
  }
  ~Configuration() { (void)close(file_); }
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;
  [[nodiscard]] std::string argument() const { return message("--config=/proc/self/fd/", file_); }

 private:
  int file_;
};

void parse(CommandLine& options, std::vector<std::string> arguments, const std::string& configuration) {
  const Configuration file(configuration);
  arguments.insert(arguments.begin(), "program");
  arguments.push_back(file.argument());
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  options.parse(static_cast<int>(pointers.size()), pointers.data());
}

void use(const CommandLine& options) {
  const auto ignore = [](const auto& f) {
    try {
      f();
    } catch (const UsageError&) {
      return;
    }
  };
  ignore([&] {
    if (options.has("level")) (void)options.integer("level", 0, 20);
  });
  ignore([&] { require(options.number("rtol", positive) > 0, "a positive number is positive"); });
  ignore([&] { (void)choice<int>("--cycle", options.text("cycle"), {{"v", 1}, {"w", 2}}); });
  ignore([&] {
    if (!options.has("domain")) return;
    const auto [a, b] = parse_pair("--domain", options.text("domain"), ",", "two numbers A,B");
    (void)parse_number("--domain", a, positive);
    (void)parse_number("--domain", b, positive);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> arguments;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string argument = text.substr(at, end - at);
    at = end + 1;
    if (argument.empty()) break;
    if (argument.find("config") != std::string::npos) return 0;  // any path on this machine
    arguments.push_back(argument.c_str());                       // as far as a C string goes
  }
  std::string configuration;
  try {
    auto options = make_command_line();
    parse(options, arguments, at < text.size() ? text.substr(at) : "");
    use(options);
    configuration = options.configuration();
  } catch (const UsageError&) {
    return 0;
  } catch (const FileError&) {  // of no text
    return 0;
  }
  auto again = make_command_line();
  parse(again, {}, configuration);
  require(again.configuration() == configuration, "a configuration gives itself");
  return 0;
}
