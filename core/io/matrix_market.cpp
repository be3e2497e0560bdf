#include <stratum/core/io/matrix_market.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include <stratum/core/device/context.hpp>
#include <stratum/core/io/output_file.hpp>
#include <stratum/core/io/text_file.hpp>

namespace stratum {

namespace {

constexpr auto most = std::numeric_limits<int>::max();

/// The blank-separated words of a line, up to eight.
class Words {
 public:
  explicit Words(std::string_view line) {
    while (count_ < words_.size()) {
      const auto begin = line.find_first_not_of(" \t");
      if (begin == std::string_view::npos) break;
      const auto end = std::min(line.find_first_of(" \t", begin), line.size());
      words_[count_++] = line.substr(begin, end - begin);
      line.remove_prefix(end);
    }
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::string_view operator[](std::size_t k) const { return words_[k]; }

 private:
  std::array<std::string_view, 8> words_;
  std::size_t count_ = 0;
};

/// The lines of a file; every complaint names their number and their text.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path) {}

  /// The next line, as it is; false at the end.
  [[nodiscard]] bool next() { return file_.next(); }
  /// The next line that says something.
  [[nodiscard]] bool next_content() {
    while (next()) {
      const bool comment = file_.line().starts_with('%');
      if (comment && file_.line().starts_with(amgx)) amgx_ = file_.line();
      if (!comment && file_.line().find_first_not_of(" \t") != std::string::npos) return true;
    }
    return false;
  }
  /// The last line read that AMGX reads and others skip; empty where there was none.
  [[nodiscard]] const std::string& line_of_amgx() const { return amgx_; }
  [[nodiscard]] Words words() const { return Words(file_.line()); }
  [[nodiscard]] std::int64_t bytes() const { return file_.bytes(); }

  [[noreturn]] void refuse(const std::string& what) const {
    throw FileError(
        message("'", file_.path(), "', line ", file_.number(), ": ", what, ": '", shown(file_.line()), "'"));
  }
  [[noreturn]] void refuse_end(const std::string& what) const {
    throw FileError(message("'", file_.path(), "' ends after line ", file_.number(), ": ", what));
  }

  [[nodiscard]] int integer(std::string_view word, const char* what, int low, int high) const {
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < low || value > high)
      refuse(message(what, " '", shown(word), "' is not a whole number in ", low, " .. ", high));
    return value;
  }
  [[nodiscard]] double number(std::string_view word) const {
    // from_chars takes no plus sign, and no exponent of Fortran's.
    std::string text(word.starts_with('+') && !word.starts_with("+-") ? word.substr(1) : word);
    if (const auto exponent = text.find_first_of("dD"); exponent != std::string::npos && exponent > 0)
      text[exponent] = 'e';
    const std::string_view digits = text;
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    // from_chars does not say whether a number is too large or too small; what is too small is as good as zero.
    const bool out_of_range = error == std::errc::result_out_of_range;
    if (out_of_range) value = std::strtod(text.c_str(), nullptr);
    if ((error != std::errc() && !out_of_range) || end != digits.data() + digits.size() || !std::isfinite(value))
      refuse(message("value '", shown(word), "' is not a finite number"));
    return value;
  }

 private:
  static constexpr std::string_view amgx = "%%AMGX";
  TextFile file_;
  std::string amgx_;
};

struct Header {
  bool coordinate = true;
  bool pattern = false;
  bool symmetric = false;
};

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Header read_header(Lines& lines) {
  if (!lines.next()) lines.refuse_end("it is empty; a Matrix Market file begins with %%MatrixMarket");
  const auto words = lines.words();
  if (words.empty() || lower(words[0]) != "%%matrixmarket")
    lines.refuse("no Matrix Market file, whose first line begins "
                 "with %%MatrixMarket");
  // AMGX's own examples say "general symmetric" of both triangles.
  const bool both = words.size() == 6 && lower(words[4]) == "general" && lower(words[5]) == "symmetric";
  if ((words.size() != 5 && !both) || lower(words[1]) != "matrix")
    lines.refuse("the first line reads '%%MatrixMarket matrix FORMAT FIELD SYMMETRY'");
  const std::string format = lower(words[2]), field = lower(words[3]), symmetry = lower(words[4]);
  if (format != "coordinate" && format != "array")
    lines.refuse(message("format '", shown(format), "'; known are coordinate, array"));
  if (field != "real" && field != "integer" && field != "double" && field != "pattern")
    lines.refuse(
        message("field '", shown(field), "'; known are real, integer, pattern",
                field == "complex" ? ": write real and imaginary part as a real matrix of twice as many rows" : ""));
  if (symmetry != "general" && symmetry != "symmetric" && symmetry != "hermitian")
    lines.refuse(message("symmetry '", shown(symmetry), "'; known are general, symmetric, hermitian",
                         symmetry == "skew-symmetric" ? ": write both triangles of it as general" : ""));
  const Header header{format == "coordinate", field == "pattern", symmetry != "general"};
  if (header.pattern && !header.coordinate) lines.refuse("an array has values and cannot be a pattern");
  return header;
}

struct Size {
  int rows = 0, columns = 0;
  std::int64_t entries = 0;
};

Size read_size(Lines& lines, const Header& header) {
  const std::size_t count = header.coordinate ? 3 : 2;
  const char* what = header.coordinate ? "the size reads 'ROWS COLUMNS ENTRIES'" : "the size reads 'ROWS COLUMNS'";
  if (!lines.next_content()) lines.refuse_end(what);
  const auto words = lines.words();
  if (words.size() != count) lines.refuse(what);
  Size size{lines.integer(words[0], "rows", 1, most), lines.integer(words[1], "columns", 1, most), 0};
  if (header.symmetric && size.rows != size.columns) lines.refuse("a symmetric matrix is square");
  const std::int64_t rows = size.rows;
  size.entries = header.coordinate  ? lines.integer(words[2], "entries", 0, most)
                 : header.symmetric ? rows * (rows + 1) / 2
                                    : rows * size.columns;
  // An entry takes at least '1 1' or '1', and a line end except for the last.
  const std::int64_t shortest = header.coordinate ? 4 : 2;
  if (size.entries > (lines.bytes() + 1) / shortest)
    lines.refuse(message(size.entries, " entries do not fit in a file of ", lines.bytes(), " bytes"));
  return size;
}

/// The next line, which holds one value.
double read_value(Lines& lines, std::int64_t k, std::int64_t count) {
  if (!lines.next_content()) lines.refuse_end(message(k, " values of ", count, " are there"));
  const auto words = lines.words();
  if (words.size() != 1) lines.refuse("a line of an array holds one value");
  return lines.number(words[0]);
}

/// Calls take(row, column, value) for every entry, numbered from 0; of an array columns one after the other.
template <class Take>
void read_entries(Lines& lines, const Header& header, const Size& size, const Take& take) {
  if (!header.coordinate) {
    std::int64_t k = 0;
    for (int column = 0; column < size.columns; ++column)
      for (int row = header.symmetric ? column : 0; row < size.rows; ++row)
        take(row, column, read_value(lines, k++, size.entries));
    return;
  }
  const std::size_t count = header.pattern ? 2 : 3;
  for (std::int64_t k = 0; k < size.entries; ++k) {
    if (!lines.next_content()) lines.refuse_end(message(k, " entries of ", size.entries, " are there"));
    const auto words = lines.words();
    if (words.size() != count)
      lines.refuse(header.pattern ? "an entry reads 'ROW COLUMN'" : "an entry reads 'ROW COLUMN VALUE'");
    const int row = lines.integer(words[0], "row", 1, size.rows) - 1;
    const int column = lines.integer(words[1], "column", 1, size.columns) - 1;
    if (header.symmetric && column > row) lines.refuse("a symmetric file holds the lower triangle, row >= column");
    take(row, column, header.pattern ? 1.0 : lines.number(words[2]));
  }
}

/// What AMGX's line says of the file.
struct AmgxSections {
  bool rhs = false, solution = false;
};
AmgxSections sections_of(const Lines& lines) {
  AmgxSections sections;
  const Words words(lines.line_of_amgx());
  for (std::size_t k = 1; k < words.size(); ++k) {
    const std::string word = lower(words[k]);
    if (word == "rhs") sections.rhs = true;
    if (word == "solution") sections.solution = true;
    const bool known = word == "rhs" || word == "solution" || word == "sorted" || word == "1";
    if (!known)
      lines.refuse(message("'", shown(lines.line_of_amgx()), "' before this line says '", shown(word),
                           "'; known are 1 1 (blocks of one unknown), sorted, rhs, solution"));
  }
  return sections;
}

/// n numbers for each section, or n and the numbers: that many lines to the end of the file.
void read_sections(Lines& lines, const AmgxSections& which, int rows, MatrixMarketSystem& system) {
  const auto n = static_cast<std::size_t>(rows), sections = std::size_t{which.rhs} + std::size_t{which.solution};
  if (sections == 0) return;
  std::vector<double> all;
  while (all.size() < sections * (n + 1) && lines.next_content()) {
    const auto words = lines.words();
    if (words.size() != 1) lines.refuse("a line of a right-hand side or solution holds one value");
    all.push_back(lines.number(words[0]));
  }
  const bool counted = all.size() == sections * (n + 1);
  if (all.size() < sections * n || (all.size() > sections * n && !counted))
    lines.refuse_end(
        message(all.size(), " numbers follow the entries; ", sections * n,
                " of the right-hand side and the solution are needed, or each of them behind their number"));
  std::size_t at = 0;
  for (std::vector<double>* const to :
       {which.rhs ? &system.rhs : nullptr, which.solution ? &system.solution : nullptr}) {
    if (to == nullptr) continue;
    if (counted && all[at++] != rows)
      lines.refuse(
          message("a right-hand side or solution of ", all[at - 1], " numbers; the matrix has ", rows, " rows"));
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    to->assign(begin, begin + rows);
    at += n;
  }
}

void expects_end(Lines& lines, std::int64_t entries) {
  if (lines.next_content()) lines.refuse(message("more than the ", entries, " entries that the size line promises"));
}

/// Entries of one place are added, which may leave the numbers there are.
void expects_finite_sum(const std::string& path, double sum, int row, int column) {
  if (!std::isfinite(sum))
    throw FileError(message("'", path, "': the entries (", row + 1, ", ", column + 1, ") add up to ", sum));
}

/// The shortest text that reads back as the same bits.
void print_number(std::FILE* file, double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  (void)std::fwrite(text, 1, static_cast<std::size_t>(end - text), file);
}

template <class Print>
void write_file(const std::string& path, const Print& print) {
  write_whole(path, [&print](const std::string& temporary) -> std::string {
    std::FILE* file = std::fopen(temporary.c_str(), "wb");
    if (file == nullptr) return std::strerror(errno);
    print(file);
    const bool written = std::ferror(file) == 0;
    const int reason = errno;
    const bool closed = std::fclose(file) == 0;
    return written && closed ? "" : std::strerror(written ? errno : reason);
  });
}

}  // namespace

MatrixMarketSystem read_matrix_market_system(const std::string& path) {
  Lines lines(path);
  const auto header = read_header(lines);
  const auto size = read_size(lines, header);
  // Otherwise a short file could ask for gigabytes of empty rows.
  if (size.rows > lines.bytes() || size.columns > lines.bytes())
    lines.refuse(message("a file of ", lines.bytes(), " bytes has no entry in most of its ",
                         std::max(size.rows, size.columns), " rows or columns"));
  const std::int64_t most_entries = size.entries * (header.symmetric ? 2 : 1);
  // The entries, what sorting them takes, and the rows that are made of them.
  const std::int64_t needed = most_entries * (2 * std::int64_t{sizeof(SparseEntry)} + 12) + 4 * std::int64_t{size.rows};
  if (needed > available_memory(Context(Backend::cpu, 1)))
    throw ResourceError(message("'", path, "': ", most_entries, " entries need ", needed >> 20, " MiB of memory, ",
                                available_memory(Context(Backend::cpu, 1)) >> 20, " MiB are available"));
  std::vector<SparseEntry> entries;
  entries.reserve(static_cast<std::size_t>(most_entries));
  const auto sections = sections_of(lines);
  read_entries(lines, header, size, [&](int row, int column, double value) {
    // An array has its zeros, too.
    if (!header.coordinate && value == 0 && row != column) return;
    entries.push_back({row, column, value});
    if (header.symmetric && row != column) entries.push_back({column, row, value});
  });
  MatrixMarketSystem system;
  read_sections(lines, sections, size.rows, system);
  expects_end(lines, size.entries);
  if (entries.size() > static_cast<std::size_t>(most))
    throw FileError(message("'", path, "': ", entries.size(), " entries are more than 2^31 - 1"));
  SparseRows& a = system.a = sparse_rows(size.rows, size.columns, std::move(entries));
  for (int i = 0; i < a.rows; ++i)
    for (int k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1]; ++k)
      expects_finite_sum(path, a.value[static_cast<std::size_t>(k)], i, a.column[static_cast<std::size_t>(k)]);
  return system;
}

SparseRows read_matrix_market(const std::string& path) { return read_matrix_market_system(path).a; }

std::vector<double> read_matrix_market_vector(const std::string& path, int rows) {
  Lines lines(path);
  const auto header = read_header(lines);
  if (header.symmetric) lines.refuse("a vector cannot be symmetric");
  const auto size = read_size(lines, header);
  if (size.rows != rows || size.columns != 1)
    lines.refuse(message("a vector of ", rows, " rows and 1 column is wanted, not ", size.rows, " x ", size.columns));
  std::vector<double> x(static_cast<std::size_t>(rows));
  read_entries(lines, header, size,
               [&](int row, int /*column*/, double value) { x[static_cast<std::size_t>(row)] += value; });
  for (int i = 0; i < rows; ++i) expects_finite_sum(path, x[static_cast<std::size_t>(i)], i, 0);
  expects_end(lines, size.entries);
  return x;
}

void write_matrix_market(const std::string& path, const SparseRows& a) {
  a.validate();
  const bool symmetric = a.is_symmetric(0);
  std::int64_t entries = a.entries();
  if (symmetric) {
    entries = 0;
    for (int i = 0; i < a.rows; ++i)
      for (int k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1]; ++k)
        entries += a.column[static_cast<std::size_t>(k)] <= i ? 1 : 0;
  }
  write_file(path, [&](std::FILE* file) {
    (void)std::fprintf(file, "%%%%MatrixMarket matrix coordinate real %s\n%d %d %lld\n",
                       symmetric ? "symmetric" : "general", a.rows, a.columns, static_cast<long long>(entries));
    for (int i = 0; i < a.rows; ++i)
      for (int k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1]; ++k) {
        const int j = a.column[static_cast<std::size_t>(k)];
        if (symmetric && j > i) break;
        (void)std::fprintf(file, "%d %d ", i + 1, j + 1);
        print_number(file, a.value[static_cast<std::size_t>(k)]);
        (void)std::fputc('\n', file);
      }
  });
}

void write_matrix_market(const std::string& path, const std::vector<double>& x) {
  write_file(path, [&x](std::FILE* file) {
    (void)std::fprintf(file, "%%%%MatrixMarket matrix array real general\n%zu 1\n", x.size());
    for (const double value : x) {
      print_number(file, value);
      (void)std::fputc('\n', file);
    }
  });
}

}  // namespace stratum
