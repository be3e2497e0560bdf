#pragma once

// A series of files for ParaView: SERIES.pvd names SERIES_0000.vtr, SERIES_0001.vtr ... (.vts of quadrilaterals, .vtm of
// patches) and their times. Every file is written whole or not at all, SERIES.pvd anew after each, so that what a run has come to can be opened
// while it goes on. Of several ranks the files are SERIES_0000.pvtr (.pvts) ..., with a piece of each, and rank 0 writes
// SERIES.pvd; of patches rank 0 writes all.

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/core/io/output_file.hpp>
#include <stratum/mesh/vtk/vtk.hpp>
#include <stratum/mesh/vtk/vtm.hpp>
#include <stratum/mesh/vtk/vts.hpp>

#include "output_files.hpp"
#include "rank_output.hpp"

namespace stratum::apps {

class VtkSeries {
 public:
  /// `path` ends in .pvd. `ranks`: null of one alone.
  explicit VtkSeries(std::string path, std::shared_ptr<Communicator> ranks = {})
      : path_(std::move(path)), ranks_(std::move(ranks)) {}

  /// Whether the film gives a file this name, one of `ranks` or its pieces; `grid`: r, s or m.
  [[nodiscard]] static bool names(const std::string& path, int ranks, char grid, const std::string& name) {
    const std::string stem = std::filesystem::path(path).stem().string() + '_';
    if (!name.starts_with(stem)) return false;
    int number = 0;
    const char* const begin = name.data() + stem.size();
    const auto [end, error] = std::from_chars(begin, name.data() + name.size(), number);
    if (error != std::errc() || number < 0) return false;
    const std::string picture = file_name(path, number, ranks > 1, grid);
    return name == std::filesystem::path(picture).filename().string() ||
           (ranks > 1 && grid != 'm' && is_piece(picture, ranks, name));
  }

  /// One that an earlier run has written, on one rank or several, where it is there.
  void adopt(int number, double t) {
    std::error_code error;
    for (const bool pieces : {ranks_ != nullptr, ranks_ == nullptr})
      for (const char grid : {'r', 's', 'm'}) {
        if (!std::filesystem::exists(file(number, pieces, grid), error)) continue;
        return (void)entries_.emplace_back(t, file(number, pieces, grid));
      }
  }
  /// Fields of all nodes and cells, of several ranks on these rows of nodes and the cells between.
  void write(int number, double t, const ProblemMesh& mesh, const std::vector<VtkField>& nodes,
             const std::vector<VtkField>& cells, const NodeRows& rows = {}) {
    write_by(number, t, mesh.mapped() ? 's' : 'r', [&](const std::string& now) {
      if (ranks_)
        write_pieces(*ranks_, now, mesh, rows, nodes, cells);
      else if (mesh.mapped())
        write_vts(now, *mesh.mapped(), nodes, cells);
      else
        write_vtr(now, mesh.logical(), nodes, cells);
    });
  }
  /// The same of a box, of several ranks at these planes of nodes and on the cells between.
  void write(int number, double t, const TensorMesh<3>& mesh, const NodePlanes& planes,
             const std::vector<VtkField>& nodes, const std::vector<VtkField>& cells, int threads) {
    write_by(number, t, 'r', [&](const std::string& now) {
      if (ranks_)
        write_pieces(*ranks_, now, mesh, planes, nodes, cells, VtkCompression::fast, threads);
      else
        write_vtr(now, mesh, nodes, cells, VtkCompression::fast, threads);
    });
  }
  /// The same of patches, on the rank that has them all; `fields` of each patch.
  void write(int number, double t, const PatchMesh& mesh, const std::function<PatchFields(int patch)>& fields) {
    write_by(number, t, 'm', [&](const std::string& now) { write_vtm(now, mesh, fields); });
  }

 private:
  /// write_file(path)
  template <class WriteFile>
  void write_by(int number, double t, char grid, const WriteFile& write_file) {
    const std::string now = file(number, ranks_ != nullptr, grid);
    {
      const RemovedWhenInterrupted unfinished_file(temporary_name(now));
      write_file(now);
    }
    if (ranks_ && ranks_->rank() > 0) return;
    entries_.emplace_back(t, now);
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

  [[nodiscard]] static std::string file_name(const std::string& path, int number, bool pieces, char grid) {
    char digits[24];
    (void)std::snprintf(digits, sizeof digits, "_%04d.%svt%c", number, pieces && grid != 'm' ? "p" : "", grid);
    return path.substr(0, path.size() - std::string_view(".pvd").size()) + digits;
  }
  [[nodiscard]] std::string file(int number, bool pieces, char grid) const {
    return file_name(path_, number, pieces, grid);
  }
  [[nodiscard]] static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '"' ? "&quot;" : std::string(1, c);
    return out;
  }

  std::string path_;
  std::shared_ptr<Communicator> ranks_;
  std::vector<std::pair<double, std::string>> entries_;
};

}  // namespace stratum::apps
