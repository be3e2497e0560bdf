// paper_tables: solves the problems of published papers and prints their tables and figures with the published values beside
// what is computed here. --help explains. Each study is a source of this folder, whose first lines name the paper. Two are not
// of papers: iterations where coefficients vary (coefficient_study.cpp), and errors where layers are thin
// (boundary_layer_study.cpp).

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "options.hpp"
#include "studies.hpp"
#include "support/program.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;

/// Numbers that --table or --figure may have; none where `last` is 0.
struct Numbers {
  int first = 0, last = 0;
};

struct Study {
  std::string name;
  void (*print)(const Machine&, const StudySelection&);
  Numbers tables, figures;
  int level = 8;           // the finest where none is given
  bool has_levels = true;  // --max-level
};

const std::vector<Study>& all_studies() {
  static const std::vector<Study> studies{
      {"multigrid", print_multigrid_study, {1, 6}, {2, 6}, 9},
      {"toeplitz", print_toeplitz_study, {2, 2}, {2, 5}, 8, false},
      {"bubbly", print_bubbly_study, {1, 3}, {first_bubbly_figure, last_bubbly_figure}},
      {"edge", print_edge_study, {2, 4}, {}},
      {"staggered", print_staggered_study, {1, 5}, {}, 8, false},
      {"coefficients", print_coefficient_study, {}, {}},
      {"boundary-layers", print_boundary_layer_study, {}, {}}};
  return studies;
}

/// The value of --table or --figure, 0 where it is not given.
int number_of(const CommandLine& options, const char* option, const Study& study, const Numbers& numbers) {
  if (!options.has(option)) return 0;
  expects(numbers.last > 0, "--", option, ": the study ", study.name, " has ",
          study.tables.last > 0 ? "no figures" : "one table");
  return options.integer(option, numbers.first, numbers.last);
}

/// What the options ask for.
std::function<int()> prepare(const CommandLine& options) {
  std::vector<std::pair<std::string, const Study*>> known;
  for (const auto& study : all_studies()) known.emplace_back(study.name, &study);
  const Study& study = *choice<const Study*>("--study", options.text("study"), known);
  for (const auto& [option, belongs] :
       {std::pair{"max-level", study.has_levels}, {"inner-test", study.print == print_toeplitz_study}})
    expects(belongs || !options.has(option), "--", option, ": belongs to another study");

  StudySelection selection;
  selection.level = options.has("max-level") ? options.integer("max-level", 2, 12) : study.level;
  selection.csv = options.is_set("csv");
  selection.krylov = study.print == print_multigrid_study && options.has("table") && options.text("table") == "krylov";
  if (!selection.krylov) selection.table = number_of(options, "table", study, study.tables);
  selection.figure = number_of(options, "figure", study, study.figures);
  expects(study.print != print_multigrid_study || (selection.figure != 3 && selection.figure != 4),
          "--figure: ", selection.figure, " is not known; known are 2, 5, 6");
  selection.sweep_test = choice<SweepTest>("--inner-test", options.text("inner-test"));
  return [&study, selection, machine = parse_machine(options)] { return study.print(machine, selection), 0; };
}

}  // namespace

int main(int argc, char** argv) {
  Program program{
      "paper_tables", studies::text_before_options(), studies::text_after_options(), studies::make_command_line(), {},
      prepare};
  return run_program(program, argc, argv);
}
