#pragma once

// Pictures as numbers: PNG files (RFC 2083) without interlacing, grey, colours or a palette, with 1 to 16 bits,
//
//     number of a pixel = 0 where it is black, 1 where it is white; of colours 0.299 R + 0.587 G + 0.114 B ,
//
// `width` x `height` of them, the bottom row first, x fastest. Throws FileError for a file that cannot be read,
// UsageError naming it for one that is no PNG file, ends too early, is damaged (its checksums are tested), is interlaced, or has
// transparent pixels. Source of the decompression: P. Deutsch, DEFLATE Compressed Data Format, RFC 1951.

#include <string>
#include <vector>

namespace stratum {

struct GreyPicture {
  int width = 0, height = 0;
  std::vector<double> numbers;
};

[[nodiscard]] GreyPicture read_png(const std::string& path);

}  // namespace stratum
