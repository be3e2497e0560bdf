#pragma once

// GhostExchange: brings the ghosts of a field up to date before a kernel reads neighbours,
//
//     ghost = the number of the unknown that it stands for: the other end of the axis where it is periodic, the nearest planes of
//             the subdomain beyond the face where there is one. At the domain's boundary ghosts stay zero.
//
// Axes go one after another, x first, each with the ghosts of those before: edges and corners of the box hold what the
// neighbours there have. Slabs are cut along z, the axis of the longest distances: what is sent is one block of memory, and
// nothing is packed.
//
// Ghosts are a cache of other unknowns, hence they are filled in views of const numbers, too. Whoever owns a field knows
// whether its ghosts are current. All subdomains call it together; in the order of the stream, without waiting for it where the
// communicator does not. On a memory dry run nothing happens.
//
// Errors: UsageError where subdomains border on this one that the communicator does not have, or along x or y; where a view has
// other extents than the layout.

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field_3d.hpp>

namespace stratum {

template <int D>
class GhostExchange;

template <>
class GhostExchange<3> {
 public:
  /// Of a field without ghosts.
  GhostExchange() = default;
  GhostExchange(const Context& ctx, const GridLayout<3>& layout);

  /// Some ghosts hold numbers of the grid.
  [[nodiscard]] bool needed() const { return needed_; }

  template <class T>
  void fill(Context& ctx, const FieldView<T, 3>& view) const {
    using Number = std::remove_const_t<T>;
    if (needed_) fill_ghosts(ctx, FieldView<Number, 3>{const_cast<Number*>(view.data), view.extents, view.strides});
  }

 private:
  template <class T>
  void fill_ghosts(Context& ctx, const FieldView<T, 3>& view) const;

  GridLayout<3> layout_;
  bool needed_ = false;
};

}  // namespace stratum
