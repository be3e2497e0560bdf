#include <stratum/core/io/png_file.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/whole_file.hpp>

namespace stratum {

namespace {

using Bytes = std::vector<std::uint8_t>;

/// What is wrong with a file, whose name is said where it is read.
struct Damaged {
  const char* what;
};

/// Bits of a deflate stream, the lowest of each byte first.
class BitReader {
 public:
  explicit BitReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  int bit() {
    if (left_ == 0) {
      byte_ = next();
      left_ = 8;
    }
    const int bit = byte_ & 1;
    byte_ >>= 1;
    --left_;
    return bit;
  }
  int bits(int count) {
    int value = 0;
    for (int k = 0; k < count; ++k) value |= bit() << k;
    return value;
  }
  /// A byte behind the current one.
  int next() {
    if (at_ == bytes_.size()) throw Damaged{"its compressed data end too early"};
    return bytes_[at_++];
  }
  void to_byte() { left_ = 0; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  int byte_ = 0, left_ = 0;
};

/// A canonical Huffman code.
class Code {
 public:
  explicit Code(std::span<const std::uint8_t> lengths) {
    for (const int length : lengths) ++count_[static_cast<std::size_t>(length)];
    count_[0] = 0;
    int room = 1;
    std::array<int, 16> first{};
    for (std::size_t length = 1; length < count_.size(); ++length) {
      room = 2 * room - count_[length];
      if (room < 0) throw Damaged{"its compressed data have codes that overlap"};
      first[length] = first[length - 1] + count_[length - 1];
    }
    symbol_.resize(lengths.size());
    for (std::size_t k = 0; k < lengths.size(); ++k)
      if (lengths[k] > 0) symbol_[static_cast<std::size_t>(first[lengths[k]]++)] = static_cast<int>(k);
  }
  int read(BitReader& in) const {
    int code = 0, first = 0, index = 0;
    for (std::size_t length = 1; length < count_.size(); ++length) {
      code |= in.bit();
      const int count = count_[length];
      if (code - first < count) return symbol_[static_cast<std::size_t>(index + code - first)];
      index += count;
      first = 2 * (first + count);
      code *= 2;
    }
    throw Damaged{"its compressed data have a code that is none"};
  }

 private:
  std::array<int, 16> count_{};
  std::vector<int> symbol_;
};

void copy_coded(BitReader& in, const Code& lengths, const Code& distances, Bytes& out, std::size_t most) {
  static constexpr std::array<int, 29> base{3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                            31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static constexpr std::array<int, 29> more{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  static constexpr std::array<int, 30> far{1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                           33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                           1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  for (int symbol = lengths.read(in); symbol != 256; symbol = lengths.read(in)) {
    if (symbol < 256) {
      if (out.size() == most) throw Damaged{"its compressed data hold more than its pixels"};
      out.push_back(static_cast<std::uint8_t>(symbol));
      continue;
    }
    const auto k = static_cast<std::size_t>(symbol - 257);
    if (k >= base.size()) throw Damaged{"its compressed data have a length that is none"};
    const auto count = static_cast<std::size_t>(base[k] + in.bits(more[k]));
    const auto d = static_cast<std::size_t>(distances.read(in));
    if (d >= far.size()) throw Damaged{"its compressed data have a distance that is none"};
    const auto back = static_cast<std::size_t>(far[d] + in.bits(d < 2 ? 0 : static_cast<int>(d / 2) - 1));
    if (back > out.size() || out.size() + count > most) throw Damaged{"its compressed data refer to what is not there"};
    for (std::size_t n = 0; n < count; ++n) out.push_back(out[out.size() - back]);
  }
}

void copy_by_own_codes(BitReader& in, Bytes& out, std::size_t most) {
  static constexpr std::array<std::uint8_t, 19> order{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const auto literals = static_cast<std::size_t>(in.bits(5)) + 257,
             distances = static_cast<std::size_t>(in.bits(5)) + 1, own = static_cast<std::size_t>(in.bits(4)) + 4;
  std::array<std::uint8_t, 19> of_lengths{};
  for (std::size_t k = 0; k < own; ++k) of_lengths[order[k]] = static_cast<std::uint8_t>(in.bits(3));
  const Code code(of_lengths);
  Bytes lengths;
  while (lengths.size() < literals + distances) {
    const int symbol = code.read(in);
    if (symbol == 16 && lengths.empty()) throw Damaged{"its compressed data repeat what is not there"};
    const std::uint8_t value = symbol < 16    ? static_cast<std::uint8_t>(symbol)
                               : symbol == 16 ? lengths.back()
                                              : std::uint8_t{0};
    const int times = symbol < 16 ? 1 : symbol == 16 ? 3 + in.bits(2) : symbol == 17 ? 3 + in.bits(3) : 11 + in.bits(7);
    lengths.insert(lengths.end(), static_cast<std::size_t>(times), value);
  }
  if (lengths.size() != literals + distances) throw Damaged{"its compressed data have more codes than they say"};
  const std::span<const std::uint8_t> all(lengths);
  copy_coded(in, Code(all.first(literals)), Code(all.subspan(literals)), out, most);
}

/// Of exactly `size` bytes.
Bytes inflated(std::span<const std::uint8_t> zlib, std::size_t size) {
  if (zlib.size() < 6 || (zlib[0] & 15) != 8 || (zlib[0] * 256 + zlib[1]) % 31 != 0 || (zlib[1] & 32) != 0)
    throw Damaged{"its compressed data do not begin as those of zlib"};
  BitReader in(zlib.subspan(2));
  Bytes out;
  out.reserve(size);
  for (bool last = false; !last;) {
    last = in.bit() == 1;
    switch (in.bits(2)) {
      case 0: {
        in.to_byte();
        const int low = in.next(), count = low + 256 * in.next(), negated = in.next();
        if (count != (~(negated + 256 * in.next()) & 0xffff)) throw Damaged{"its compressed data have a wrong length"};
        if (out.size() + static_cast<std::size_t>(count) > size)
          throw Damaged{"its compressed data hold more than its pixels"};
        for (int k = 0; k < count; ++k) out.push_back(static_cast<std::uint8_t>(in.next()));
        break;
      }
      case 1: {
        std::array<std::uint8_t, 288> lengths{};
        for (std::size_t k = 0; k < lengths.size(); ++k) lengths[k] = k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8;
        std::array<std::uint8_t, 30> distances{};
        distances.fill(5);
        copy_coded(in, Code(lengths), Code(distances), out, size);
        break;
      }
      case 2: copy_by_own_codes(in, out, size); break;
      default: throw Damaged{"its compressed data have a block of no kind"};
    }
  }
  if (out.size() != size) throw Damaged{"its compressed data hold less than its pixels"};
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (const std::uint8_t byte : out) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  in.to_byte();
  std::uint32_t said = 0;
  for (int k = 0; k < 4; ++k) said = said * 256 + static_cast<std::uint32_t>(in.next());
  if (said != b * 65536 + a) throw Damaged{"the checksum of its pixels is another"};
  return out;
}

std::uint32_t number_at(const Bytes& file, std::size_t at) {
  return std::uint32_t{file[at]} << 24 | std::uint32_t{file[at + 1]} << 16 | std::uint32_t{file[at + 2]} << 8 |
         file[at + 3];
}

std::uint32_t crc_of(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int k = 0; k < 8; ++k) crc = (crc & 1) != 0 ? 0xedb88320 ^ (crc >> 1) : crc >> 1;
  }
  return ~crc;
}

struct Header {
  std::uint32_t width = 0, height = 0;
  int bits = 0, colour = 0;
  /// Numbers of a pixel: 1 grey or of the palette, 2 grey and opacity, 3 colours, 4 colours and opacity.
  [[nodiscard]] int channels() const { return colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1; }
  [[nodiscard]] std::size_t pixel_bits() const { return static_cast<std::size_t>(bits * channels()); }
  [[nodiscard]] std::size_t row_bytes() const { return (width * pixel_bits() + 7) / 8; }
};

/// Each row was written as differences to its neighbours.
void add_neighbours(Bytes& rows, const Header& header) {
  const std::size_t stride = header.row_bytes() + 1, step = std::max<std::size_t>(1, header.pixel_bits() / 8);
  for (std::size_t j = 0; j < header.height; ++j) {
    std::uint8_t* const row = &rows[j * stride + 1];
    const std::uint8_t* const above = j > 0 ? row - stride : nullptr;
    const int kind = row[-1];
    if (kind > 4) throw Damaged{"a row of its pixels has a filter that is none"};
    for (std::size_t k = 0; k < stride - 1; ++k) {
      const int left = k >= step ? row[k - step] : 0, up = above != nullptr ? above[k] : 0,
                corner = above != nullptr && k >= step ? above[k - step] : 0;
      const int p = left + up - corner, by_left = std::abs(p - left), by_up = std::abs(p - up),
                by_corner = std::abs(p - corner);
      const int nearest = by_left <= by_up && by_left <= by_corner ? left : by_up <= by_corner ? up : corner;
      const std::array<int, 5> guess{0, left, up, (left + up) / 2, nearest};
      row[k] = static_cast<std::uint8_t>(row[k] + guess[static_cast<std::size_t>(kind)]);
    }
  }
}

double grey(double r, double g, double b) { return r == g && g == b ? r : 0.299 * r + 0.587 * g + 0.114 * b; }

constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";
bool is_png(std::string_view begin) { return begin.starts_with(signature); }

GreyPicture decoded(const Bytes& file) {
  if (!is_png({reinterpret_cast<const char*>(file.data()), file.size()}))
    throw Damaged{"it does not begin as PNG files do"};
  Header header;
  Bytes palette, opacity, data;
  bool ended = false;
  for (std::size_t at = signature.size(); !ended;) {
    if (file.size() - at < 12) throw Damaged{"it ends too early"};
    const std::size_t length = number_at(file, at);
    if (length > file.size() - at - 12) throw Damaged{"it ends too early"};
    const std::span<const std::uint8_t> all(file);
    if (crc_of(all.subspan(at + 4, length + 4)) != number_at(file, at + 8 + length))
      throw Damaged{"a checksum of it is another"};
    const std::string_view kind(reinterpret_cast<const char*>(&file[at + 4]), 4);
    const auto chunk = all.subspan(at + 8, length);
    if (kind == "IHDR") {
      if (length != 13) throw Damaged{"its header has another length"};
      header = {number_at(file, at + 8), number_at(file, at + 12), chunk[8], chunk[9]};
      const std::string_view bits = header.colour == 0 ? "\1\2\4\10\20" : header.colour == 3 ? "\1\2\4\10" : "\10\20";
      if (bits.find(static_cast<char>(header.bits)) == std::string_view::npos ||
          (header.colour != 0 && header.colour != 2 && header.colour != 3 && header.colour != 4 && header.colour != 6))
        throw Damaged{"its header has pixels of no known kind"};
      if (chunk[12] != 0) throw Damaged{"it is interlaced; save it without interlacing"};
      constexpr std::uint32_t most = 1 << 20;
      if (header.width < 1 || header.height < 1 || header.width > most || header.height > most ||
          std::uint64_t{header.width} * header.height > (std::uint64_t{1} << 30))
        throw Damaged{"it has no pixels, or more than 2^30"};
    } else if (kind == "PLTE") {
      palette.assign(chunk.begin(), chunk.end());
    } else if (kind == "tRNS") {
      opacity.assign(chunk.begin(), chunk.end());
    } else if (kind == "IDAT") {
      data.insert(data.end(), chunk.begin(), chunk.end());
    } else if (kind == "IEND") {
      ended = true;
    }
    at += length + 12;
  }
  if (header.width == 0) throw Damaged{"it has no header"};
  // A byte of deflate holds at most 1032 of pixels: nothing larger is allocated.
  const std::size_t size = (header.row_bytes() + 1) * header.height;
  if (size / 1032 > data.size()) throw Damaged{"its compressed data hold less than its pixels"};
  Bytes rows = inflated(data, size);
  add_neighbours(rows, header);
  if (header.colour == 3 && (palette.empty() || palette.size() % 3 != 0)) throw Damaged{"it has no palette"};
  const auto solid = [](const Bytes& values) {
    return std::all_of(values.begin(), values.end(), [](std::uint8_t value) { return value == 255; });
  };
  constexpr const char* seen_through = "it has pixels that can be seen through; save it without transparency";
  if (header.colour == 3 ? !solid(opacity) : !opacity.empty()) throw Damaged{seen_through};
  GreyPicture picture{static_cast<int>(header.width), static_cast<int>(header.height), {}};
  picture.numbers.reserve(std::size_t{header.width} * header.height);
  const double largest = static_cast<double>((1 << header.bits) - 1);
  for (std::size_t j = header.height; j-- > 0;) {
    const std::uint8_t* const row = &rows[j * (header.row_bytes() + 1) + 1];
    const auto number = [&](std::size_t k) -> int {  // of all channels
      if (header.bits == 16) return 256 * row[2 * k] + row[2 * k + 1];
      if (header.bits == 8) return row[k];
      const auto per_byte = static_cast<std::size_t>(8 / header.bits);
      const int shift = 8 - header.bits * (static_cast<int>(k % per_byte) + 1);
      return (row[k / per_byte] >> shift) & ((1 << header.bits) - 1);
    };
    const auto channels = static_cast<std::size_t>(header.channels());
    for (std::size_t i = 0; i < header.width; ++i) {
      const std::size_t k = i * channels;
      const auto part = [&](std::size_t c) { return number(k + c) / largest; };
      if (header.colour == 3) {
        const auto entry = static_cast<std::size_t>(number(k)) * 3;
        if (entry + 2 >= palette.size()) throw Damaged{"a pixel of it has a colour that its palette has not"};
        picture.numbers.push_back(grey(palette[entry] / 255.0, palette[entry + 1] / 255.0, palette[entry + 2] / 255.0));
        continue;
      }
      if ((header.colour == 4 || header.colour == 6) && part(channels - 1) != 1) throw Damaged{seen_through};
      picture.numbers.push_back(channels < 3 ? part(0) : grey(part(0), part(1), part(2)));
    }
  }
  return picture;
}

}  // namespace

GreyPicture read_png(const std::string& path) {
  const std::string content = detail::whole_file(path, [](std::string_view begin) { return is_png(begin); });
  const Bytes file(content.begin(), content.end());
  try {
    return decoded(file);
  } catch (const Damaged& damaged) {
    throw UsageError(message("'", path, "' cannot be taken for a picture: ", damaged.what));
  }
}

}  // namespace stratum
