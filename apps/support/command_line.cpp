#include "command_line.hpp"

#include <numeric>

#include <boost/program_options.hpp>

#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/core/io/text_file.hpp>

namespace stratum::apps {

namespace {

namespace po = boost::program_options;

constexpr std::string_view help_letter = "-h";
constexpr std::size_t longest_name = 40;  // longer ones are not compared to the end
constexpr std::pair<const char*, const char*> names_elsewhere[] = {{"f", "rhs"},
                                                                   {"tol", "rtol"},
                                                                   {"tolerance", "rtol"},
                                                                   {"eps", "rtol"},
                                                                   {"maxiter", "max-iterations"},
                                                                   {"max-iter", "max-iterations"},
                                                                   {"maxit", "max-iterations"}};

/// Names of options before this version.
constexpr std::pair<const char*, const char*> renamed_options[] = {{"baseline", "reference-norm"},
                                                                   {"cut", "partition"},
                                                                   {"cut-lines", "distributed-smoothing"},
                                                                   {"natural", "neumann"},
                                                                   {"steps", "sweeps"}};

/// Names of values before this version.
constexpr std::pair<const char*, const char*> renamed_values[] = {
    {"float-cg", "residual-replacement"}, {"two-float", "double-single"}, {"network", "conductance"}};

/// How many letters to insert, delete or replace until one name is the other.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j)
      diagonal =
          std::exchange(row[j + 1], std::min({diagonal + (from[i] == to[j] ? 0 : 1), row[j] + 1, row[j + 1] + 1}));
  }
  return row.back();
}

/// As Boost is told of them: switches, those that undo them, and options with one value.
po::options_description described(const std::vector<OptionGroup>& groups) {
  po::options_description all;
  for (const auto& group : groups)
    for (const auto& option : group.options) {
      if (!option.is_switch()) {
        all.add_options()(option.name.c_str(), po::value<std::string>());
        continue;
      }
      all.add_options()(option.name.c_str(), "");
      if (&group != &groups.back()) all.add_options()(("no-" + option.name).c_str(), "");
    }
  return all;
}

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Of a word as Boost complains of it.
std::string name_in(const std::string& word) {
  const auto begin = std::min(word.find_first_not_of('-'), word.size());
  return word.substr(begin, word.find('=') - begin);
}

}  // namespace

std::optional<double> number_of(std::string_view text) {
  const auto plain = plain_number(text);
  return plain ? plain : value_of_expression(std::string(text));
}

std::size_t index_of_name(const std::string& option, const std::string& name, const std::vector<std::string>& known) {
  std::string names;
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (known[k] == name) return k;
    names += (names.empty() ? "" : ", ") + known[k];
  }
  for (const auto& [before, now] : renamed_values)
    expects(name != before || std::find(known.begin(), known.end(), now) == known.end(), option, ": unknown name '",
            before, "': it is called ", now, " now");
  throw UsageError(message(option, ": unknown name '", shown(name), "'; known are ", names));
}

double parse_number(const std::string& option, std::string_view text, const Range& range) {
  const auto value = number_of(text);
  expects(value.has_value(), option, ": '", shown(text), "' is not ", range.text(),
          expressions_available() ? ", nor an expression of numbers, pi and e" : "");
  expects(std::isfinite(*value) && range.contains(*value), option, ": '", shown(text), "' is ",
          plain_number(text) ? std::string() : message(*value, ", "), "not ", range.text());
  return *value;
}

CommandLine::CommandLine(std::vector<OptionGroup> settings, OptionGroup actions) : groups_(std::move(settings)) {
  groups_.push_back(std::move(actions));
}

void CommandLine::parse(int argc, char** argv) {
  std::vector<std::string> words;
  for (int k = 1; k < argc; ++k) {
    words.emplace_back(argv[k] == help_letter ? "--help" : argv[k]);
    if (words.back().starts_with("--=")) (void)find("");  // to Boost a value
  }
  const auto lacks_value = [](const Option& option) {
    throw UsageError(message("--", option.name, " lacks its value: --", option.name, " ", option.value_name, " or --",
                             option.name, "=", option.value_name));
  };
  try {
    const auto all = described(groups_);
    using namespace po::command_line_style;
    const auto found =
        po::command_line_parser(words).options(all).style(allow_long | long_allow_adjacent | long_allow_next).run();
    for (const auto& part : found.options) {
      expects(part.position_key < 0, "unexpected argument '", shown(part.value.empty() ? "" : part.value[0]),
              "'; options begin with --");
      const Option* const undone = undone_by(part.string_key);
      const Option& option = undone != nullptr ? *undone : find(part.string_key);
      // Boost takes any word that is no option of ours for a value.
      const bool by_itself = part.original_tokens.size() > 1;
      if (!option.is_switch() && by_itself && part.value[0].starts_with("--")) lacks_value(option);
      add(given_, option.name, !option.is_switch() ? part.value[0] : undone != nullptr ? "false" : "true");
    }
  } catch (const po::invalid_command_line_syntax& error) {
    const Option* const undone = undone_by(name_in(error.get_option_name()));
    const Option& option = undone != nullptr ? *undone : find(name_in(error.get_option_name()));
    if (!option.is_switch()) lacks_value(option);
    throw UsageError(message("--", option.name, " takes no value, '", shown(error.get_option_name()), "' has one"));
  } catch (const po::unknown_option& error) {
    (void)find(name_in(error.get_option_name()));  // throws
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  if (has("config")) given_.merge(read(text("config")));
}

void CommandLine::add(Values& values, const std::string& name, std::string value) const {
  auto& all_of_it = values[name];
  expects(all_of_it.empty() || find(name).repeatable, "--", name, " is given twice");
  all_of_it.push_back(std::move(value));
}

const Option* CommandLine::undone_by(const std::string& name) const {
  if (!name.starts_with("no-")) return nullptr;
  for (const auto& group : std::span(groups_).first(groups_.size() - 1))
    for (const auto& option : group.options)
      if (option.is_switch() && name == "no-" + option.name) return &option;
  return nullptr;
}

const Option& CommandLine::find(const std::string& name) const {
  for (const auto& [before, now] : renamed_options)
    if (name == before && knows(now) && !knows(before))
      throw UsageError(message("unknown option '--", before, "': it is called --", now, " now"));
  // What other solvers call it is nearer than what is spelled alike.
  for (const auto& [theirs, ours] : names_elsewhere)
    if (name == theirs && knows(ours) && !knows(theirs))
      throw UsageError(message("unknown option '--", theirs, "'; did you mean --", ours, "? --help lists the options"));
  std::string closest = "; ";
  std::size_t distance = std::min<std::size_t>(3, name.size());
  for (const auto& group : groups_)
    for (const auto& option : group.options) {
      const auto this_far = edits(std::string_view(name).substr(0, longest_name), option.name);
      if (this_far == 0) return option;
      if (this_far >= distance) continue;
      distance = this_far;
      closest = "; did you mean --" + option.name + "? ";
    }
  throw UsageError(message("unknown option '--", shown(name), "'", closest, "--help lists the options"));
}

/// Lines of name=value; # begins a comment.
CommandLine::Values CommandLine::read(const std::string& path) const {
  TextFile file(path);
  Values values;
  const po::options_description anything;
  try {
    while (file.next()) {
      std::istringstream line{std::string(file.line())};
      po::parsed_options found(&anything);
      try {
        found = po::parse_config_file(line, anything, true);
      } catch (const po::error&) {
      }
      const auto content = file.line().substr(0, file.line().find('#'));
      expects(!found.options.empty() || content.find_first_not_of(" \t\r") == std::string::npos, "'", shown(content),
              "' is not name=value; --print-config shows a configuration");
      for (const auto& part : found.options) {
        const Option& option = find(part.string_key);
        for (const auto& action : groups_.back().options)
          expects(&action != &option, "--", option.name, " belongs on the command line");
        const std::string& value = part.value[0];
        expects(!option.is_switch() || value == "true" || value == "false", "--", option.name, ": '", shown(value),
                "' is not true or false");
        add(values, option.name, value);
      }
    }
  } catch (const UsageError& error) {
    throw UsageError(message("configuration '", path, "', line ", file.number(), ": ", error.what()));
  }
  return values;
}

}  // namespace stratum::apps
