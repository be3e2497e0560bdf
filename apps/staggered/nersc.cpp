#include "nersc.hpp"

#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <sstream>

#include <stratum/core/io/output_file.hpp>

namespace stratum::staggered {

namespace {

struct Header {
  std::map<std::string, std::string, std::less<>> values;
  Lattice lattice{};
  int rows = 3;          // of a matrix that are stored
  std::size_t size = 8;  // bytes of a number
  bool big_endian = true;
  std::uint32_t checksum = 0;
  double link_trace = 0, plaquette = 0;

  [[nodiscard]] std::int64_t data_bytes() const {
    return lattice.volume() * 4 * rows * 6 * static_cast<std::int64_t>(size);
  }
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), in_(path, std::ios::binary) {
    if (std::filesystem::is_directory(path)) fail("it is a directory");
    if (!in_) fail(std::strerror(errno));
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw FileError(message("cannot read '", path_, "': ", reason));
  }

  Header header() {
    Header h;
    if (line() != "BEGIN_HEADER") fail("it does not begin with BEGIN_HEADER, as files of the NERSC archive do");
    constexpr int most_lines = 1000;
    for (int k = 0;; ++k) {
      if (k == most_lines) fail("there is no END_HEADER");
      const std::string text = line();
      if (text == "END_HEADER") break;
      const auto at = text.find('=');
      if (at == std::string::npos) fail(message("'", shown(text), "' in the header is not NAME = VALUE"));
      h.values[trimmed(text.substr(0, at))] = trimmed(text.substr(at + 1));
    }
    int* const extents[] = {&h.lattice.nx, &h.lattice.ny, &h.lattice.nz, &h.lattice.nt};
    for (std::size_t mu = 0; mu < 4; ++mu) *extents[mu] = number<int>(h, message("DIMENSION_", mu + 1));
    try {
      h.lattice.validate();
    } catch (const UsageError& error) {
      fail(error.what());
    }
    h.rows = one_of<int>(h, "DATATYPE", {{"4D_SU3_GAUGE", 2}, {"4D_SU3_GAUGE_3x3", 3}, {"4D_SU3_GAUGE_3X3", 3}});
    const auto format = one_of<std::pair<std::size_t, bool>>(h, "FLOATING_POINT",
                                                             {{"IEEE32", {4, true}},
                                                              {"IEEE32BIG", {4, true}},
                                                              {"IEEE32LITTLE", {4, false}},
                                                              {"IEEE64BIG", {8, true}},
                                                              {"IEEE64LITTLE", {8, false}}});
    h.size = format.first;
    h.big_endian = format.second;
    const std::string sum = value(h, "CHECKSUM");
    const auto [end, error] = std::from_chars(sum.data(), sum.data() + sum.size(), h.checksum, 16);
    if (error != std::errc() || end != sum.data() + sum.size())
      fail(message("CHECKSUM '", shown(sum), "' is no hexadecimal number of 32 bits"));
    h.link_trace = number<double>(h, "LINK_TRACE");
    h.plaquette = number<double>(h, "PLAQUETTE");
    return h;
  }

  /// What follows the header, all of it.
  void expect_length(const Header& h) {
    const auto begin = static_cast<std::int64_t>(in_.tellg());
    in_.seekg(0, std::ios::end);
    const auto there = static_cast<std::int64_t>(in_.tellg()) - begin;
    in_.seekg(begin);
    if (there != h.data_bytes())
      fail(message("it has ", there, " bytes of links, and ", h.data_bytes(), " belong to ", h.lattice.nx, " x ",
                   h.lattice.ny, " x ", h.lattice.nz, " x ", h.lattice.nt, " sites"));
  }

  void read(std::vector<unsigned char>& bytes) {
    in_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!in_) fail_at_end("it ends early");
  }

 private:
  [[noreturn]] void fail_at_end(const char* reason) const { fail(in_.bad() ? "it fails while it is read" : reason); }
  static std::string trimmed(const std::string& text) {
    const auto begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
    return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
  }
  std::string line() {
    std::string text;
    constexpr std::size_t longest = 10000;
    for (int c = in_.get(); c != '\n'; c = in_.get()) {
      if (c == std::char_traits<char>::eof()) fail_at_end("it ends within the header");
      if (text.size() == longest) fail("a line of its header has no end");
      text.push_back(static_cast<char>(c));
    }
    if (text.ends_with('\r')) text.pop_back();
    return text;
  }
  std::string value(const Header& h, const std::string& name) const {
    const auto found = h.values.find(name);
    if (found == h.values.end()) fail(message("its header has no ", name));
    return found->second;
  }
  template <class N>
  N number(const Header& h, const std::string& name) const {
    const std::string text = value(h, name);
    N result{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || end != text.data() + text.size())
      fail(message(name, " '", shown(text), "' is no number"));
    return result;
  }
  template <class N>
  N one_of(const Header& h, const std::string& name, const std::vector<std::pair<std::string, N>>& known) const {
    const std::string text = value(h, name);
    std::string names;
    for (const auto& [known_name, result] : known) {
      if (known_name == text) return result;
      names += (names.empty() ? "" : ", ") + known_name;
    }
    fail(message(name, " '", shown(text), "' is not known; ", names, " are"));
  }

  std::string path_;
  std::ifstream in_;
};

template <class Word>
Word word(const unsigned char* bytes, bool big_endian) {
  Word w = 0;
  for (std::size_t k = 0; k < sizeof(Word); ++k)
    w |= static_cast<Word>(static_cast<Word>(bytes[k]) << (8 * (big_endian ? sizeof(Word) - 1 - k : k)));
  return w;
}

std::uint32_t halves(std::uint64_t w) { return static_cast<std::uint32_t>(w) + static_cast<std::uint32_t>(w >> 32); }

}  // namespace

Lattice nersc_lattice(const std::string& path) {
  Reader reader(path);
  const Header h = reader.header();
  reader.expect_length(h);
  return h.lattice;
}

GaugeField read_nersc(const std::string& path) {
  Reader reader(path);
  const Header h = reader.header();
  reader.expect_length(h);
  GaugeField field{h.lattice, std::vector<Matrix3>(static_cast<std::size_t>(4 * h.lattice.volume()))};
  std::uint32_t checksum = 0;
  std::vector<unsigned char> bytes(static_cast<std::size_t>(6 * h.rows) * h.size);
  for (auto& u : field.links) {
    reader.read(bytes);
    double numbers[18];
    for (std::size_t k = 0; k < bytes.size() / h.size; ++k) {
      const unsigned char* at = bytes.data() + k * h.size;
      if (h.size == 4) {
        const auto w = word<std::uint32_t>(at, h.big_endian);
        checksum += w;
        numbers[k] = static_cast<double>(std::bit_cast<float>(w));
      } else {
        const auto w = word<std::uint64_t>(at, h.big_endian);
        checksum += halves(w);
        numbers[k] = std::bit_cast<double>(w);
      }
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(3 * h.rows); ++k)
      u.a[k] = {numbers[2 * k], numbers[2 * k + 1]};
    if (h.rows == 2) complete(u);
  }
  const auto hexadecimal = [](std::uint32_t n) {
    std::ostringstream out;
    out << std::hex << n;
    return out.str();
  };
  if (checksum != h.checksum)
    reader.fail(message("its checksum is ", hexadecimal(checksum), ", and ", hexadecimal(h.checksum),
                        " stands in the header: it is damaged"));
  try {
    field.expect_su3(h.size == 4 ? 1e-4 : 1e-8);
  } catch (const UsageError& error) {
    reader.fail(error.what());
  }
  if (h.size == 4)
    for (auto& u : field.links) u = projected(u);
  const std::pair<const char*, std::pair<double, double>> means[] = {{"plaquette", {plaquette(field), h.plaquette}},
                                                                     {"link trace", {link_trace(field), h.link_trace}}};
  constexpr double allowed = 1e-5;
  for (const auto& [name, mean] : means)
    if (!(std::abs(mean.first - mean.second) <= allowed))
      reader.fail(message("its ", name, " is ", mean.first, ", and ", mean.second,
                          " stands in the header: links are stored in another order, or it is damaged"));
  return field;
}

void write_nersc(const std::string& path, const GaugeField& field) {
  std::uint32_t checksum = 0;
  for (const auto& u : field.links)
    for (const auto& entry : u.a)
      checksum +=
          halves(std::bit_cast<std::uint64_t>(entry.real())) + halves(std::bit_cast<std::uint64_t>(entry.imag()));
  std::ostringstream header;
  header << "BEGIN_HEADER\nHDR_VERSION = 1.0\nDATATYPE = 4D_SU3_GAUGE_3x3\nSTORAGE_FORMAT = 1.0\n";
  for (std::size_t mu = 0; mu < 4; ++mu)
    header << "DIMENSION_" << mu + 1 << " = " << field.lattice.extents()[mu] << '\n';
  header << std::setprecision(15) << "LINK_TRACE = " << link_trace(field) << "\nPLAQUETTE = " << plaquette(field)
         << '\n';
  for (int mu = 1; mu <= 4; ++mu) header << "BOUNDARY_" << mu << " = PERIODIC\n";
  header << "CHECKSUM = " << std::hex << checksum << "\nFLOATING_POINT = IEEE64BIG\nEND_HEADER\n";
  write_whole(path, [&](const std::string& temporary) -> std::string {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(temporary.c_str(), "wb"), &std::fclose);
    if (!file) return std::strerror(errno);
    const std::string text = header.str();
    bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    std::array<unsigned char, 144> bytes{};
    for (const auto& u : field.links) {
      for (std::size_t k = 0; k < 18; ++k) {
        const auto w = std::bit_cast<std::uint64_t>(k % 2 == 0 ? u.a[k / 2].real() : u.a[k / 2].imag());
        for (std::size_t n = 0; n < 8; ++n) bytes[8 * k + n] = static_cast<unsigned char>(w >> (56 - 8 * n));
      }
      written = written && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
    }
    written = std::fclose(file.release()) == 0 && written;
    return written ? "" : std::strerror(errno);
  });
}

}  // namespace stratum::staggered
