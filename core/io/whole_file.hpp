#pragma once

// The bytes of a file that is read at once.

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <stratum/core/errors.hpp>

namespace stratum::detail {

/// Reads no further than the first block if `goes_on` says false of that: the file is of another kind, and may have no end, as
/// devices have. Throws FileError, which names the file, if it cannot be read or fails while it is read.
inline std::string whole_file(const std::string& path, const std::function<bool(std::string_view)>& goes_on) {
  const auto fail = [&path](const char* reason) { throw FileError(message("cannot read '", path, "': ", reason)); };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail(std::strerror(EISDIR));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) fail(std::strerror(errno));
  std::string content;
  if (std::filesystem::is_regular_file(path, error))
    content.reserve(static_cast<std::size_t>(std::filesystem::file_size(path, error)));
  std::array<char, 65536> block;
  for (std::size_t length = 0; (length = std::fread(block.data(), 1, block.size(), file.get())) > 0;) {
    content.append(block.data(), length);
    if (content.size() == length && !goes_on(content)) break;
  }
  if (std::ferror(file.get()) != 0) fail(std::strerror(errno));
  return content;
}

}  // namespace stratum::detail
