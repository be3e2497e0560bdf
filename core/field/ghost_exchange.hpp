#pragma once

// GhostExchange: updates the ghosts of a field before a kernel reads neighbours,
//
//     ghost = the value of the unknown that it copies: the other end of a periodic axis, or the nearest planes of the subdomain
//             beyond the face. At the domain's boundary ghosts stay zero.
//
// The axes are filled one after another, x first, including the ghosts of the axes before. Hence the ghosts at edges and
// corners of the box hold the values of the diagonal neighbours. Subdomains are slabs, cut along z, the axis with the largest
// stride: a message is one block of memory, and nothing is packed.
//
// Ghosts are a cache of other unknowns. Therefore they are filled in views of const numbers, too. The owner of a field knows
// whether its ghosts are current. All subdomains call it together. It works in the order of the stream and does not wait unless
// the communicator does. On a memory dry run it does nothing.
//
// Errors: UsageError if this subdomain has neighbours that the communicator does not have, or neighbours along x or y; if a
// view has other extents than the layout.

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
