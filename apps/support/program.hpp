#pragma once

// What the programs have in common from `main` on: help, lists, configurations, signals, and errors as one line on stderr with
// the exit code of their class.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include <stratum/core/device/context.hpp>
#include <stratum/version.h>

#include "command_line.hpp"
#include "gpu_exchange.hpp"
#include "input_files.hpp"
#include "output_files.hpp"
#include "ranks.hpp"

namespace stratum::apps {

struct Program {
  const char* name;
  std::string before_options, after_options;  // what --help prints
  CommandLine options;
  /// Switches that print something and end the program.
  std::vector<std::pair<std::string, std::function<void()>>> lists;
  /// Checks what the options say; what is then to be done returns the exit code.
  std::function<std::function<int()>(const CommandLine&)> prepare;
};

/// --backend and --threads, of every program.
[[nodiscard]] inline OptionGroup machine_options() {
  return {"Machine",
          {{"backend", "NAME", "auto", "cpu, cuda, or auto: cuda if a GPU is found"},
           {"threads", "N", "", "CPU threads, 1 .. 4096 (all)"}}};
}

[[nodiscard]] inline Option exchange_option() {
  return {
      "exchange", "NAME", "auto",
      "ranks on GPUs, how they exchange data: peer (GPUs of one host store into each other's memory), nccl, host (MPI "
      "through the memory of the host), or auto (the first of peer, nccl and host that is possible; peer and nccl need "
      "a GPU for each rank)"};
}

/// The same of programs that run on several ranks, with --exchange.
[[nodiscard]] inline OptionGroup machine_options_of_ranks() {
  OptionGroup group = machine_options();
  group.options.push_back(exchange_option());
  group.options.push_back(
      {"several-from", "N", "",
       "several ranks: the first rank alone solves a problem of fewer than N unknowns (staggered: sites), and the "
       "others wait; 0: all ranks share every problem (0; on GPUs measured limits, below which one GPU is faster)"});
  return group;
}

/// The last group of a program with configurations: `line` is an example of what these hold, `lists` are switches that print
/// something and end the program.
[[nodiscard]] inline OptionGroup other_options(const std::string& line, const std::vector<Option>& lists = {}) {
  return {"Other",
          joined({input_file("config", "FILE",
                             message("read options from a file of lines like ", line, "; the command line wins")),
                  {"print-config", "", "", "print such a file for this command line and stop"}},
                 lists, {{"help", "", "", "print this"}, {"version", "", "", "print the version"}})};
}

inline void warn(const char* program, const std::string& what) {
  if (!what.empty()) (void)std::fprintf(stderr, "%s: warning: %s\n", program, what.c_str());
}

struct Machine {
  Backend backend = Backend::cpu;
  int threads = 0;
  GpuExchange exchange = GpuExchange::automatic;
  std::optional<std::int64_t> several_from{};
  const Ranks* ranks = nullptr;  // of a program that runs on several
  std::string alone{};           // why the first of several goes on without the others; empty where it does not

  /// That work together.
  [[nodiscard]] bool has_ranks() const { return ranks != nullptr && ranks->size() > 1 && alone.empty(); }
  [[nodiscard]] Context context() const {
    expects(exchange == GpuExchange::automatic || (has_ranks() && backend == Backend::cuda),
            "--exchange: it is for several ranks on GPUs");
    if (!has_ranks()) return Context(backend, threads);
    if (backend == Backend::cuda) select_device(ranks->rank_on_host());
    Context ctx(backend, threads > 0 ? threads : ranks->threads());
    ctx.set_communicator(ranks->communicator());
    if (backend == Backend::cuda) ctx.set_communicator(among_gpus(ctx, ranks->communicator(), exchange));
    return ctx;
  }
  /// Whether ranks may leave to one GPU what several take longer for: nobody has said when they share.
  [[nodiscard]] bool may_take_one_gpu() const {
    return has_ranks() && backend == Backend::cuda && !several_from.has_value();
  }
  /// Why so many unknowns are too few for the ranks; empty where they are not. `least_on_gpus`: where nobody has said when they
  /// share.
  [[nodiscard]] std::string too_few(std::int64_t unknowns, std::int64_t least_on_gpus,
                                    const char* name = "unknowns") const {
    const std::int64_t least = several_from.value_or(backend == Backend::cuda ? least_on_gpus : 0);
    return has_ranks() && unknowns < least ? message(unknowns, " ", name, " are too few for several") : std::string();
  }
  /// From here on the first rank has all of the work, for this reason. Nothing where this rank is the first one, which says by
  /// `ended` when it is done; of the others, which wait for that, the exit code. All ranks call it.
  [[nodiscard]] std::optional<int> go_on_alone(Context& ctx, const std::string& why) {
    alone = message("solved on one of ", ranks->size(), backend == Backend::cuda ? " GPUs: " : " ranks: ", why);
    ctx = ctx.alone();
    if (ranks->rank() == 0) return std::nullopt;
    return ranks->communicator()->gather_on_host(0).front();
  }
  /// The exit code, which ranks that wait are told.
  [[nodiscard]] int ended(int code) const {
    return alone.empty() ? code : ranks->communicator()->gather_on_host(code).front();
  }
  /// Says of a program on several ranks what keeps it slow.
  void warn_of_binding(const char* program) const {
    if (!has_ranks()) return;
    if (const auto fault = ranks->binding_fault(threads, backend == Backend::cuda); !fault.empty())
      warn(program, fault);
  }
};

[[nodiscard]] inline Machine parse_machine(const CommandLine& options) {
  return {
      choice<Backend>(
          "--backend", options.text("backend"),
          {{"auto", cuda_available() ? Backend::cuda : Backend::cpu}, {"cpu", Backend::cpu}, {"cuda", Backend::cuda}}),
      options.has("threads") ? options.integer("threads", 1, 4096) : 0,
      !options.knows("exchange") ? GpuExchange::automatic
                                 : choice<GpuExchange>("--exchange", options.text("exchange"),
                                                       {{"auto", GpuExchange::automatic},
                                                        {"nccl", GpuExchange::nccl},
                                                        {"peer", GpuExchange::peer},
                                                        {"host", GpuExchange::host}}),
      options.knows("several-from") && options.has("several-from")
          ? std::optional<std::int64_t>(options.integer("several-from", 0, 2'000'000'000))
          : std::nullopt};
}

/// For the end of --help.
inline constexpr const char* about_outputs =
    "The file name - is standard output (the report for people then goes to standard error), and none means no "
    "file.\nLinks are followed. --no-SWITCH undoes a switch of a configuration file.\n";
inline constexpr const char* about_exit_codes =
    "Exit codes: 0 converged (or at the round-off limit, if no tolerance was given), 1 usage error, 2 not "
    "converged,\n3 diverged, breakdown or not finite, 4 device or memory, 5 files; 128 + N after signal N (130: "
    "interrupted, 141: the\nreader of the output has gone).\n";

/// A word about what takes time, on a terminal only, and gone when the next thing is printed.
inline void progress(const std::string& what) {
  if (isatty(STDERR_FILENO) != 0) (void)std::fprintf(stderr, "\r\033[K%s", what.c_str());
}
/// The same unless --quiet is given.
template <class Settings>
void progress(const Settings& settings, const char* what) {
  if (!settings.quiet) progress(what);
}

/// The outputs of a program whose settings do not matter to them.
inline constexpr auto outputs_of_options = [](const CommandLine& options, const auto& /*settings*/) {
  return OutputFiles(options);
};

/// Program::prepare of settings that have a machine: parse(options), then open(options, settings), which returns the outputs
/// and may add to the settings what they need; what is then to be done is run(settings, options, outputs). `ranks`: of a
/// program that runs on several.
template <class Parse, class Open, class Run>
[[nodiscard]] auto prepare_by(Parse parse, Open open, Run run, const Ranks* ranks = nullptr) {
  return [=](const CommandLine& options) -> std::function<int()> {
    auto settings = parse(options);
    settings.machine.ranks = ranks;
    OutputFiles outputs = open(options, settings);
    return [=, &options] { return run(settings, options, outputs); };
  };
}

/// `ranks`: of a program that runs on several.
[[nodiscard]] inline int run_program(Program& program, int argc, char** argv, Ranks* ranks = nullptr) {
  const auto fail = [&](int code, const char* reason) {
    (void)std::fprintf(stderr, "%s: %s\n", program.name, reason);
    if (ranks != nullptr) ranks->end_all(program.name, reason, code);
    return code;
  };
  const auto run = [&]() -> int {
    CommandLine& options = program.options;
    if (ranks != nullptr)
      ranks->start();
    else
      expects(launched_processes() == 1, "it runs in one process, and was started as ", launched_processes());
    options.parse(argc, argv);
    if (ranks != nullptr && ranks->size() > 1) {
      ranks->communicator()->agree("options", options.given());
      ranks->communicator()->agree("contents of the files that they read", contents_of_inputs(options));
    }
    if (options.is_set("help"))
      return std::printf("%s%s\n%s", program.before_options.c_str(), options.help().c_str(),
                         program.after_options.c_str()),
             0;
    if (options.is_set("version")) return std::printf("%s %s\n", program.name, STRATUM_VERSION), 0;
    for (const auto& [name, print] : program.lists)
      if (options.is_set(name)) return print(), 0;
    const auto work = program.prepare(options);
    if (options.knows("print-config") && options.is_set("print-config"))
      return std::printf("%s", options.configuration().c_str()), 0;
    return work();
  };
  handle_signals();
  try {
    const int code = run();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return fail(5, "cannot write to standard output");
    return code;
  } catch (const UsageError& error) {
    return fail(1, error.what());
  } catch (const BreakdownError& error) {
    return fail(3, error.what());
  } catch (const ResourceError& error) {
    return fail(4, error.what());
  } catch (const std::bad_alloc&) {
    return fail(4, "out of memory");
  } catch (const FileError& error) {
    return fail(5, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(5, error.what());
  } catch (const std::system_error& error) {  // of threads
    return fail(4, error.what());
  } catch (const std::exception& error) {
    return fail(3, error.what());
  }
}

}  // namespace stratum::apps
