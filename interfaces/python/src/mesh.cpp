// Meshes for Python (mesh/tensor_mesh.hpp): by name, by coordinates, by widths, graded.

#include <array>

#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

#include <nanobind/stl/array.h>

#include "arrays.hpp"

namespace stratum::python {

namespace {

using Numbers = HostArray<double, 1>;

NumpyArray as_array(std::vector<double> values) {
  const std::size_t n = values.size();
  return numpy_array(std::move(values), {n});
}

Axis graded_axis(const std::string& text, int cells, double length) {
  const Grading grading = parse_grading(text);
  return grading.from_file() ? read_line(grading) : make_line(grading, length, cells);
}

template <int D>
TensorMesh<D> from_coordinates(const std::array<Numbers, D>& coordinates) {
  return TensorMesh<D>(make_axes<D>([&](std::size_t d) { return Axis::at(vector_of(coordinates[d])); }));
}

template <int D>
TensorMesh<D> from_widths(const std::array<Numbers, D>& widths, const std::array<double, D>& origin) {
  return TensorMesh<D>(make_axes<D>([&](std::size_t d) { return Axis(vector_of(widths[d])).starting_at(origin[d]); }));
}

template <int D>
TensorMesh<D> graded(const std::array<std::string, D>& gradings, const std::array<int, D>& cells,
                     const std::array<double, D>& size) {
  return TensorMesh<D>(make_axes<D>([&](std::size_t d) { return graded_axis(gradings[d], cells[d], size[d]); }));
}

/// (nz, ny, nx) numbers, `more` than there are cells.
template <int D>
nb::object shape_of_arrays(const TensorMesh<D>& mesh, int more) {
  nb::list shape;
  for (int d = D; d-- > 0;) shape.append(mesh.axis(d).size() + more);
  return nb::tuple(shape);
}

/// What meshes of D dimensions have.
template <int D>
void add_common(nb::class_<TensorMesh<D>>& mesh, const char* name) {
  using M = TensorMesh<D>;
  mesh.def_static("from_coordinates", &from_coordinates<D>, nb::arg("coordinates"))
      .def_static("from_widths", &from_widths<D>, nb::arg("widths"), nb::arg("origin"))
      .def_static("graded", &graded<D>, nb::arg("gradings"), nb::arg("cells"), nb::arg("size"));
  const auto axis = [&](int d, const char* coordinates, const char* widths, const char* about_nodes,
                        const char* about_widths) {
    mesh.def_prop_ro(
        coordinates, [d](const M& m) { return as_array(m.axis(d).coordinates()); }, nb::rv_policy::automatic,
        about_nodes);
    mesh.def_prop_ro(
        widths, [d](const M& m) { return as_array(m.axis(d).widths()); }, nb::rv_policy::automatic, about_widths);
  };
  axis(0, "x", "widths_x", "Coordinates of the nodes, shape (nx + 1,).",
       "Widths of the intervals, shape (nx,): right where differences of x are not.");
  axis(1, "y", "widths_y", "Coordinates of the nodes, shape (ny + 1,).", "Widths of the intervals, shape (ny,).");
  if (D == 3)
    axis(2, "z", "widths_z", "Coordinates of the nodes, shape (nz + 1,).", "Widths of the intervals, shape (nz,).");
  mesh.def_prop_ro(
          "shape", [](const M& m) { return shape_of_arrays(m, 1); },
          D == 2 ? "Of arrays at the nodes: (ny + 1, nx + 1)." : "Of arrays at the nodes: (nz + 1, ny + 1, nx + 1).")
      .def_prop_ro(
          "cells", [](const M& m) { return shape_of_arrays(m, 0); },
          D == 2 ? "Of arrays on the cells: (ny, nx)." : "Of arrays on the cells: (nz, ny, nx).")
      .def_prop_ro("name", &M::name, "Of a mesh by name; 'custom' of others.")
      .def_prop_ro("largest_aspect_ratio", &M::largest_aspect_ratio, "How many times as long as wide cells are.")
      .def("__repr__", [name](const M& m) {
        std::string cells;
        for (int d = 0; d < D; ++d) cells += message(d > 0 ? " x " : "", m.axis(d).size());
        return message("<stratum.", name, " ", m.name(), ": ", cells, " cells, up to ", m.largest_aspect_ratio(),
                       " times as long as wide>");
      });
}

}  // namespace

void add_mesh(nb::module_& m) {
  nb::class_<TensorMesh<2>> rectangle(
      m, "Mesh", "A rectangle cut into cells by two lists of interval widths; stratum.mesh makes one.");
  rectangle.def_static(
      "named", [](const std::string& name, int level) { return make_mesh(mesh_family(name), level); }, nb::arg("name"),
      nb::arg("level"));
  add_common(rectangle, "Mesh");
  nb::class_<TensorMesh<3>> box(m, "BoxMesh",
                                "A box cut into cells by three lists of interval widths; stratum.mesh makes one.");
  box.def_static(
      "named",
      [](const std::string& name, int level, const std::string& graded_in) {
        return make_mesh(box_family(name, graded_in), level);
      },
      nb::arg("name"), nb::arg("level"), nb::arg("graded"));
  add_common(box, "BoxMesh");
}

}  // namespace stratum::python
