#pragma once

// Room: vectors that a preconditioner works in. Who forms its residual r there, and takes z = M^-1 r from there, saves copies
// of both. What they hold between two applications is their user's; the rows beside them, which belong to other subdomains of a
// grid, change.

#include <stratum/core/field/field.hpp>

namespace stratum {

template <class T>
struct Room {
  FieldView<T> r, z;
};

}  // namespace stratum
