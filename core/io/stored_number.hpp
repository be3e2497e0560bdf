#pragma once

// Numbers as files store them: a few bytes of one of the types below, in either byte order.

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace stratum {

/// The number that lies at `bytes`; `swapped`: in the byte order that this machine does not have.
template <class Number>
[[nodiscard]] Number stored_number(const unsigned char* bytes, bool swapped) {
  unsigned char own[sizeof(Number)];
  std::copy(bytes, bytes + sizeof(Number), own);
  if (swapped) std::reverse(own, own + sizeof(Number));
  Number value;
  std::memcpy(&value, own, sizeof(Number));
  return value;
}

/// The same, as double.
template <class Number>
[[nodiscard]] double stored_as_double(const unsigned char* bytes, bool swapped) {
  return static_cast<double>(stored_number<Number>(bytes, swapped));
}

/// A type by the name that a format gives it.
struct StoredType {
  const char* name;
  std::size_t size;
  double (*read)(const unsigned char* bytes, bool swapped);
};

}  // namespace stratum
