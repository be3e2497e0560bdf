#include <stratum/assembly/netcdf_file.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <stratum/core/errors.hpp>

#ifdef STRATUM_HAVE_NETCDF
#include <netcdf.h>
#endif

namespace stratum {

bool is_netcdf(std::string_view path) { return path.ends_with(".nc"); }

#ifndef STRATUM_HAVE_NETCDF

bool netcdf_available() { return false; }

NetcdfArray read_netcdf(const std::string& path, const std::string& /*array*/, std::size_t /*fewest*/,
                        std::size_t /*most*/) {
  throw UsageError(message("cannot read '", path, "': this build has no NetCDF (Debian: libnetcdf-dev)"));
}

#else

bool netcdf_available() { return true; }

namespace {

/// Where the variables of a file of a classic format begin, by its header, which libnetcdf has read without an error.
std::vector<std::uint64_t> begins_of_variables(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto number = [&](int bytes) {
    std::uint64_t n = 0;
    for (int k = 0; k < bytes; ++k) n = n << 8 | static_cast<std::uint64_t>(file.get() & 255);
    return n;
  };
  constexpr int word = 4;
  const std::uint64_t version = number(word) & 255;
  const int count = version == 5 ? 8 : 4, offset = version == 1 ? 4 : 8;
  const auto skip = [&](std::uint64_t bytes) {
    file.seekg(static_cast<std::streamoff>((bytes + word - 1) / word * word), std::ios::cur);
  };
  const auto skip_name = [&] { skip(number(count)); };
  const auto for_each = [&](const auto& use) {
    (void)number(word);  // what it is a list of
    for (std::uint64_t n = number(count); n > 0 && file; --n) use();
  };
  const auto skip_attributes = [&] {
    for_each([&] {
      skip_name();
      constexpr std::array<std::uint64_t, 12> bytes{0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};  // a number of every type
      const std::uint64_t type = number(word);
      skip(number(count) * bytes[std::min<std::size_t>(type, bytes.size() - 1)]);
    });
  };
  (void)number(count);  // of records
  for_each([&] {        // dimensions
    skip_name();
    (void)number(count);
  });
  skip_attributes();
  std::vector<std::uint64_t> begins;
  for_each([&] {
    skip_name();
    for (std::uint64_t n = number(count); n > 0 && file; --n) (void)number(count);
    skip_attributes();
    (void)number(word);
    (void)number(count);
    begins.push_back(number(offset));
  });
  return begins;
}

class NetcdfFile {
 public:
  explicit NetcdfFile(const std::string& path) : path_(path) {
    std::error_code error;  // libnetcdf would say that the format of a directory is unknown
    check(std::filesystem::is_directory(path, error) ? EISDIR : nc_open(path.c_str(), NC_NOWRITE, &id_));
  }
  ~NetcdfFile() { nc_close(id_); }
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  void check(int code) const {
    if (code != NC_NOERR) throw FileError(message("cannot read '", path_, "': ", nc_strerror(code)));
  }
  struct Variable {
    int id;
    std::string name;
    std::vector<int> dimensions;
    nc_type type;
  };
  /// Throws FileError where a file of a classic format is cut off: libnetcdf reads zeros behind its end.
  void expects_all_bytes() const {
    int format = 0, unlimited = -1, variables = 0;
    check(nc_inq_format(id_, &format));
    if (format == NC_FORMAT_NETCDF4 || format == NC_FORMAT_NETCDF4_CLASSIC) return;
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path_, error);
    if (error) return;  // not of this machine
    check(nc_inq_unlimdim(id_, &unlimited));
    check(nc_inq_nvars(id_, &variables));
    const auto begins = begins_of_variables(path_);
    std::uint64_t needed = 0, of_records = 0, begin_of_records = 0, record = 0;
    int with_records = 0;
    for (int v = 0; v < variables && static_cast<std::size_t>(v) < begins.size(); ++v) {
      nc_type type = 0;
      int dimensions = 0;
      check(nc_inq_var(id_, v, nullptr, &type, &dimensions, nullptr, nullptr));
      std::vector<int> of(static_cast<std::size_t>(dimensions));
      check(nc_inq_vardimid(id_, v, of.data()));
      std::size_t bytes = 0;
      check(nc_inq_type(id_, type, nullptr, &bytes));
      const bool has_records = !of.empty() && of[0] == unlimited;
      for (const int dimension : of)
        if (dimension != unlimited) bytes *= length(dimension);
      const std::uint64_t begin = begins[static_cast<std::size_t>(v)];
      if (!has_records) {
        if (bytes > 0) needed = std::max(needed, begin + bytes);
        continue;
      }
      // Of several variables a record has whole words of each.
      ++with_records;
      begin_of_records = std::max(begin_of_records, begin + bytes);
      of_records += (bytes + 3) / 4 * 4;
      record = bytes;
    }
    if (with_records > 1) record = of_records;
    if (with_records > 0 && length(unlimited) > 0)
      needed = std::max(needed, begin_of_records + (length(unlimited) - 1) * record);
    if (size < needed)
      throw FileError(message("cannot read '", path_, "': it ends after ", size, " of ", needed, " bytes"));
  }
  /// Of numbers.
  [[nodiscard]] std::vector<Variable> variables() const {
    int count = 0;
    check(nc_inq_nvars(id_, &count));
    std::vector<Variable> all;
    for (int v = 0; v < count; ++v) {
      char name[NC_MAX_NAME + 1];
      nc_type type = 0;
      int dimensions = 0;
      check(nc_inq_var(id_, v, name, &type, &dimensions, nullptr, nullptr));
      if (type == NC_CHAR || type > NC_UINT64) continue;
      std::vector<int> of(static_cast<std::size_t>(dimensions));
      check(nc_inq_vardimid(id_, v, of.data()));
      all.push_back({v, name, std::move(of), type});
    }
    return all;
  }
  [[nodiscard]] std::size_t length(int dimension) const {
    std::size_t length = 0;
    check(nc_inq_dimlen(id_, dimension, &length));
    return length;
  }
  /// The numbers along it decrease.
  [[nodiscard]] bool decreases(int dimension) const {
    char name[NC_MAX_NAME + 1];
    check(nc_inq_dimname(id_, dimension, name));
    for (const Variable& variable : variables()) {
      if (variable.name != name || variable.dimensions != std::vector<int>{dimension}) continue;
      const auto places = numbers(variable, {0}, {length(dimension)});
      return places.size() > 1 && places.back() < places.front();
    }
    return false;
  }
  [[nodiscard]] std::vector<double> numbers(const Variable& variable, const std::vector<std::size_t>& first,
                                            const std::vector<std::size_t>& count) const {
    std::size_t all = 1;
    for (const std::size_t n : count) all *= n;
    std::vector<double> read(all);
    check(nc_get_vara_double(id_, variable.id, first.data(), count.data(), read.data()));
    return read;
  }
  /// None where there is no such attribute of numbers.
  [[nodiscard]] std::vector<double> attribute(const Variable& variable, const char* name) const {
    std::size_t length = 0;
    if (nc_inq_attlen(id_, variable.id, name, &length) != NC_NOERR) return {};
    std::vector<double> values(length);
    if (nc_get_att_double(id_, variable.id, name, values.data()) != NC_NOERR) return {};
    return values;
  }
  /// What numbers stand for none, as they are stored: that of the type, too, which is not written.
  [[nodiscard]] std::vector<double> missing(const Variable& variable) const {
    std::vector<double> all = attribute(variable, "_FillValue");
    const bool is_real = variable.type == NC_FLOAT || variable.type == NC_DOUBLE;
    if (all.empty() || is_real)
      for (const double value : default_fill(variable.type)) all.push_back(value);
    for (const double value : attribute(variable, "missing_value")) all.push_back(value);
    return all;
  }
  /// 2^bits where signed numbers stand for unsigned ones, else 0.
  [[nodiscard]] double wraps_by(const Variable& variable) const {
    const std::string yes = "true";
    std::string text(yes.size(), ' ');
    std::size_t length = 0, bytes = 0;
    const bool has_text = nc_inq_attlen(id_, variable.id, "_Unsigned", &length) == NC_NOERR && length == yes.size() &&
                          nc_get_att_text(id_, variable.id, "_Unsigned", text.data()) == NC_NOERR;
    if (!has_text || text != yes || nc_inq_type(id_, variable.type, nullptr, &bytes) != NC_NOERR) return 0;
    return std::ldexp(1.0, 8 * static_cast<int>(bytes));
  }

 private:
  /// Bytes have none.
  static std::vector<double> default_fill(nc_type type) {
    switch (type) {
      case NC_SHORT: return {NC_FILL_SHORT};
      case NC_INT: return {NC_FILL_INT};
      case NC_FLOAT: return {double{NC_FILL_FLOAT}};
      case NC_DOUBLE: return {NC_FILL_DOUBLE};
      case NC_USHORT: return {NC_FILL_USHORT};
      case NC_UINT: return {NC_FILL_UINT};
      case NC_INT64: return {static_cast<double>(NC_FILL_INT64)};
      case NC_UINT64: return {static_cast<double>(NC_FILL_UINT64)};
      default: return {};
    }
  }

  const std::string& path_;
  int id_ = -1;
};

/// NAME and the numbers of NAME[K,L].
std::pair<std::string, std::vector<std::size_t>> split(const std::string& path, const std::string& array) {
  const auto open = array.find('[');
  if (open == std::string::npos) return {array, {}};
  std::vector<std::size_t> records;
  const char* at = array.data() + open + 1;
  const char* const end = array.data() + array.size();
  while (true) {
    std::size_t record = 0;
    const auto [stop, error] = std::from_chars(at, end, record);
    expects(error == std::errc() && stop < end && (*stop == ',' || (*stop == ']' && stop + 1 == end)), "'", path,
            "': '", shown(array, 40), "' is not NAME[K] or NAME[K,L], K and L being numbers of records from 0 on");
    records.push_back(record);
    if (*stop == ']') return {array.substr(0, open), records};
    at = stop + 1;
  }
}

}  // namespace

NetcdfArray read_netcdf(const std::string& path, const std::string& array, std::size_t fewest, std::size_t most) {
  const NetcdfFile file(path);
  file.expects_all_bytes();
  const auto [name, records] = split(path, array);
  std::string names;
  const auto all = file.variables();
  const NetcdfFile::Variable* found = nullptr;
  int fitting = 0;
  for (const auto& variable : all) {
    if (variable.dimensions.size() < fewest) continue;
    if (name.empty() ? variable.dimensions.size() >= most : variable.name == name) found = &variable;
    fitting += variable.dimensions.size() >= most ? 1 : 0;
    names += (names.empty() ? "" : ", ") + variable.name;
  }
  expects(!names.empty(), "'", path, "' has no array of numbers with ", fewest, " directions or more");
  expects(!name.empty() || fitting == 1, "'", path, "' has several arrays, ", names, "; say which, as in PATH:ARRAY");
  expects(found != nullptr, "'", path, "' has no array '", name, "'; it has ", names);
  const std::size_t directions = found->dimensions.size(), before = directions > most ? directions - most : 0;
  std::vector<std::size_t> first(directions, 0), count;
  for (const int dimension : found->dimensions) count.push_back(file.length(dimension));
  std::string shape;
  for (const std::size_t n : count) shape += message(shape.empty() ? "(" : ", ", n);
  expects(records.empty() || records.size() == before, "'", path, "': array '", found->name, "' has shape ", shape,
          "), and ", records.size(), " numbers in brackets; it needs one for each of the first ", before,
          " directions");
  for (std::size_t d = 0; d < before; ++d) {
    expects(count[d] == 1 || !records.empty(), "'", path, "': array '", found->name, "' has shape ", shape,
            "); say which record, as in ", path, ":", found->name, "[0]");
    if (!records.empty()) first[d] = records[d];
    expects(first[d] < count[d], "'", path, "': array '", found->name, "' has shape ", shape, "); there is no record ",
            first[d], " of direction ", d);
    count[d] = 1;
  }
  NetcdfArray read{{count.begin() + static_cast<std::ptrdiff_t>(before), count.end()},
                   file.numbers(*found, first, count)};
  const auto missing = file.missing(*found), scale = file.attribute(*found, "scale_factor"),
             offset = file.attribute(*found, "add_offset");
  // Marks of float numbers may be written in double.
  const auto is_missing = [&](double value) {
    return std::any_of(missing.begin(), missing.end(), [&](double mark) {
      return value == mark || (found->type == NC_FLOAT && value == static_cast<double>(static_cast<float>(mark)));
    });
  };
  const double wraps_by = file.wraps_by(*found);
  for (double& value : read.numbers) {
    const bool has_value = !is_missing(value);
    if (value < 0) value += wraps_by;
    value =
        has_value ? (offset.size() == 1 ? offset[0] : 0) + (scale.size() == 1 ? scale[0] : 1) * value : std::nan("");
  }
  // One direction after the other: `inner` numbers that follow each other keep their order.
  std::size_t inner = 1;
  for (std::size_t d = read.shape.size(); d-- > 0; inner *= read.shape[d])
    if (file.decreases(found->dimensions[before + d])) {
      const std::size_t n = read.shape[d];
      for (std::size_t outer = 0; outer < read.numbers.size(); outer += n * inner)
        for (std::size_t k = 0; k < n / 2; ++k)
          for (std::size_t m = 0; m < inner; ++m)
            std::swap(read.numbers[outer + k * inner + m], read.numbers[outer + (n - 1 - k) * inner + m]);
    }
  return read;
}

#endif

}  // namespace stratum
