#pragma once

// The files that a run reads, on several ranks: each rank opens its own by the same name, and all must hold the same.

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <stratum/core/errors.hpp>

#include "command_line.hpp"

namespace stratum::apps {

/// FNV-1a.
[[nodiscard]] inline std::uint64_t check_sum(std::string_view bytes, std::uint64_t sum = 0xcbf29ce484222325U) {
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return sum;
}

/// Size and check sum of what a file holds, as text; why it cannot be read, which is for who needs it to complain of.
[[nodiscard]] inline std::string contents_of(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return std::strerror(errno);
  std::uint64_t sum = check_sum({}), bytes = 0;
  std::array<char, 65536> block;
  for (std::size_t length = 0; (length = std::fread(block.data(), 1, block.size(), file.get())) > 0; bytes += length)
    sum = check_sum({block.data(), length}, sum);
  return std::ferror(file.get()) != 0 ? std::strerror(errno) : message(bytes, " bytes, check sum ", sum);
}

/// A line for every file that options name: the option, the name and what the file holds. Throws UsageError for one that can be
/// read once only, as a pipe.
[[nodiscard]] inline std::string contents_of_inputs(const CommandLine& options) {
  std::string text;
  for (const auto& [option, path] : options.files(Names::input)) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    expects(!std::filesystem::exists(status) || std::filesystem::is_regular_file(status) ||
                std::filesystem::is_directory(status),
            "--", option, ": '", path, "' is no regular file, which every rank could read; give a file");
    text += message("--", option, ' ', path, " of ", contents_of(path), "\n");
  }
  return text;
}

}  // namespace stratum::apps
