#pragma once

// NumPy's arrays of doubles (.npy, format 1.0), written whole or not at all: the last index runs fastest.
// Source: NumPy Enhancement Proposal 1, A Simple File Format for NumPy Arrays, R. Kern 2007. Throws FileError.

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/output_file.hpp>

namespace stratum {

/// An array of this shape, its numbers in parts one after the other. Throws UsageError where these are not as many.
inline void write_npy(const std::string& path, const std::vector<std::size_t>& shape,
                      const std::vector<std::span<const double>>& parts) {
  static_assert(std::endian::native == std::endian::little);
  std::size_t size = 1, there = 0;
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
  for (const std::size_t extent : shape) {
    size *= extent;
    header += std::to_string(extent) + ",";
  }
  for (const auto& part : parts) there += part.size();
  expects(size == there, "an array of ", size, " numbers is given ", there);
  header += "), }";
  constexpr std::size_t before = 10, alignment = 64;
  header.resize((before + header.size() + alignment) / alignment * alignment - before, ' ');
  header.back() = '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += {static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  start += header;
  write_whole(path, [&](const std::string& temporary) -> std::string {
    std::FILE* file = std::fopen(temporary.c_str(), "wb");
    if (file == nullptr) return std::strerror(errno);
    bool written = std::fwrite(start.data(), 1, start.size(), file) == start.size();
    for (const auto& part : parts)
      written = written && std::fwrite(part.data(), sizeof(double), part.size(), file) == part.size();
    const bool closed = std::fclose(file) == 0;
    return written && closed ? "" : std::strerror(errno);
  });
}

}  // namespace stratum
