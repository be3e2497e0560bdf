#pragma once

// PatchRows: the rows of patches in one list, by which loops run over all nodes at once
// (core/patches/for_each_patch_node.hpp).

#include <memory>
#include <optional>

#include <stratum/core/patches/patch_layout.hpp>

namespace stratum {

/// Rows of patches, in the memory of a Context.
class PatchRows {
 public:
  /// Of the patches that are there, or of a rank's alone.
  PatchRows(Context& ctx, const PatchLayout& layout, std::optional<int> rank = {});

  struct Row {
    PatchLayout::Patch patch;
    int number, j;
  };
  [[nodiscard]] const Row* rows() const { return static_cast<const Row*>(memory_.get()); }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int widest() const { return widest_; }

 private:
  std::shared_ptr<void> memory_;
  int count_ = 0, widest_ = 0;
};

}  // namespace stratum
