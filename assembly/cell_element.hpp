#pragma once

// The Q1 element matrix of a cell of any geometry, on the host. Its entries come in three parts, because u is best multiplied
// as differences: of corners a with the neighbours b along x, c along y and d across,
//
//     sum_k a_ak u_k = x_ab (u_b - u_a) + x_ac (u_c - u_d) + y_ac (u_c - u_a) + y_ab (u_b - u_d) + sum_k rest_ak u_k .
//
// In long thin cells x_ab and y_ac differ by the square of the aspect ratio: the round-off of y_ab u_b alone, were the parts
// added up first, would be more than all of what flows along the cell.

#include <cstddef>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/assembly/geometry.hpp>
#include <stratum/assembly/mapped_element.hpp>

namespace stratum::detail {

/// Of an entry: what multiplies differences along x, along y, and the rest, of kxy and c.
struct EntryParts {
  double along_x, along_y, rest;
};

/// Of cell (i, j).
class CellElement {
 public:
  CellElement(const Geometry& mesh, int i, int j, const CellMaterial& k) : mapped_(mesh.mapped() != nullptr), k_(k) {
    if (mapped_) {
      element_ = element_of(*mesh.mapped(), i, j, k);
    } else {
      hx_ = mesh.logical().x().widths()[static_cast<std::size_t>(i)];
      hy_ = mesh.logical().y().widths()[static_cast<std::size_t>(j)];
    }
  }

  /// Between corners (ax, ay) and (bx, by).
  [[nodiscard]] EntryParts entry(int ax, int ay, int bx, int by) const {
    if (mapped_)
      return {element_.entry_along_x(ax, ay, bx, by), element_.entry_along_y(ax, ay, bx, by),
              element_.rest_of_entry(ax, ay, bx, by)};
    return {element_entry(hx_, hy_, k_.xx, 0, 0, 0, ax, ay, bx, by),
            element_entry(hx_, hy_, 0, 0, k_.yy, 0, ax, ay, bx, by),
            element_entry(hx_, hy_, 0, k_.xy, 0, k_.c, ax, ay, bx, by)};
  }

 private:
  bool mapped_;
  CellMaterial k_;
  MappedElement element_;
  double hx_ = 0, hy_ = 0;
};

}  // namespace stratum::detail
