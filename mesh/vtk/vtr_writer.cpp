#include <stratum/mesh/vtk/vtr_writer.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include <omp.h>

#include <vtkDataCompressor.h>
#include <vtkLZ4DataCompressor.h>
#include <vtkSmartPointer.h>
#include <vtkZLibDataCompressor.h>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/output_file.hpp>

namespace stratum::detail {

namespace {

constexpr std::size_t block_size = std::size_t{1} << 17;  // bytes
constexpr std::size_t blocks_of_a_thread = vtk_bytes_of_a_thread / block_size;

struct Array {
  std::string name;
  std::span<const double> values;
  int components = 1;
  std::uint64_t offset = 0;  // behind the underscore
};

/// Of text between quotes.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '&' ? "&amp;" : c == '"' ? "&quot;" : c == '<' ? "&lt;" : std::string(1, c);
  return '"' + result + '"';
}

vtkSmartPointer<vtkDataCompressor> make_compressor(VtkCompression compression) {
  constexpr int level = 5;  // that of VTK's writer
  vtkSmartPointer<vtkDataCompressor> compressor;
  if (compression == VtkCompression::fast) compressor = vtkSmartPointer<vtkLZ4DataCompressor>::New();
  if (compression == VtkCompression::best) compressor = vtkSmartPointer<vtkZLibDataCompressor>::New();
  if (compressor != nullptr) compressor->SetCompressionLevel(level);
  return compressor;
}

/// A file that notes its first failure.
class Output {
 public:
  explicit Output(const std::string& path) : file_(std::fopen(path.c_str(), "wb"), &std::fclose) {
    if (file_ == nullptr) note();
  }
  void write(const void* bytes, std::size_t count) {
    if (reason_.empty() && std::fwrite(bytes, 1, count, file_.get()) != count) note();
  }
  void write(const std::string& text) { write(text.data(), text.size()); }
  void fail(const std::string& reason) {
    if (reason_.empty()) reason_ = reason;
  }
  [[nodiscard]] std::int64_t position() {
    const auto at = reason_.empty() ? ftello(file_.get()) : -1;
    if (at < 0 && reason_.empty()) note();
    return at;
  }
  void go_to(std::int64_t position) {
    if (reason_.empty() && fseeko(file_.get(), position, SEEK_SET) != 0) note();
  }
  /// Why it could not be written; empty where it could.
  [[nodiscard]] std::string close() {
    if (reason_.empty() && std::fclose(file_.release()) != 0) note();
    return reason_;
  }

 private:
  void note() { reason_ = errno != 0 ? std::strerror(errno) : "writing failed"; }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::string reason_;
};

class Writer {
 public:
  Writer(const std::string& path, VtkCompression compression, int threads) : file_(path), compression_(compression) {
    for (int t = 0; t < std::max(1, threads); ++t) compressors_.push_back(make_compressor(compression));
  }

  /// `head(arrays)` is as long whatever the offsets are.
  template <class Head>
  [[nodiscard]] std::string operator()(std::vector<Array> arrays, const Head& head) {
    file_.write(head(arrays));
    const std::int64_t begin = file_.position();
    for (Array& array : arrays) {
      array.offset = static_cast<std::uint64_t>(file_.position() - begin);
      append({reinterpret_cast<const unsigned char*>(array.values.data()), array.values.size_bytes()});
    }
    file_.write("\n  </AppendedData>\n</VTKFile>\n");
    file_.go_to(0);
    file_.write(head(arrays));
    return file_.close();
  }

 private:
  void append(std::span<const unsigned char> bytes) {
    if (compression_ == VtkCompression::none) {
      const std::uint64_t size = bytes.size();
      file_.write(&size, sizeof size);
      return file_.write(bytes.data(), bytes.size());
    }
    const std::size_t blocks = (bytes.size() + block_size - 1) / block_size;
    std::vector<std::uint64_t> header{blocks, block_size, bytes.size() % block_size};
    header.resize(header.size() + blocks);
    const std::int64_t begin = file_.position();
    file_.write(header.data(), header.size() * sizeof(header[0]));
    const std::size_t room = compressors_[0]->GetMaximumCompressionSpace(block_size);
    const std::size_t together = std::min(blocks, blocks_of_a_thread * compressors_.size());
    std::vector<unsigned char> packed(room * together);
    for (std::size_t first = 0; first < blocks; first += together) {
      const auto count = static_cast<std::int64_t>(std::min(together, blocks - first));
#pragma omp parallel for schedule(dynamic) num_threads(static_cast <int>(compressors_.size()))
      for (std::int64_t k = 0; k < count; ++k) {
        const auto block = bytes.subspan((first + static_cast<std::size_t>(k)) * block_size);
        header[3 + first + static_cast<std::size_t>(k)] =
            compressors_[static_cast<std::size_t>(omp_get_thread_num())]->Compress(
                block.data(), std::min(block_size, block.size()), &packed[static_cast<std::size_t>(k) * room], room);
      }
      if (std::count(header.begin() + 3 + static_cast<std::ptrdiff_t>(first),
                     header.begin() + 3 + static_cast<std::ptrdiff_t>(first) + count, 0) > 0)
        return file_.fail("VTK's compressor failed");
      for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
        file_.write(&packed[k * room], static_cast<std::size_t>(header[3 + first + k]));
    }
    const std::int64_t end = file_.position();
    file_.go_to(begin);
    file_.write(header.data(), header.size() * sizeof(header[0]));
    file_.go_to(end);
  }
  Output file_;
  VtkCompression compression_;
  std::vector<vtkSmartPointer<vtkDataCompressor>> compressors_;
};

/// Checked.
std::vector<Array> arrays_of(const std::vector<VtkField>& fields, std::int64_t size, const char* where) {
  std::vector<Array> arrays;
  for (const auto& field : fields) {
    const auto values = static_cast<std::int64_t>(field.values.size());
    expects(values == size || values == 3 * size, "VTK field '", field.name, "' has ", values, " values for ", size,
            " ", where);
    arrays.push_back({field.name, field.values, values == size ? 1 : 3});
  }
  return arrays;
}

std::string text_of(const Array& array) {
  // Wide enough for any, so that the head is as long with it as without.
  std::array<char, 64> offset{};
  (void)std::snprintf(offset.data(), offset.size(), "\"%llu\"", static_cast<unsigned long long>(array.offset));
  std::string padded(offset.data());
  padded.resize(24, ' ');
  return message("        <DataArray type=\"Float64\" Name=", quoted(array.name),
                 array.components == 1 ? "" : " NumberOfComponents=\"3\"", " format=\"appended\" offset=", padded,
                 "/>\n");
}

}  // namespace

void write_rectilinear(const std::string& path, const RectilinearPart& part, const std::vector<VtkField>& node_fields,
                       const std::vector<VtkField>& cell_fields, VtkCompression compression, int threads) {
  auto arrays = arrays_of(node_fields, part.count(1), "nodes");
  for (auto& array : arrays_of(cell_fields, part.count(0), "cells")) arrays.push_back(std::move(array));
  for (std::size_t d = 0; d < 3; ++d) arrays.push_back({std::string(1, "xyz"[d]), part.coordinates[d]});
  std::string extent;
  for (std::size_t d = 0; d < 3; ++d) extent += message(d == 0 ? "" : " ", part.first[d], ' ', part.last[d]);
  const char* const compressor = compression == VtkCompression::fast   ? " compressor=\"vtkLZ4DataCompressor\""
                                 : compression == VtkCompression::best ? " compressor=\"vtkZLibDataCompressor\""
                                                                       : "";
  const auto head = [&](const std::vector<Array>& all) {
    std::string text = message("<?xml version=\"1.0\"?>\n<VTKFile type=\"RectilinearGrid\" version=\"1.0\" "
                               "byte_order=\"LittleEndian\" header_type=\"UInt64\"",
                               compressor, ">\n  <RectilinearGrid WholeExtent=\"", extent, "\">\n    <Piece Extent=\"",
                               extent, "\">\n");
    auto next = all.begin();
    const auto group = [&](const char* name, std::size_t count, bool has_scalars) {
      text += message("      <", name, has_scalars ? " Scalars=" + quoted(next->name) : "", ">\n");
      for (std::size_t k = 0; k < count; ++k) text += text_of(*next++);
      text += message("      </", name, ">\n");
    };
    const auto has_scalars = [&](std::size_t count) { return count > 0 && next->components == 1; };
    group("PointData", node_fields.size(), has_scalars(node_fields.size()));
    group("CellData", cell_fields.size(), has_scalars(cell_fields.size()));
    group("Coordinates", 3, false);
    return text + "    </Piece>\n  </RectilinearGrid>\n  <AppendedData encoding=\"raw\">\n   _";
  };
  write_whole(path,
              [&](const std::string& temporary) { return Writer(temporary, compression, threads)(arrays, head); });
}

}  // namespace stratum::detail
#endif
