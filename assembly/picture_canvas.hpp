#pragma once

// What pictures are drawn on, with VTK and without a display: pixels, lines and text, colours of numbers with their legend.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <vtkDoubleArray.h>
#include <vtkFreeTypeTools.h>
#include <vtkImageData.h>
#include <vtkImageMapToColors.h>
#include <vtkLookupTable.h>
#include <vtkNew.h>
#include <vtkPNGWriter.h>
#include <vtkPointData.h>
#include <vtkStdString.h>
#include <vtkTextProperty.h>
#include <vtkUnsignedCharArray.h>

namespace stratum::detail {

using Colour = std::array<unsigned char, 3>;
inline constexpr Colour ink{40, 40, 40}, mesh_line{255, 255, 255}, frame{200, 40, 40};
inline constexpr int tick = 5;  // pixels

/// Row 0 is the lowest, as VTK has it.
class Canvas {
 public:
  Canvas(int width, int height) {
    image_->SetDimensions(width, height, 1);
    image_->AllocateScalars(VTK_UNSIGNED_CHAR, 3);
    std::fill_n(pixel(0, 0), 3 * image_->GetNumberOfPoints(), static_cast<unsigned char>(255));
  }

  /// Colour over what is there, as far as `opacity` says.
  void blend(int x, int y, const Colour& colour, double opacity = 1) {
    const int* size = image_->GetDimensions();
    if (x < 0 || y < 0 || x >= size[0] || y >= size[1]) return;
    unsigned char* const to = pixel(x, y);
    for (std::size_t k = 0; k < 3; ++k)
      to[k] = static_cast<unsigned char>(std::lround((1 - opacity) * to[k] + opacity * colour[k]));
  }
  void horizontal(int x0, int x1, int y, const Colour& colour, double opacity = 1) {
    for (int x = x0; x <= x1; ++x) blend(x, y, colour, opacity);
  }
  void vertical(int x, int y0, int y1, const Colour& colour, double opacity = 1) {
    for (int y = y0; y <= y1; ++y) blend(x, y, colour, opacity);
  }
  void box(int x0, int y0, int x1, int y1, const Colour& colour) {
    horizontal(x0, x1, y0, colour);
    horizontal(x0, x1, y1, colour);
    vertical(x0, y0, y1, colour);
    vertical(x1, y0, y1, colour);
  }

  enum class Anchor : std::uint8_t { left, centre, right };
  /// Text on a line of height 0 .. 1 about y; returns how wide it is.
  int text(int x, int y, const std::string& words, Anchor anchor = Anchor::left, int points = 15) {
    constexpr int dots_per_inch = 72;
    vtkNew<vtkTextProperty> font;
    font->SetFontFamilyToArial();
    font->SetFontSize(points);
    font->SetColor(ink[0] / 255.0, ink[1] / 255.0, ink[2] / 255.0);
    vtkNew<vtkImageData> drawn;
    std::array<int, 2> size{};
    if (!vtkFreeTypeTools::GetInstance()->RenderString(font.Get(), vtkStdString(words), dots_per_inch, drawn.Get(),
                                                       size.data()))
      return 0;
    const int left = anchor == Anchor::left ? x : anchor == Anchor::right ? x - size[0] : x - size[0] / 2;
    const int bottom = y - size[1] / 2;
    const int* extent = drawn->GetExtent();
    for (int j = 0; j < size[1]; ++j)
      for (int i = 0; i < size[0]; ++i) {
        const auto* rgba = static_cast<unsigned char*>(drawn->GetScalarPointer(extent[0] + i, extent[2] + j, 0));
        blend(left + i, bottom + j, {rgba[0], rgba[1], rgba[2]}, rgba[3] / 255.0);
      }
    return size[0];
  }

  [[nodiscard]] std::string png() {
    vtkNew<vtkPNGWriter> writer;
    writer->SetInputData(image_);
    writer->WriteToMemoryOn();
    writer->Write();
    vtkUnsignedCharArray* const bytes = writer->GetResult();
    return {reinterpret_cast<const char*>(bytes->GetPointer(0)), static_cast<std::size_t>(bytes->GetNumberOfValues())};
  }

 private:
  unsigned char* pixel(int x, int y) { return static_cast<unsigned char*>(image_->GetScalarPointer(x, y, 0)); }
  vtkNew<vtkImageData> image_;
};

/// Perceptually even, dark blue to yellow: viridis, by S. van der Walt and N. Smith.
inline vtkNew<vtkLookupTable> colours(const std::pair<double, double>& range) {
  constexpr std::array<Colour, 9> anchors{{{68, 1, 84},
                                           {71, 44, 122},
                                           {59, 81, 139},
                                           {44, 113, 142},
                                           {33, 144, 141},
                                           {39, 173, 129},
                                           {92, 200, 99},
                                           {170, 220, 50},
                                           {253, 231, 37}}};
  constexpr int count = 256;
  vtkNew<vtkLookupTable> table;
  table->SetNumberOfTableValues(count);
  const auto [low, high] = range;
  table->SetTableRange(low, high > low ? high : low + 1);
  for (int k = 0; k < count; ++k) {
    const double at = static_cast<double>(k) / (count - 1) * (anchors.size() - 1);
    const auto first = std::min(static_cast<std::size_t>(at), anchors.size() - 2);
    const double t = at - static_cast<double>(first);
    const auto mix = [&](std::size_t c) { return ((1 - t) * anchors[first][c] + t * anchors[first + 1][c]) / 255; };
    table->SetTableValue(k, mix(0), mix(1), mix(2), 1);
  }
  table->SetNanColor(1, 1, 1, 1);
  return table;
}

inline void paint(Canvas& canvas, int left, int bottom, int width, int height, std::vector<double>& values,
                  vtkLookupTable* table) {
  vtkNew<vtkDoubleArray> numbers;
  numbers->SetArray(values.data(), static_cast<vtkIdType>(values.size()), 1);
  vtkNew<vtkImageData> image;
  image->SetDimensions(width, height, 1);
  image->GetPointData()->SetScalars(numbers);
  vtkNew<vtkImageMapToColors> map;
  map->SetLookupTable(table);
  map->SetOutputFormatToRGB();
  map->SetInputData(image);
  map->Update();
  for (int j = 0; j < height; ++j)
    for (int i = 0; i < width; ++i) {
      const auto* rgb = static_cast<unsigned char*>(map->GetOutput()->GetScalarPointer(i, j, 0));
      canvas.blend(left + i, bottom + j, {rgb[0], rgb[1], rgb[2]});
    }
}

inline std::string short_number(double value, int digits = 4) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return text.data();
}

/// A coordinate of a window; where that is small, its distance from the one end.
inline std::string coordinate(double x, double first, double last) {
  constexpr double small = 1e-3, rounding = 1e-12;
  if (std::abs(x) < rounding * std::abs(last - first)) return "0";
  const double end = std::max(std::abs(first), std::abs(last));
  if (std::abs(last - first) >= small * end) return short_number(x);
  const double from = std::abs(last) == end ? last : first;
  if (x == from) return short_number(from, 6);
  return short_number(from, 6) + (x < from ? " - " : " + ") + short_number(std::abs(x - from), 3);
}

inline constexpr int label_room = 96, title_room = 48, axis_room = 40, legend_gap = 18, legend_width = 22;
inline constexpr int panel_room = legend_gap + legend_width + label_room;  // to the right of it

/// The smallest and the largest of numbers that are none beyond the mesh.
inline std::pair<double, double> range_of(std::span<const double> values) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double value : values)
    if (!std::isnan(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  return low <= high ? std::pair{low, high} : std::pair{0.0, 0.0};
}

/// The colours of a range and their numbers, from (left, bottom) up.
inline void legend(Canvas& canvas, int left, int bottom, int height, const std::pair<double, double>& range) {
  const auto [low, high] = range;
  const int right = left + legend_width;
  std::vector<double> scale;
  for (int j = 0; j < height; ++j) scale.insert(scale.end(), legend_width, low + (high - low) * (j + 0.5) / height);
  paint(canvas, left, bottom, legend_width, height, scale, colours(range));
  canvas.box(left - 1, bottom - 1, right, bottom + height, ink);
  const int ticks = high > low ? 4 : 0;
  for (int k = 0; k <= ticks; ++k) {
    const int y = bottom + (ticks == 0 ? height / 2 : k * (height - 1) / ticks);
    canvas.horizontal(right, right + tick, y, ink);
    const double value = k == ticks ? high : low + (high - low) * k / std::max(ticks, 1);
    canvas.text(right + 2 * tick, y, short_number(std::abs(value) < 1e-12 * (high - low) ? 0 : value));
  }
}

}  // namespace stratum::detail
