#pragma once

// Expressions in files of patches (mesh/patches/patch_text.hpp): numbers such as cos(pi/4), and curves of t.

#include <stratum/mesh/patches/patch_text.hpp>

namespace stratum {

/// By muParser; of a build without it numbers are plain, and a curve is refused.
[[nodiscard]] PatchExpressions patch_expressions();

}  // namespace stratum
