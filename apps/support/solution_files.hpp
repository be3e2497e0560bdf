#pragma once

// The file for ParaView, or NumPy's array in its place, of a Poisson program: what is written though nobody asked for it, and
// how it is given up with a word where it cannot be.

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

#include "output_files.hpp"
#include "program.hpp"

namespace stratum::apps {

/// Of NumPy's arrays.
inline constexpr std::string_view array_ending = ".npy";

[[nodiscard]] inline Option compression_option() {
  return {"vtk-compress", "HOW", "fast", "none, fast (LZ4), or best (zlib: up to a third less, ten times as slow)"};
}
[[nodiscard]] inline VtkCompression parse_compression(const CommandLine& options) {
  return choice<VtkCompression>(
      "--vtk-compress", options.text("vtk-compress"),
      {{"none", VtkCompression::none}, {"fast", VtkCompression::fast}, {"best", VtkCompression::best}});
}

struct SolutionFiles {
  const char* program;
  std::string ending;  // of files for ParaView
  bool vtk_asked_for, quiet;

  void give_up_vtk(OutputFiles& outputs, const std::string& why) const {
    if (!quiet) warn(program, message("no file for ParaView: ", why));
    outputs.remove("vtk");
  }
};

/// NumPy's array takes the place of a file for ParaView.
[[nodiscard]] inline bool is_array(const OutputFiles& outputs) { return outputs.path("vtk").ends_with(array_ending); }

/// Checks that the files can be written, before anything is solved. Removes the file for ParaView where nobody asked for it,
/// and it is large or cannot be written.
inline void check_solution_files(const SolutionFiles& files, OutputFiles& outputs, std::int64_t nodes) {
  // Without being asked for, files of several hundred megabytes are not written.
  constexpr std::int64_t default_vtk_nodes = 5'000'000;
  outputs.check("report");
  outputs.check("history");
  outputs.check("probe");
  outputs.check("png");
  if (!outputs.has("vtk")) return;
  if (!files.vtk_asked_for && nodes > default_vtk_nodes) {
    if (!files.quiet)
      std::printf("no file for ParaView: %lld nodes make a large one; --vtk FILE%s writes it\n",
                  static_cast<long long>(nodes), files.ending.c_str());
    return outputs.remove("vtk");
  }
  try {
    expects(vtk_available() || is_array(outputs),
            "this build has no VTK (Debian: libvtk9-dev); --vtk FILE.npy writes an array, --vtk none no file");
    outputs.check("vtk");
  } catch (const std::exception& error) {
    if (files.vtk_asked_for) throw;
    files.give_up_vtk(outputs, error.what());
  }
}

/// Nothing is written of a solution that is not finite; `who`: what has no solution, as a sentence begins.
inline void leave_out_solution(OutputFiles& outputs, const std::string& who, bool says_so) {
  for (const char* file : {"probe", "png", "vtk"}) {
    if (outputs.has(file) && says_so)
      std::printf("not written %s: %s no solution to show\n", outputs.path(file).c_str(), who.c_str());
    outputs.remove(file);
  }
}

/// Lets `make` write the file under the name that it is given. Gives it up with a warning where that fails and nobody asked for
/// it.
inline void write_solution_file(const SolutionFiles& files, OutputFiles& outputs,
                                const std::function<void(const std::string& path)>& make) {
  if (!outputs.has("vtk")) return;
  progress(files, "writing the file for ParaView ...");
  try {
    outputs.write("vtk", make);
  } catch (const FileError& error) {
    progress(files, "");
    if (files.vtk_asked_for) throw;
    return files.give_up_vtk(outputs, error.what());
  }
  progress(files, "");
}

}  // namespace stratum::apps
