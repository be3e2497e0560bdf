#pragma once

// PatchRows: the rows of all patches in one list in the Context's memory, so that one loop or kernel runs over the nodes of all
// patches (core/patches/for_each_patch_node.hpp). `rank`: the patches of one rank alone. The constructor waits for the stream.

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
