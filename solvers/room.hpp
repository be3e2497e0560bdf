#pragma once

// Room: vectors that belong to a preconditioner and that its caller may work in. A caller that forms its residual r there, and
// reads z = M^-1 r from there, saves copies of both. Between two applications their contents belong to the caller. Their ghost
// rows, which belong to other subdomains of a grid, change.

#include <stratum/core/field/field.hpp>

namespace stratum {

template <class T>
struct Room {
  FieldView<T> r, z;
};

}  // namespace stratum
