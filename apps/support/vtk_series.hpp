#pragma once

// A series of files for ParaView: SERIES.pvd names SERIES_0000.vtr, SERIES_0001.vtr ... and their times. Every file is written
// whole or not at all, SERIES.pvd anew after each, so that what a run has come to can be opened while it goes on.

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/io/output_file.hpp>
#include <stratum/mesh/vtk.hpp>

#include "output_files.hpp"

namespace stratum::apps {

class VtkSeries {
 public:
  /// `path` ends in .pvd.
  explicit VtkSeries(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::string file(int number) const {
    char digits[16];
    (void)std::snprintf(digits, sizeof digits, "_%04d.vtr", number);
    return path_.substr(0, path_.size() - std::string_view(".pvd").size()) + digits;
  }
  /// One that an earlier run has written, where it is there.
  void adopt(int number, double t) {
    std::error_code error;
    if (std::filesystem::exists(file(number), error)) entries_.emplace_back(t, file(number));
  }
  void write(int number, double t, const TensorMesh& mesh, const std::vector<VtkField>& nodes,
             const std::vector<VtkField>& cells) {
    {
      const RemovedWhenInterrupted unfinished_file(temporary_name(file(number)));
      write_vtr(file(number), mesh, nodes, cells);
    }
    entries_.emplace_back(t, file(number));
    std::ostringstream out;
    out.precision(17);
    out << "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n  <Collection>\n";
    for (const auto& [time, name] : entries_)
      out << "    <DataSet timestep=\"" << time << "\" part=\"0\" file=\""
          << escaped(std::filesystem::path(name).filename().string()) << "\"/>\n";
    out << "  </Collection>\n</VTKFile>\n";
    const RemovedWhenInterrupted unfinished_file(temporary_name(path_));
    write_whole_text(path_, out.str());
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  [[nodiscard]] static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '"' ? "&quot;" : std::string(1, c);
    return out;
  }

  std::string path_;
  std::vector<std::pair<double, std::string>> entries_;
};

}  // namespace stratum::apps
