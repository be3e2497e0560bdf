#pragma once

// Tables of measured beside published values, for reading or for plotting.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <stratum/core/errors.hpp>

namespace stratum::apps {

/// Rows as they come, aligned for reading or separated by commas.
class Table {
 public:
  Table(bool csv, const std::string& title, const std::vector<std::string>& header, std::size_t width = 6) : csv_(csv) {
    std::printf("%s%s\n", csv_ ? "# " : "\n", title.c_str());
    for (const auto& name : header)
      widths_.push_back(static_cast<int>(std::max(name.size(), widths_.empty() ? 0 : width)));
    row(header);
  }
  void row(const std::vector<std::string>& cells) const {
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (csv_)
        std::printf("%s%s", k == 0 ? "" : ",", cells[k].c_str());
      else
        std::printf("%s%*s", k == 0 ? "" : "  ", k == 0 ? -widths_[k] : widths_[k],
                    cells[k].empty() ? "-" : cells[k].c_str());
    }
    std::printf("\n");
    (void)std::fflush(stdout);
  }

 private:
  bool csv_;
  std::vector<int> widths_;
};

/// a / b to two digits behind the point.
inline std::string ratio(double a, double b) { return message(std::round(100 * a / b) / 100); }

/// Empty for zero, which stands for not published.
inline std::string scientific(double value, int digits = 7) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.*e", digits, value);
  return value == 0 ? "" : text;
}

}  // namespace stratum::apps
