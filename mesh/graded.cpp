#include <stratum/mesh/graded.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/text_file.hpp>
#include <stratum/core/io/whole_file.hpp>

namespace stratum {

namespace {

/// Widths proportional to weight(k, reach), k counted from the thin end, that sum to the length.
template <class Weight>
Axis graded(double length, int cells, GradedSide side, const Weight& weight) {
  expects(std::isfinite(length) && length > 0, "a side of the domain must be positive and finite, not ", length);
  expects(cells >= 1 && cells <= max_cells, "a direction must have 1 to ", max_cells, " cells, not ", cells);
  const double reach = side == GradedSide::both ? cells / 2.0 : cells;
  std::vector<double> widths(static_cast<std::size_t>(cells));
  for (int i = 0; i < cells; ++i) {
    const int from_last = cells - 1 - i;
    const int k = side == GradedSide::first ? i : side == GradedSide::last ? from_last : std::min(i, from_last);
    widths[static_cast<std::size_t>(i)] = weight(k, reach);
  }
  const auto sum = static_cast<double>(std::accumulate(widths.begin(), widths.end(), 0.0L));
  for (double& w : widths) w = length * (w / sum);
  return {std::move(widths), length};
}

Axis geometric_by_logarithm(double length, int cells, double log_ratio, GradedSide side) {
  // Relative to the thickest interval, so that nothing overflows.
  return graded(length, cells, side,
                [=](int k, double reach) { return std::exp(log_ratio * (k - std::ceil(reach) + 1)); });
}

/// 1 + e^g + ... + e^(g (m - 1)) = (e^(g m) - 1) / (e^g - 1), which overflows only where its last term does.
double geometric_sum(double g, int m) {
  return g == 0 ? m : std::exp(g * (m - 1)) * (std::expm1(-g * m) / std::expm1(-g));
}

}  // namespace

std::string_view to_string(GradedSide side) {
  return side == GradedSide::first ? "first" : side == GradedSide::last ? "last" : "both";
}

Axis uniform(double length, int cells) {
  return graded(length, cells, GradedSide::both, [](int, double) { return 1.0; });
}

Axis geometric(double length, int cells, double ratio, GradedSide side) {
  expects(std::isfinite(ratio) && ratio >= 1, "the ratio of neighbouring widths must be finite and at least 1, not ",
          ratio);
  return geometric_by_logarithm(length, cells, std::log(ratio), side);
}

Axis geometric_with_smallest(double length, int cells, double smallest, GradedSide side) {
  Axis even = uniform(length, cells);  // checks length and cells
  const double equal = even.widths()[0];
  expects(smallest > 0 && smallest <= equal * (1 + 1e-12) && std::isfinite(length / smallest), "the smallest of ",
          cells, " widths in ", length, " must be positive and at most ", equal, ", that of equal ones, not ",
          smallest);
  const int longer = side == GradedSide::both ? (cells + 1) / 2 : cells;
  const int shorter = side == GradedSide::both ? cells / 2 : 0;
  if (smallest >= equal) return even;
  expects(longer > 1, cells, " cells thin at ", to_string(side), cells == 1 ? " end have" : " ends have",
          " no other smallest width than ", equal, ", not ", smallest);
  // The sum over the thinnest width grows with the logarithm g of the ratio, and is at least e^(g (longer - 1)).
  double low = 0, high = std::log(length / smallest) / (longer - 1);
  for (double g = high / 2; g > low && g < high; g = low + (high - low) / 2)
    (geometric_sum(g, longer) + geometric_sum(g, shorter) < length / smallest ? low : high) = g;
  return geometric_by_logarithm(length, cells, high, side);
}

Axis hyperbolic_tangent(double length, int cells, double stretch, GradedSide side) {
  expects(stretch > 0 && stretch <= 300, "the stretch of tanh must lie in (0, 300], not ", stretch);
  return graded(length, cells, side, [=](int k, double reach) {
    return 1 / (std::cosh(stretch * ((reach - k) / reach)) * std::cosh(stretch * ((reach - k - 1) / reach)));
  });
}

Axis cosine(double length, int cells, GradedSide side) {
  return graded(length, cells, side,
                [](int k, double reach) { return std::sin(std::numbers::pi * ((2 * k + 1) / (4 * reach))); });
}

Axis shishkin(double length, int cells, double transition, GradedSide side) {
  const int ends = side == GradedSide::both ? 2 : 1;
  expects(transition > 0 && transition <= length / (2 * ends), "shishkin:", transition, ",", to_string(side),
          ": the transition point must lie in (0, ", length / (2 * ends), "], because thin cells take at most half of ",
          length);
  expects(cells > ends, "a Shishkin line thin at ", to_string(side), " needs at least ", ends + 1, " cells, not ",
          cells);
  const int thin = (cells + 2 * ends - 1) / (2 * ends);
  const double inside = transition / thin, outside = (length - ends * transition) / (cells - ends * thin);
  return graded(length, cells, side, [=](int k, double) { return k < thin ? inside : outside; });
}

Axis halved(const Axis& line, int times) {
  expects(times >= 0 && times <= 22 && std::int64_t{line.size()} << times <= max_cells, line.size(), " cells halved ",
          times, " times are more than ", max_cells);
  std::vector<double> widths;
  widths.reserve(line.widths().size() << times);
  for (const double w : line.widths()) widths.insert(widths.end(), std::size_t{1} << times, std::ldexp(w, -times));
  return Axis(std::move(widths), line.length()).starting_at(line.origin());
}

// --- text ----------------------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t longest_number = 64;

/// A finite number that is the whole text.
std::optional<double> number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Calls take(value, where) for every number; `where` says name, line and text, for messages.
template <class Take>
void read_numbers(std::istream& in, const std::string& name, const Take& take) {
  using Traits = std::istream::traits_type;
  int line = 1;
  int count = 0;
  std::string word;
  const auto where = [&] { return message("'", name, "', line ", line, ": '", shown(word, 24), "'"); };
  const auto refuse = [&](const char* what) {
    const char* const mark = line == 1 && count == 0 ? byte_order_mark(word) : nullptr;
    if (mark != nullptr) throw FileError(message("cannot read '", name, "': ", mark));
    throw UsageError(where() + what);
  };
  const auto finish = [&] {
    if (word.empty()) return;
    const auto value = number(word);
    if (!value) refuse(" is not a finite number");
    if (++count > max_cells + 1)
      throw UsageError(where() + message(" is one number too many: at most ", max_cells, " cells"));
    take(*value, where);
    word.clear();
  };
  bool comment = false;
  for (int c = in.get(); c != Traits::eof(); c = in.get()) {
    if (c == '\n') {
      finish();
      comment = false;
      ++line;
    } else if (comment) {
      continue;
    } else if (c == '#') {
      finish();
      comment = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == ',') {
      finish();
    } else {
      word += Traits::to_char_type(c);
      if (word.size() > longest_number) refuse(" is not a number");
    }
  }
  if (in.bad()) throw FileError(message("cannot read '", name, "'"));
  finish();
}

void check_width(double width, const auto& where, const char* what) {
  constexpr double smallest = std::numeric_limits<double>::min();
  if (!(width >= smallest)) throw UsageError(where() + message(what, "; widths must be at least ", smallest));
}

void check_count(std::size_t cells, const std::string& name) {
  expects(cells > 0, "'", name, "' holds no intervals");
  expects(cells <= std::size_t{max_cells}, "'", name, "' holds more than ", max_cells, " intervals");
}

}  // namespace

Axis read_coordinates(std::istream& in, const std::string& name) {
  std::vector<double> coordinates;
  read_numbers(in, name, [&](double x, const auto& where) {
    if (!coordinates.empty()) {
      const double previous = coordinates.back();
      if (!(x > previous))
        throw UsageError(where() + message(" does not lie beyond the coordinate before it, ", previous));
      check_width(x - previous, where, " lies too close to the coordinate before it");
    }
    coordinates.push_back(x);
  });
  expects(!coordinates.empty(), "'", name, "' holds no coordinates");
  check_count(coordinates.size() - 1, name);
  return Axis::at(std::move(coordinates));
}

Axis read_widths(std::istream& in, const std::string& name) {
  std::vector<double> widths;
  read_numbers(in, name, [&](double width, const auto& where) {
    check_width(width, where, " is no width");
    widths.push_back(width);
  });
  check_count(widths.size(), name);
  expects(std::isfinite(std::accumulate(widths.begin(), widths.end(), 0.0)), "'", name,
          "': the widths sum to more than double holds");
  return Axis(std::move(widths));
}

Grading parse_grading(std::string_view text) {
  using Kind = Grading::Kind;
  Grading grading;
  const auto refuse = [text](const std::string& why) {
    return UsageError(
        message("'", shown(text), "': ", why,
                "; known are uniform, geometric:RATIO,SIDE, geometric:h=SMALLEST,SIDE, tanh:STRETCH,SIDE, "
                "cosine[,SIDE], shishkin:TRANSITION,SIDE, file:PATH and widths:PATH, SIDE being first, last or "
                "both"));
  };
  for (const auto& [prefix, kind] : {std::pair{"file:", Kind::coordinates}, {"widths:", Kind::widths}}) {
    const std::string_view name(prefix);
    if (!text.starts_with(name)) continue;
    grading.kind = kind;
    grading.path = text.substr(name.size());
    if (grading.path.empty()) throw refuse("the name of the file is missing");
    return grading;
  }

  const auto comma = text.find(',');
  std::string_view shape = text.substr(0, comma);
  const auto colon = shape.find(':');
  const std::string_view name = shape.substr(0, colon);
  const bool has_value = colon != std::string_view::npos, has_side = comma != std::string_view::npos;
  std::string_view value = has_value ? shape.substr(colon + 1) : std::string_view();

  constexpr std::pair<std::string_view, Kind> names[] = {{"uniform", Kind::uniform},
                                                         {"geometric", Kind::geometric},
                                                         {"tanh", Kind::tanh},
                                                         {"cosine", Kind::cosine},
                                                         {"shishkin", Kind::shishkin}};
  const auto* const found =
      std::find_if(std::begin(names), std::end(names), [&](const auto& n) { return n.first == name; });
  if (found == std::end(names)) throw refuse("unknown grading");
  grading.kind = found->second;
  if (grading.kind == Kind::geometric && value.starts_with("h=")) {
    grading.kind = Kind::smallest;
    value.remove_prefix(2);
  }

  const bool takes_value = grading.kind != Kind::uniform && grading.kind != Kind::cosine;
  if (takes_value != has_value) throw refuse(message(name, takes_value ? " needs a number" : " takes no number"));
  if (takes_value) {
    const auto parsed = number(value);
    const double low = grading.kind == Kind::geometric ? 1 : 0;
    if (!parsed || !(low == 1 ? *parsed >= 1 : *parsed > 0))
      throw refuse(message("'", shown(value), "' is not a number ", low == 1 ? "from 1 on" : "above 0"));
    if (grading.kind == Kind::tanh && *parsed > 300) throw refuse("the stretch must be at most 300");
    grading.value = *parsed;
  }
  if (has_side) {
    const std::string_view side = text.substr(comma + 1);
    if (grading.kind == Kind::uniform) throw refuse("uniform has no thin side");
    const auto sides = {GradedSide::first, GradedSide::last, GradedSide::both};
    const auto* const named =
        std::find_if(sides.begin(), sides.end(), [&](GradedSide s) { return to_string(s) == side; });
    if (named == sides.end()) throw refuse(message("unknown side '", shown(side), "'"));
    grading.side = *named;
  } else if (takes_value) {
    throw refuse("say at which side the cells are thin");
  }
  return grading;
}

Axis read_line(const Grading& grading) {
  expects(grading.from_file(), "this direction is not read from a file");
  // Whole: a file that fails while it is read would look like one with fewer numbers.
  std::istringstream file(detail::whole_file(
      grading.path, [](std::string_view begin) { return begin.find('\0') == std::string_view::npos; }));
  return grading.kind == Grading::Kind::widths ? read_widths(file, grading.path) : read_coordinates(file, grading.path);
}

Axis make_line(const Grading& grading, double length, int cells) {
  using Kind = Grading::Kind;
  switch (grading.kind) {
    case Kind::uniform: return uniform(length, cells);
    case Kind::geometric: return geometric(length, cells, grading.value, grading.side);
    case Kind::smallest: return geometric_with_smallest(length, cells, grading.value, grading.side);
    case Kind::tanh: return hyperbolic_tangent(length, cells, grading.value, grading.side);
    case Kind::cosine: return cosine(length, cells, grading.side);
    case Kind::shishkin: return shishkin(length, cells, grading.value, grading.side);
    case Kind::coordinates:
    case Kind::widths: break;
  }
  return read_line(grading);
}

}  // namespace stratum
