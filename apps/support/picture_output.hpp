#pragma once

// --png of programs that draw their solution.

#include <string>

#include <stratum/assembly/picture.hpp>
#include <stratum/core/errors.hpp>

#include "output_files.hpp"

namespace stratum::apps {

/// Throws UsageError for a name of another ending, and where this build does not draw.
inline void check_picture(const OutputFiles& outputs) {
  const std::string png = outputs.path("png");
  expects(png.empty() || png == "-" || png.ends_with(".png"), "--png: '", png, "' must end in .png");
  expects(png.empty() || pictures_available(), "--png: this build has no VTK that draws (Debian: libvtk9-dev)");
}

}  // namespace stratum::apps
