#pragma once

// DmdaNodes: where the unknowns of a distributed DMDA of PETSc lie on its grid. Part of PCType "stratum" (interfaces/petsc.cpp).

#include <algorithm>
#include <vector>

#include <petscsystypes.h>

namespace stratum {

/// Nodes j nx + i of a DMDA's unknowns, which are numbered process by process, each with a rectangle of them.
class DmdaNodes {
 public:
  DmdaNodes(PetscInt nx, PetscInt ny, PetscInt across, PetscInt up, const PetscInt* widths, const PetscInt* heights)
      : nx_(nx), ny_(ny) {
    PetscInt y = 0, start = 0;
    for (PetscInt q = 0; q < up; y += heights[q++]) {
      PetscInt x = 0;
      for (PetscInt p = 0; p < across; x += widths[p++]) {
        parts_.push_back({start, x, y, widths[p]});
        start += widths[p] * heights[q];
      }
    }
  }
  /// What is no unknown stays none.
  [[nodiscard]] PetscInt operator()(PetscInt unknown) const {
    if (unknown < 0 || unknown >= nx_ * ny_) return -1;
    const auto after = std::upper_bound(parts_.begin(), parts_.end(), unknown,
                                        [](PetscInt n, const Part& part) { return n < part.start; });
    const Part& part = *(after - 1);
    const PetscInt k = unknown - part.start;
    return (part.y + k / part.width) * nx_ + part.x + k % part.width;
  }

 private:
  struct Part {
    PetscInt start, x, y, width;
  };
  PetscInt nx_, ny_;
  std::vector<Part> parts_;
};

}  // namespace stratum
