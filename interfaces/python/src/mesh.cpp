// Meshes for Python (mesh/tensor_mesh.hpp): by name, by coordinates, by widths, graded.

#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

#include "arrays.hpp"

namespace stratum::python {

namespace {

using Numbers = HostArray<double, 1>;

NumpyArray as_array(std::vector<double> values) {
  const std::size_t n = values.size();
  return numpy_array(std::move(values), {n});
}

TensorMesh<2> named(const std::string& name, int level) { return make_mesh(mesh_family(name), level); }

TensorMesh<2> from_coordinates(const Numbers& x, const Numbers& y) {
  return {Axis::at(vector_of(x)), Axis::at(vector_of(y))};
}

TensorMesh<2> from_widths(const Numbers& x, const Numbers& y, double x0, double y0) {
  return {Axis(vector_of(x)).starting_at(x0), Axis(vector_of(y)).starting_at(y0)};
}

TensorMesh<2> graded(const std::string& x, const std::string& y, std::tuple<int, int> cells,
                     std::tuple<double, double> size) {
  const auto line = [](const std::string& text, int n, double length) {
    const Grading grading = parse_grading(text);
    return grading.from_file() ? read_line(grading) : make_line(grading, length, n);
  };
  return {line(x, std::get<0>(cells), std::get<0>(size)), line(y, std::get<1>(cells), std::get<1>(size))};
}

}  // namespace

void add_mesh(nb::module_& m) {
  nb::class_<TensorMesh<2>>(m, "Mesh",
                            "A rectangle cut into cells by two lists of interval widths; stratum.mesh makes one.")
      .def_static("named", &named, nb::arg("name"), nb::arg("level"))
      .def_static("from_coordinates", &from_coordinates, nb::arg("x"), nb::arg("y"))
      .def_static("from_widths", &from_widths, nb::arg("x"), nb::arg("y"), nb::arg("x0") = 0.0, nb::arg("y0") = 0.0)
      .def_static("graded", &graded, nb::arg("x"), nb::arg("y"), nb::arg("cells"), nb::arg("size"))
      .def_prop_ro(
          "x", [](const TensorMesh<2>& mesh) { return as_array(mesh.x().coordinates()); }, nb::rv_policy::automatic,
          "Coordinates of the nodes, shape (nx + 1,).")
      .def_prop_ro(
          "y", [](const TensorMesh<2>& mesh) { return as_array(mesh.y().coordinates()); }, nb::rv_policy::automatic,
          "Coordinates of the nodes, shape (ny + 1,).")
      .def_prop_ro(
          "widths_x", [](const TensorMesh<2>& mesh) { return as_array(mesh.x().widths()); }, nb::rv_policy::automatic,
          "Widths of the intervals, shape (nx,): right where differences of x are not.")
      .def_prop_ro(
          "widths_y", [](const TensorMesh<2>& mesh) { return as_array(mesh.y().widths()); }, nb::rv_policy::automatic,
          "Widths of the intervals, shape (ny,).")
      .def_prop_ro(
          "shape", [](const TensorMesh<2>& mesh) { return nb::make_tuple(mesh.y().size() + 1, mesh.x().size() + 1); },
          "Of arrays at the nodes: (ny + 1, nx + 1).")
      .def_prop_ro(
          "cells", [](const TensorMesh<2>& mesh) { return nb::make_tuple(mesh.y().size(), mesh.x().size()); },
          "Of arrays on the cells: (ny, nx).")
      .def_prop_ro("name", &TensorMesh<2>::name, "Of a mesh by name; 'custom' of others.")
      .def_prop_ro("largest_aspect_ratio", &TensorMesh<2>::largest_aspect_ratio,
                   "How many times as long as wide cells are.")
      .def("__repr__", [](const TensorMesh<2>& mesh) {
        return message("<stratum.Mesh ", mesh.name(), ": ", mesh.x().size(), " x ", mesh.y().size(), " cells, up to ",
                       mesh.largest_aspect_ratio(), " times as long as wide>");
      });
}

}  // namespace stratum::python
