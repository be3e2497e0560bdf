#pragma once

// The files that a program writes, by the options that name them: each is there whole or not at all, none is also an input or
// another output, links resolved, and signals leave nothing unfinished behind. That holds of names that a program makes from an
// option's, too: the pictures of a film, and what each rank writes. `-` is standard output, which then holds nothing
// else: what is printed for people goes to standard error. `none` is no file.

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <stratum/core/clock.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/io/output_file.hpp>

#include "command_line.hpp"

namespace stratum::apps {

/// Files that the program may be writing. A handler of signals can read nothing but what is global; it looks at the names below
/// `count` alone, which do not change any more.
struct Unfinished {
  std::array<std::string, 16> names;
  std::atomic<std::size_t> count = 0;
};
inline Unfinished unfinished;

inline void remove_when_interrupted(const std::string& name) {
  const std::size_t count = unfinished.count;
  if (count == unfinished.names.size()) return;
  unfinished.names[count] = name;
  unfinished.count = count + 1;
}

/// A file of many, by the name that it has until it is whole; named for as long as this lives.
class RemovedWhenInterrupted {
 public:
  explicit RemovedWhenInterrupted(const std::string& name) : count_(unfinished.count) { remove_when_interrupted(name); }
  ~RemovedWhenInterrupted() { unfinished.count = count_; }
  RemovedWhenInterrupted(const RemovedWhenInterrupted&) = delete;
  RemovedWhenInterrupted& operator=(const RemovedWhenInterrupted&) = delete;

 private:
  std::size_t count_;
};

/// Signals end the program at once, with exit code 128 + signal. Only an unfinished file would outlive it, and unlink and _exit
/// are among what a handler may call. Beyond the file size that a shell allows, writing fails as on a full disk, without a
/// signal.
inline void handle_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) {
    for (std::size_t k = 0; k < unfinished.count; ++k) (void)unlink(unfinished.names[k].c_str());
    _exit(128 + signal);
  };
  (void)sigfillset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGPIPE}) {
    // What nohup ignores stays so, and broken pipes where somebody wants it so. A shell ignores SIGINT and SIGQUIT for what a
    // script puts in the background; those do not.
    struct sigaction before {};
    (void)sigaction(signal, nullptr, &before);
    const bool may_be_ignored = signal == SIGHUP || signal == SIGPIPE;
    if (!may_be_ignored || before.sa_handler != SIG_IGN) (void)sigaction(signal, &action, nullptr);
  }
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

class OutputFiles {
 public:
  /// Those that are given on the command line or in the configuration. Throws UsageError for two of one file, and for one that
  /// an option reads, too.
  explicit OutputFiles(const CommandLine& options) : inputs_(options.files(Names::input)) {
    for (const auto& [option, path] : options.files(Names::output)) add(option, path);
  }

  /// One that was not asked for.
  void add(const std::string& option, const std::string& path) {
    if (path == "none") return;
    for (const auto& other : files_)
      expects(!same_file(other.path, path), "two outputs have the same name '", path, "'");
    for (const auto& [reader, input] : inputs_)
      expects(path == "-" || !same_file(input, path), "--", option, ": '", path, "' is read by --", reader,
              " and would be overwritten");
    files_.push_back({option, path, false, 0});
    for (const auto& family : families_) check_family(family);
  }

  /// Files that the program names itself, in the folder of `path`: those whose names `has` knows. Throws UsageError where one
  /// of them is read, or is another output.
  void add_family(const std::string& option, const std::string& path,
                  const std::function<bool(const std::string& name)>& has) {
    if (path == "none" || path == "-") return;
    families_.push_back({option, path, std::filesystem::path(path).parent_path(), has});
    check_family(families_.back());
  }
  void remove(const std::string& option) {
    std::erase_if(files_, [&](const File& file) { return file.option == option; });
  }

  /// Of a rank that writes no other.
  void remove_all_but(const std::string& option) {
    std::erase_if(files_, [&](const File& file) { return file.option != option; });
  }

  /// Empty where there is none.
  [[nodiscard]] std::string path(const std::string& option) const {
    const File* const file = find(option);
    return file == nullptr ? "" : file->path;
  }
  [[nodiscard]] bool has(const std::string& option) const { return find(option) != nullptr; }

  /// Before anything is computed or printed: throws FileError for what could not be written.
  void check() {
    for (const auto& file : files_) check(file.option);
  }
  void check(const std::string& option) {
    const std::string file = path(option);
    if (file.empty()) return;
    if (file == "-") return take_standard_output();
    remove_when_interrupted(temporary_name(file));
    check_writable(file);
  }

  /// Lets `make` write the file under the name that it is given; nothing where no file is wanted. Throws FileError.
  void write(const std::string& option, const std::function<void(const std::string& path)>& make) {
    for (auto& file : files_) {
      if (file.option != option) continue;
      const auto start = Clock::now();
      if (file.path == "-")
        write_to_standard_output(make);
      else
        make(file.path);
      file.seconds += seconds_since(start);
      file.written = true;
    }
  }
  /// Of all times that it was written; zero where it was not.
  [[nodiscard]] double seconds(const std::string& option) const {
    const File* const file = find(option);
    return file == nullptr ? 0 : file->seconds;
  }
  void write_text(const std::string& option, const std::string& text) {
    write(option, [&text](const std::string& path) { write_whole_text(path, text); });
  }

  void print_written() const {
    for (const auto& file : files_)
      if (file.written && file.path != "-") std::printf("written     %s in %.2g s\n", file.path.c_str(), file.seconds);
  }

 private:
  struct File {
    std::string option, path;
    bool written;
    double seconds;
  };

  struct Family {
    std::string option, path;
    std::filesystem::path folder;
    std::function<bool(const std::string& name)> has;
  };

  /// Whether writing the family would change the file: it is one of them, or one of them is a link to it.
  [[nodiscard]] static bool writes(const Family& family, const std::string& path) {
    std::error_code error;
    const std::filesystem::path own = real_name(path), folder = family.folder.empty() ? "." : family.folder;
    if (family.has(own.filename().string()) && own.parent_path() == real_name(folder.string())) return true;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
      if (entry.is_symlink(error) && family.has(entry.path().filename().string()) &&
          same_file(entry.path().string(), path))
        return true;
    return false;
  }
  void check_family(const Family& family) const {
    for (const auto& [reader, input] : inputs_)
      expects(!writes(family, input), "--", family.option, ": '", input, "' is read by --", reader,
              ", and is one of the ", "files that '", family.path, "' is made of; it would be overwritten");
    for (const auto& other : files_)
      expects(other.option == family.option || other.path == "-" || !writes(family, other.path), "--", other.option,
              ": '", other.path, "' is one of the files that --", family.option, " '", family.path, "' is made of");
  }

  [[nodiscard]] const File* find(const std::string& option) const {
    for (const auto& file : files_)
      if (file.option == option) return &file;
    return nullptr;
  }

  [[nodiscard]] static bool same_file(const std::string& a, const std::string& b) {
    if (a == b) return true;
    std::error_code error;
    if (std::filesystem::equivalent(a, b, error)) return true;
    return real_name(a) == real_name(b);
  }
  /// From the root on, behind all links.
  [[nodiscard]] static std::filesystem::path real_name(const std::string& path) {
    std::error_code error;
    auto name = std::filesystem::weakly_canonical(std::filesystem::absolute(behind_links(path), error), error);
    return name.has_filename() ? name : name.parent_path();
  }

  /// From here on what is printed goes to standard error.
  void take_standard_output() {
    if (standard_output_ >= 0) return;
    (void)std::fflush(stdout);
    standard_output_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (standard_output_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
      throw FileError(message("cannot write to standard output: ", std::strerror(errno)));
  }

  /// By way of a file: writers may seek.
  void write_to_standard_output(const std::function<void(const std::string& path)>& make) {
    take_standard_output();
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error);
    const std::string name = message(folder.string(), "/stratum.output", getpid());
    remove_when_interrupted(name);
    remove_when_interrupted(temporary_name(name));
    std::string reason;
    try {
      make(name);
      reason = copy_to_standard_output(name);
    } catch (...) {
      std::filesystem::remove(name, error);
      throw;
    }
    std::filesystem::remove(name, error);
    if (!reason.empty()) throw FileError(message("cannot write to standard output: ", reason));
  }

  [[nodiscard]] std::string copy_to_standard_output(const std::string& name) const {
    std::FILE* const file = std::fopen(name.c_str(), "rb");
    if (file == nullptr) return std::strerror(errno);
    std::array<char, 65536> block;
    std::string reason;
    while (reason.empty()) {
      const std::size_t length = std::fread(block.data(), 1, block.size(), file);
      if (length == 0) break;
      for (std::size_t done = 0; done < length && reason.empty();) {
        const auto now = ::write(standard_output_, block.data() + done, length - done);
        if (now < 0) reason = std::strerror(errno);
        done += now < 0 ? 0 : static_cast<std::size_t>(now);
      }
    }
    (void)std::fclose(file);
    return reason;
  }

  std::vector<std::pair<std::string, std::string>> inputs_;  // the option that reads it, and its name
  std::vector<File> files_;
  std::vector<Family> families_;
  int standard_output_ = -1;
};

}  // namespace stratum::apps
