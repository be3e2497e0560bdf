#pragma once

// Output files that are there whole or not at all: written under a temporary name beside their own, then renamed. A name that
// is a link stands for the file behind it, and a file that is there keeps its mode.
// Throws FileError naming the file and the reason.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <stratum/core/errors.hpp>

namespace stratum {

/// The file that a name stands for, links followed, be it there or not.
[[nodiscard]] inline std::string behind_links(const std::string& path) {
  constexpr int most_links = 40;  // as the system has it
  std::filesystem::path file(path);
  std::error_code error;
  for (int k = 0; std::filesystem::is_symlink(file, error); ++k) {
    if (k == most_links) throw FileError(message("cannot write '", path, "': ", std::strerror(ELOOP)));
    file = file.parent_path() / std::filesystem::read_symlink(file, error);
  }
  return file.string();
}

/// The name that an output file has until it is whole. A program that ends before it gets there may remove it.
/// It bears the number of the process, so that two programs do not share it and no file of the user's has it.
[[nodiscard]] inline std::string temporary_name(const std::string& path) {
  return message(behind_links(path), ".part", getpid());
}

/// Throws when `path` could not be written; leaves nothing behind and touches no file that is there.
inline void check_writable(const std::string& path) {
  const auto refuse = [&path](const std::string& reason) {
    throw FileError(message("cannot write '", path, "': ", reason));
  };
  const std::string file_name = behind_links(path);
  std::error_code error;
  const auto status = std::filesystem::status(file_name, error);
  if (std::filesystem::is_directory(status)) refuse("it is a directory");
  // Renaming over a device or a pipe would replace it.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) refuse("it is not a regular file");
  if (std::filesystem::exists(status) && access(file_name.c_str(), W_OK) != 0) refuse(std::strerror(errno));
  const std::string temporary = temporary_name(path);
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) refuse(std::strerror(errno));
  (void)std::fclose(file);
  std::filesystem::remove(temporary, error);
}

/// Lets `write` make the file under the name it is given, then gives it its own name. `write` returns an empty string, or
/// the reason why it failed.
inline void write_whole(const std::string& path,
                        const std::function<std::string(const std::string& temporary)>& write) {
  check_writable(path);
  const std::string file_name = behind_links(path), temporary = temporary_name(path);
  std::string reason = write(temporary);
  std::error_code error;
  if (struct stat there{}; reason.empty() && stat(file_name.c_str(), &there) == 0)
    (void)chmod(temporary.c_str(), there.st_mode & 07777U);
  if (reason.empty()) {
    std::filesystem::rename(temporary, file_name, error);
    if (error) reason = error.message();
  }
  if (reason.empty()) return;
  std::filesystem::remove(temporary, error);
  throw FileError(message("cannot write '", path, "': ", reason));
}

/// The same for text that is at hand.
inline void write_whole_text(const std::string& path, const std::string& text) {
  write_whole(path, [&text](const std::string& temporary) -> std::string {
    std::FILE* file = std::fopen(temporary.c_str(), "wb");
    if (file == nullptr) return std::strerror(errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = std::fclose(file) == 0;
    return written && closed ? "" : std::strerror(errno);
  });
}

}  // namespace stratum
