#include <stratum/assembly/netcdf_file.hpp>

#include <charconv>
#include <cmath>
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

class NetcdfFile {
 public:
  explicit NetcdfFile(const std::string& path) : path_(path) { check(nc_open(path.c_str(), NC_NOWRITE, &id_)); }
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
  };
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
      if (type == NC_CHAR || type > NC_UINT64 || type == NC_STRING) continue;
      std::vector<int> of(static_cast<std::size_t>(dimensions));
      check(nc_inq_vardimid(id_, v, of.data()));
      all.push_back({v, name, std::move(of)});
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
  [[nodiscard]] double attribute(const Variable& variable, const char* name, double otherwise) const {
    double value = otherwise;
    std::size_t length = 0;
    if (nc_inq_attlen(id_, variable.id, name, &length) == NC_NOERR && length == 1)
      (void)nc_get_att_double(id_, variable.id, name, &value);
    return value;
  }

 private:
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
  const double none = std::nan(""), fill = file.attribute(*found, "_FillValue", none),
               missing = file.attribute(*found, "missing_value", none),
               scale = file.attribute(*found, "scale_factor", 1), offset = file.attribute(*found, "add_offset", 0);
  for (double& value : read.numbers) {
    const bool is_missing =
        value == fill || value == missing || value == NC_FILL_DOUBLE || value == double{NC_FILL_FLOAT};
    value = is_missing ? none : offset + scale * value;
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
