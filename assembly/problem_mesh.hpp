#pragma once

// ProblemMesh owns a mesh, of a rectangle or of quadrilaterals; a Geometry only refers to one. Copies share the positions of
// nodes. A ProblemMesh converts to the Geometry that assembly functions take, and has to outlive it. On the host; no errors of
// its own.

#include <optional>
#include <utility>

#include <stratum/assembly/geometry.hpp>

namespace stratum {

class ProblemMesh {
 public:
  explicit ProblemMesh(TensorMesh<2> rectangle) : logical_(std::move(rectangle)) {}
  explicit ProblemMesh(MappedMesh mapped) : logical_(mapped.logical()), mapped_(std::move(mapped)) {}
  explicit ProblemMesh(const Geometry& mesh) : logical_(mesh.logical()) {
    if (mesh.mapped() != nullptr) mapped_ = *mesh.mapped();
  }

  operator Geometry() const {  // NOLINT(google-explicit-constructor)
    return mapped_ ? Geometry(*mapped_) : Geometry(logical_);
  }
  [[nodiscard]] const TensorMesh<2>& logical() const { return logical_; }
  [[nodiscard]] const std::optional<MappedMesh>& mapped() const { return mapped_; }
  [[nodiscard]] double largest_aspect_ratio() const {
    return mapped_ ? mapped_->largest_aspect_ratio() : logical_.largest_aspect_ratio();
  }

 private:
  TensorMesh<2> logical_;
  std::optional<MappedMesh> mapped_;
};

}  // namespace stratum
