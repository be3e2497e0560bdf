#pragma once

// What targets write that read files.

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "target.hpp"

/// A file of this process, gone with it.
class ScratchFile {
 public:
  explicit ScratchFile(const char* name)
      : path_(std::filesystem::temp_directory_path() / ("stratum_fuzz_" + std::to_string(getpid()) + name)) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }
  void write(const void* data, std::size_t size) const {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    require(file != nullptr && std::fwrite(data, 1, size, file) == size && std::fclose(file) == 0, "a file is written");
  }

 private:
  std::filesystem::path path_;
};
