#pragma once

// TextFile: the lines of a text file of the user's, one after another, with their numbers.
//
// Throws FileError with the name of the file and the reason: the file cannot be opened, fails while it is read, begins with a
// byte-order mark, or has a line so long that it cannot be text (a device, for example). DOS line ends are accepted.

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include <stratum/core/errors.hpp>

namespace stratum {

/// Why text cannot begin like this, or null.
[[nodiscard]] inline const char* byte_order_mark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) return "it begins with a byte-order mark; save it as UTF-8 without one";
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return "it begins with the byte-order mark of UTF-16; save it as UTF-8";
  return nullptr;
}

class TextFile {
 public:
  static constexpr std::size_t longest_line = std::size_t{1} << 20;

  explicit TextFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb"), &std::fclose) {
    if (!file_) fail(std::strerror(errno));
    fill();
    if (const char* mark = byte_order_mark({block_.data(), end_})) fail(mark);
  }

  /// The next line; false at the end.
  [[nodiscard]] bool next() {
    line_.clear();
    bool any = false;
    while (begin_ < end_ || fill()) {
      any = true;
      const char* const here = block_.data() + begin_;
      const auto* const stop = static_cast<const char*>(std::memchr(here, '\n', end_ - begin_));
      const auto length = stop == nullptr ? end_ - begin_ : static_cast<std::size_t>(stop - here);
      if (line_.size() + length > longest_line)
        throw FileError(message("'", path_, "', line ", number_ + 1, " is longer than ", longest_line, " characters"));
      line_.append(here, length);
      begin_ += length + (stop == nullptr ? 0 : 1);
      ended_ = stop != nullptr;
      if (ended_) break;
    }
    if (!any) return false;
    ++number_;
    if (line_.ends_with('\r')) line_.pop_back();
    return true;
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& line() const { return line_; }
  /// From 1 on; 0 before the first.
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// Throws FileError where other lines end with a line break and the last one does not: its last number may be cut.
  void expects_whole() const {
    if (number_ > 1 && !ended_)
      fail(message("its last line, ", number_,
                   ", does not end, so that its last number may be cut off; end it with a line "
                   "break if the file is whole"));
  }
  /// Of the whole file; the largest number there is where it is not known, as of a pipe.
  [[nodiscard]] std::int64_t bytes() const {
    std::error_code error;
    const bool known = std::filesystem::is_regular_file(path_, error);
    return known ? static_cast<std::int64_t>(std::filesystem::file_size(path_, error))
                 : std::numeric_limits<std::int64_t>::max();
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw FileError(message("cannot read '", path_, "': ", reason));
  }
  bool fill() {
    begin_ = 0;
    errno = 0;
    end_ = std::fread(block_.data(), 1, block_.size(), file_.get());
    if (end_ == 0 && std::ferror(file_.get()) != 0) fail(std::strerror(errno));
    return end_ > 0;
  }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::array<char, 65536> block_;
  std::size_t begin_ = 0, end_ = 0;
  std::string line_;
  std::int64_t number_ = 0;
  bool ended_ = true;
};

}  // namespace stratum
