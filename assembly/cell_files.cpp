#include <stratum/assembly/cell_files.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <stratum/assembly/netcdf_file.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/io/png_file.hpp>
#include <stratum/core/io/stored_number.hpp>
#include <stratum/core/io/text_file.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/vtk/vtk_xml.hpp>

namespace stratum {

namespace {

constexpr const char* known_endings = "known are .vtr, .vti, .npy, .nc, .png and .csv";

using On = FileValues::On;

[[noreturn]] void unreadable(const std::string& path, const std::string& reason) {
  throw FileError(message("cannot read '", path, "': ", reason));
}

void check(const FileValues& read) {
  const auto columns = static_cast<std::size_t>(read.columns);
  const char* const of = read.on == On::cells ? "cell " : read.on == On::nodes ? "node " : "column and row ";
  for (const auto& values : read.components)
    for (std::size_t k = 0; k < values.size(); ++k)
      expects(std::isfinite(values[k]), "'", read.from, "': the number of ", of, "(", k % columns, ", ", k / columns,
              ") is ", values[k], "; all must be finite");
}

/// As int, where a direction can have so many numbers.
int count_of(const std::string& path, std::uint64_t numbers) {
  constexpr std::uint64_t most = std::uint64_t{max_cells} + 1;
  expects(numbers >= 1 && numbers <= most, "'", path, "': a direction has 1 .. ", most, " numbers, not ", numbers);
  return static_cast<int>(numbers);
}

// --- .csv ----------------------------------------------------------------------------------------------------------------

FileValues read_csv(const std::string& path) {
  TextFile file(path);
  FileValues read;
  read.from = path;
  auto& values = read.components.emplace_back();
  while (file.next()) {
    const std::string_view line = std::string_view(file.line()).substr(0, file.line().find('#'));
    const auto where = [&] { return message("'", path, "', line ", file.number()); };
    constexpr std::string_view blanks = " \t";
    std::uint64_t count = 0;
    bool wanted = false;  // a number, behind a comma
    for (std::size_t at = line.find_first_not_of(blanks); at < line.size(); at = line.find_first_not_of(blanks, at)) {
      if (line[at] == ',') {
        expects(!wanted && count > 0, where(), ": no number before the comma at character ", at + 1);
        wanted = true;
        ++at;
        continue;
      }
      const std::size_t end = std::min(line.find_first_of(" \t,", at), line.size());
      const std::string_view word = line.substr(at, end - at);
      double value = 0;
      const bool plus = word.starts_with('+') && !word.starts_with("+-");
      const auto [stop, error] = std::from_chars(word.data() + (plus ? 1 : 0), word.data() + word.size(), value);
      expects(error == std::errc() && stop == word.data() + word.size() && std::isfinite(value), where(), ": '",
              shown(word, 24), "' is not a finite number");
      values.push_back(value);
      wanted = false;
      ++count;
      at = end;
    }
    expects(!wanted, where(), ": no number behind the last comma");
    if (count == 0) continue;
    if (read.rows == 0) read.columns = count_of(path, count);
    expects(count == static_cast<std::uint64_t>(read.columns), where(), " has ", count, " numbers, the first row has ",
            read.columns);
    read.rows = count_of(path, static_cast<std::uint64_t>(read.rows) + 1);
  }
  expects(read.rows > 0, "'", path, "' holds no numbers");
  file.expects_whole();
  return read;
}

// --- .npy ----------------------------------------------------------------------------------------------------------------

/// The header's dictionary: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class NpyHeader {
 public:
  NpyHeader(const std::string& path, std::string_view text) : path_(path), rest_(text) {
    take('{');
    while (!next_is('}')) {
      const std::string key = quoted();
      take(':');
      if (key == "descr")
        descr = quoted();
      else if (key == "fortran_order")
        fortran_order = truth();
      else if (key == "shape")
        shape = tuple();
      else
        refuse(message("has the key '", shown(key, 24), "'"));
      if (!next_is('}')) take(',');
    }
    if (!descr || !fortran_order || !shape) refuse("lacks descr, fortran_order or shape");
  }
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::uint64_t>> shape;

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(message("'", path_, "': its header ", why, "; expected is what numpy.save writes of numbers"));
  }
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }
  bool next_is(char c) {
    skip();
    return rest_.starts_with(c);
  }
  void take(char c) {
    if (!next_is(c)) refuse(message("has '", shown(rest_, 12), "' where '", c, "' should be"));
    rest_.remove_prefix(1);
  }
  std::string quoted() {
    if (!next_is('\'') && !next_is('"')) refuse(message("has '", shown(rest_, 24), "' where a word should be"));
    const auto end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) refuse("ends within a word");
    std::string word(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return word;
  }
  bool truth() {
    skip();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return value;
      }
    refuse("says neither True nor False to fortran_order");
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> numbers;
    take('(');
    while (!next_is(')')) {
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc()) refuse("has a shape of other things than numbers");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      numbers.push_back(value);
      if (!next_is(')')) take(',');
    }
    take(')');
    return numbers;
  }

  const std::string& path_;
  std::string_view rest_;
};

constexpr StoredType npy_types[] = {
    {"f4", 4, stored_as_double<float>},         {"f8", 8, stored_as_double<double>},
    {"i1", 1, stored_as_double<std::int8_t>},   {"i2", 2, stored_as_double<std::int16_t>},
    {"i4", 4, stored_as_double<std::int32_t>},  {"i8", 8, stored_as_double<std::int64_t>},
    {"u1", 1, stored_as_double<std::uint8_t>},  {"u2", 2, stored_as_double<std::uint16_t>},
    {"u4", 4, stored_as_double<std::uint32_t>}, {"u8", 8, stored_as_double<std::uint64_t>},
    {"b1", 1, stored_as_double<std::uint8_t>},
};

/// Reads exactly so many bytes.
class ByteFile {
 public:
  explicit ByteFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb"), &std::fclose) {
    if (!file_) unreadable(path_, std::strerror(errno));
  }
  void read(void* to, std::size_t bytes, const char* what) {
    errno = 0;
    if (std::fread(to, 1, bytes, file_.get()) == bytes) return;
    unreadable(path_, std::ferror(file_.get()) != 0 ? std::strerror(errno) : message("it ends within its ", what));
  }
  [[nodiscard]] bool at_end() { return std::fgetc(file_.get()) == EOF; }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// Numbers of an array of 1 to 3 dimensions, the last index running fastest, and `from`'s shape; throws unless there are so
/// many.
struct NpyArray {
  std::vector<int> shape;
  std::vector<double> numbers;
};

NpyArray read_npy_array(const std::string& path, std::size_t fewest, std::size_t most, const char* needed) {
  ByteFile file(path);
  unsigned char start[8], length[4] = {};
  file.read(start, sizeof start, "first bytes");
  expects(std::memcmp(start, "\x93NUMPY", 6) == 0, "'", path, "' is no .npy file: it does not begin as those do");
  const int major = start[6];
  expects(major >= 1 && major <= 3 && start[7] == 0, "'", path, "' is of version ", major, ".", int{start[7]},
          " of .npy; known are 1.0, 2.0 and 3.0");
  file.read(length, major == 1 ? 2 : 4, "header");
  const std::size_t header_bytes =
      length[0] | std::size_t{length[1]} << 8U | std::size_t{length[2]} << 16U | std::size_t{length[3]} << 24U;
  expects(header_bytes <= TextFile::longest_line, "'", path, "': a header of ", header_bytes, " bytes");
  std::string text(header_bytes, ' ');
  file.read(text.data(), text.size(), "header");
  const NpyHeader header(path, text);

  const std::string& descr = *header.descr;
  const auto* const type = std::find_if(std::begin(npy_types), std::end(npy_types), [&](const StoredType& known) {
    return descr.size() == 3 && known.name == descr.substr(1);
  });
  const char order = descr.empty() ? ' ' : descr.front();
  expects(type != std::end(npy_types) && (order == '<' || order == '>' || order == '=' || order == '|'), "'", path,
          "' holds numbers of type '", shown(descr, 24),
          "'; known are f4, f8, i1 to i8, u1 to u8 and b1, little or big endian");
  const auto& shape = *header.shape;
  std::string shape_text;
  for (const auto n : shape) shape_text += message(shape_text.empty() ? "" : ", ", n);
  expects(shape.size() >= fewest && shape.size() <= most, "'", path, "' has shape (", shape_text, "); ", needed);

  NpyArray array;
  std::size_t count = 1;
  std::string counts;
  for (const auto n : shape) {
    array.shape.push_back(count_of(path, n));
    count *= static_cast<std::size_t>(array.shape.back());
    counts += message(counts.empty() ? "" : " x ", n);
  }
  if (shape.size() == 1) counts = "1 x " + counts;
  // What a file says of its size is believed by what there is of it.
  std::error_code error;
  const auto there = std::filesystem::file_size(path, error);
  if (!error && there / type->size < count) unreadable(path, message("it ends before its ", counts, " numbers"));
  std::vector<unsigned char> bytes(count * type->size);
  file.read(bytes.data(), bytes.size(), "numbers");
  expects(file.at_end(), "'", path, "' goes on behind its ", counts, " numbers");
  const bool swapped = order != '|' && (order == '>') == (std::endian::native == std::endian::little) && order != '=';
  array.numbers.resize(count);
  const auto dimension = [&](std::size_t d) {
    return d < shape.size() ? static_cast<std::size_t>(array.shape[shape.size() - 1 - d]) : 1;
  };
  const std::size_t nx = dimension(0), ny = dimension(1), nz = dimension(2);
  std::size_t next = 0;
  for (std::size_t k = 0; k < nz; ++k)
    for (std::size_t j = 0; j < ny; ++j)
      for (std::size_t i = 0; i < nx; ++i, ++next)
        array.numbers[next] =
            type->read(&bytes[(*header.fortran_order ? (i * ny + j) * nz + k : next) * type->size], swapped);
  return array;
}

FileValues read_npy(const std::string& path) {
  NpyArray array = read_npy_array(path, 1, 2, "rows and columns are needed, (ny, nx) of cells");
  FileValues read;
  read.columns = array.shape.back();
  read.rows = array.shape.size() == 2 ? array.shape[0] : 1;
  read.dimensions = static_cast<int>(array.shape.size());
  read.from = path;
  read.components.push_back(std::move(array.numbers));
  return read;
}

FileValues read_nc(const std::string& path, const std::string& array) {
  NetcdfArray found = read_netcdf(path, array, 1, 2);
  FileValues read;
  read.columns = count_of(path, found.shape.back());
  read.rows = found.shape.size() == 2 ? count_of(path, found.shape[0]) : 1;
  read.dimensions = static_cast<int>(found.shape.size());
  read.from = path;
  read.components.push_back(std::move(found.numbers));
  return read;
}

// --- .vtr, .vti ----------------------------------------------------------------------------------------------------------

/// Among which one is looked for; cells_first: on cells, where there are any.
enum class Arrays { of_cells, cells_first, all };

/// One array of a grid: on what, which of them, and its name.
struct VtkArray {
  detail::VtkXmlFile::On on;
  std::size_t number;
  std::string name;
};

/// `points_too`: numbers of points are known to be those of nodes.
VtkArray chosen_array(const std::string& path, const detail::VtkXmlFile& file, const std::string& name, bool nodes_too,
                      bool points_too) {
  using VtkOn = detail::VtkXmlFile::On;
  const char* const places = nodes_too ? "cells and nodes" : "cells";
  std::vector<VtkArray> known;
  std::string names;
  for (const VtkOn on : {VtkOn::cells, VtkOn::points}) {
    if (on == VtkOn::points && !(nodes_too && points_too)) continue;
    const auto arrays = file.arrays(on);
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      known.push_back({on, k, arrays[k]});
      names += message(names.empty() ? "" : ", ", arrays[k].empty() ? "(without a name)" : arrays[k]);
    }
  }
  expects(!known.empty(), "'", path, "' has no ", nodes_too ? "data on cells and nodes" : "cell data");
  expects(!name.empty() || known.size() == 1, "'", path, "' has several arrays on its ", places, ", ", names,
          "; say which, as in PATH:ARRAY");
  const auto is_it = [&](const VtkArray& one) { return name.empty() || one.name == name; };
  const auto found = std::find_if(known.begin(), known.end(), is_it);
  expects(found != known.end(), "'", path, "' has no array '", name, "' of numbers on its ", places, "; it has ",
          names);
  expects(std::none_of(found + 1, known.end(), is_it) || found->on == std::find_if(found + 1, known.end(), is_it)->on,
          "'", path, "' has an array '", name, "' on its cells and another one on its nodes; give one another name");
  return *found;
}

detail::VtkXmlFile vtk_file(const std::string& path) {
  return {path, path.ends_with(".vtr") ? "RectilinearGrid" : "ImageData"};
}

FileValues read_vtk(const std::string& path, const std::string& name, Arrays which) {
  using VtkOn = detail::VtkXmlFile::On;
  const detail::VtkXmlFile file = vtk_file(path);
  const auto& whole = file.whole();
  expects(whole.points(0) >= 2 && whole.points(1) >= 2 && whole.points(2) <= 2, "'", path, "' has ", whole.points(0),
          " x ", whole.points(1), " x ", whole.points(2), " points; one layer of cells in x and y is needed");
  const bool nodes_too = which == Arrays::all || (which == Arrays::cells_first && file.arrays(VtkOn::cells).empty());
  const VtkArray found = chosen_array(path, file, name, nodes_too, whole.points(2) == 1);
  const bool on_cells = found.on == VtkOn::cells;
  FileValues read;
  read.on = on_cells ? On::cells : On::nodes;
  read.columns = count_of(path, static_cast<std::uint64_t>(on_cells ? whole.cells(0) : whole.points(0)));
  read.rows = count_of(path, static_cast<std::uint64_t>(on_cells ? whole.cells(1) : whole.points(1)));
  read.from = path;
  const auto array = file.array(found.on, found.number);
  expects(array.components == 1 || array.components == 3, "'", path, "': array '", found.name, "' has ",
          array.components, " components; one is needed, or the three KXX, KXY and KYY");
  const auto components = static_cast<std::size_t>(array.components);
  read.components.resize(components);
  for (std::size_t k = 0; k < array.values.size(); ++k) read.components[k % components].push_back(array.values[k]);
  return read;
}

bool is_png(std::string_view path) { return path.ends_with(".png"); }

/// Of black and of white, as in 0.001..1; 0 and 1 where nothing is said.
std::pair<double, double> range_of(const std::string& path, const std::string& text) {
  if (text.empty()) return {0, 1};
  const auto dots = text.find("..");
  const auto number = [&](std::string_view part) {
    double value = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    expects(error == std::errc() && stop == part.data() + part.size() && std::isfinite(value), "'", path, "': '",
            shown(text, 40), "' is not BLACK..WHITE, the numbers of black and of white pixels, as in 0.001..1");
    return value;
  };
  const std::string_view all(text);
  if (dots == std::string::npos) (void)number("");
  return {number(all.substr(0, dots)), number(all.substr(dots + 2))};
}

FileValues read_picture(const std::string& path, const std::string& range) {
  const auto [black, white] = range_of(path, range);
  GreyPicture picture = read_png(path);
  for (double& value : picture.numbers) value = value == 1 ? white : black + value * (white - black);
  FileValues read;
  read.on = On::cells;
  read.columns = count_of(path, static_cast<std::uint64_t>(picture.width));
  read.rows = count_of(path, static_cast<std::uint64_t>(picture.height));
  read.from = path;
  read.components.push_back(std::move(picture.numbers));
  return read;
}

bool is_vtk(std::string_view path) { return path.ends_with(".vtr") || path.ends_with(".vti"); }

FileValues read(const std::string& path, const std::string& array, Arrays which) {
  const bool csv = path.ends_with(".csv"), npy = path.ends_with(".npy");
  const bool png = is_png(path), nc = is_netcdf(path);
  expects(csv || npy || png || nc || is_vtk(path), "'", path, "' is no file of numbers on cells by its ending; ",
          known_endings);
  expects(array.empty() || png || nc || is_vtk(path), "'", path, "' has no arrays with names, as '", array, "'");
  auto found = csv   ? read_csv(path)
               : npy ? read_npy(path)
               : png ? read_picture(path, array)
               : nc  ? read_nc(path, array)
                     : read_vtk(path, array, which);
  if (which == Arrays::of_cells) found.on = On::cells;
  check(found);
  return found;
}

}  // namespace

FileValues read_values(const std::string& path, const std::string& array, bool cells_first) {
  return read(path, array, cells_first && array.empty() ? Arrays::cells_first : Arrays::all);
}

std::vector<CellValues> read_cell_values(const std::string& path, const std::string& array) {
  return cells_of(read(path, array, Arrays::of_cells));
}

std::vector<CellValues> cells_of(FileValues numbers) {
  expects(numbers.dimensions == 2, "'", numbers.from, "' has shape (", numbers.columns,
          "); rows and columns are needed, (ny, nx) of cells");
  std::vector<CellValues> all;
  for (auto& values : numbers.components)
    all.push_back({numbers.columns, numbers.rows, std::move(values), numbers.from});
  return all;
}

CellFile parse_cell_file(std::string_view text) {
  CellFile file{std::string(text), {}};
  const auto colon = text.rfind(':');
  if (const auto path = text.substr(0, colon);
      colon != std::string_view::npos && (is_vtk(path) || is_png(path) || is_netcdf(path))) {
    file.path = text.substr(0, colon);
    file.array = text.substr(colon + 1);
    expects(!file.array.empty(), "'", shown(text),
            "': ", is_png(file.path) ? "BLACK..WHITE is missing" : "the name of the array is missing");
  }
  expects(!file.path.empty(), "the name of the file is missing; ", known_endings);
  return file;
}

BoxFileValues read_box_values(const std::string& path, const std::string& array, bool nodes_too) {
  expects(path.ends_with(".npy") || is_netcdf(path) || is_vtk(path), "'", path,
          "' is no file of numbers in a box by its ending; known are .npy, .nc, .vtr and .vti");
  BoxFileValues read;
  if (is_vtk(path)) {
    const detail::VtkXmlFile file = vtk_file(path);
    const auto& whole = file.whole();
    const VtkArray found = chosen_array(path, file, array, nodes_too, true);
    const bool on_cells = found.on == detail::VtkXmlFile::On::cells;
    read.on = on_cells ? On::cells : On::nodes;
    for (std::size_t d = 0; d < 3; ++d)
      read.count[d] = count_of(path, static_cast<std::uint64_t>(on_cells ? whole.cells(d) : whole.points(d)));
    auto numbers = file.array(found.on, found.number);
    expects(numbers.components == 1, "'", path, "': array '", found.name, "' has ", numbers.components,
            " components; one is needed");
    read.numbers = std::move(numbers.values);
  } else if (is_netcdf(path)) {
    NetcdfArray numbers = read_netcdf(path, array, 3, 3);
    for (std::size_t d = 0; d < 3; ++d) read.count[d] = count_of(path, numbers.shape[2 - d]);
    read.numbers = std::move(numbers.numbers);
  } else {
    expects(array.empty(), "'", path, "' has no arrays with names, as '", array, "'");
    NpyArray numbers = read_npy_array(path, 3, 3, "a box needs (nz, ny, nx)");
    read.count = {numbers.shape[2], numbers.shape[1], numbers.shape[0]};
    read.numbers = std::move(numbers.numbers);
  }
  const auto nx = static_cast<std::size_t>(read.count[0]), ny = static_cast<std::size_t>(read.count[1]);
  for (std::size_t k = 0; k < read.numbers.size(); ++k)
    expects(std::isfinite(read.numbers[k]), "'", path, "': the number of ", read.on == On::nodes ? "node" : "cell",
            " (", k % nx, ", ", k / nx % ny, ", ", k / nx / ny, ") is ", read.numbers[k], "; all must be finite");
  return read;
}

}  // namespace stratum
