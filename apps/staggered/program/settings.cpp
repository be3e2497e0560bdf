#include "settings.hpp"

#include <cstddef>
#include <optional>

namespace stratum::apps::propagators {

namespace {

std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> list{""};
  for (const char c : text)
    if (c == ',')
      list.emplace_back();
    else
      list.back().push_back(c);
  return list;
}

}  // namespace

Settings parse_settings(const CommandLine& options) {
  Settings s;
  if (options.has("gauge")) s.gauge = options.text("gauge");
  for (const char* name : {"lattice", "field", "sigma"})
    expects(s.gauge.empty() || !options.has(name), "--", name, ": --gauge gives the field already");
  const auto extents = parts(options.text("lattice"));
  expects(extents.size() == 4, "--lattice: '", shown(options.text("lattice")), "' is not NX,NY,NZ,NT");
  int* const to[] = {&s.lattice.nx, &s.lattice.ny, &s.lattice.nz, &s.lattice.nt};
  for (std::size_t mu = 0; mu < 4; ++mu) *to[mu] = parse_integer("--lattice", extents[mu], 1, 1'000'000'000);
  parsed("--lattice", [&] { s.lattice.validate(); });
  s.field =
      choice<StartField>("--field", options.text("field"),
                         {{"unit", StartField::unit}, {"random", StartField::random}, {"near", StartField::near}});
  expects(!options.has("sigma") || s.field == StartField::near, "--sigma: belongs to --field near");
  s.sigma = options.number("sigma", not_negative);
  s.seed = static_cast<std::uint64_t>(options.integer("seed", 0, 2'000'000'000));
  for (const auto& mass : parts(options.text("mass"))) s.masses.push_back(parse_number("--mass", mass, positive));
  s.source = choice<Source>("--source", options.text("source"),
                            {{"point", Source::point}, {"wall", Source::wall}, {"random", Source::random}});
  expects(!options.has("correlator") || s.source != Source::random,
          "--correlator: a random source has none; use point or wall");
  s.together = options.is_set("together");
  enum class Precision : std::uint8_t { in_double, mixed, mixed16 };
  const auto precision = choice<Precision>(
      "--precision", options.text("precision"),
      {{"mixed", Precision::mixed}, {"mixed16", Precision::mixed16}, {"double", Precision::in_double}});
  s.mixed = precision != Precision::in_double;
  s.shorts = precision == Precision::mixed16;
  s.reals =
      choice<Reals>("--reals", options.text("reals"), {{"18", Reals::r18}, {"12", Reals::r12}, {"10", Reals::r10}});
  expects(!s.shorts || s.reals != Reals::r10,
          "--reals: 10 reals of 16 bits are too few to make a link of; use 12 or 18");
  for (const char* name : {"delta", "scheme", "beta", "solution-in-double"})
    expects(s.mixed || !options.has(name), "--", name, ": belongs to --precision mixed");
  if (options.has("delta"))
    s.reliable.delta = options.number("delta", {0, 1, true, true});
  else if (s.shorts && !s.together)
    s.reliable.delta = delta_of_shorts;
  enum class Scheme : std::uint8_t { corrected, restart, group_wise, reliable };
  const auto scheme = choice<Scheme>("--scheme", options.text("scheme"),
                                     {{"corrected", Scheme::corrected},
                                      {"restart", Scheme::restart},
                                      {"group-wise", Scheme::group_wise},
                                      {"reliable", Scheme::reliable}});
  s.reliable.carry_direction = scheme != Scheme::restart;
  s.reliable.replace_residual = scheme != Scheme::group_wise;
  s.reliable.reset_solution = scheme != Scheme::reliable;
  s.reliable.beta = choice<UpdateBeta>(
      "--beta", options.text("beta"),
      {{"guarded", UpdateBeta::guarded}, {"true", UpdateBeta::by_true}, {"recursive", UpdateBeta::by_recursive}});
  s.reliable.solution_in_double = options.is_set("solution-in-double");
  expects(!s.together || scheme == Scheme::corrected, "--together: takes --scheme corrected only");
  expects(!s.reliable.solution_in_double || s.reliable.reset_solution,
          "--solution-in-double: --scheme reliable is about a solution in float");
  s.stop.rtol = options.number("rtol", fraction);
  s.tolerance_asked_for = options.has("rtol");
  s.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000'000);
  s.machine = parse_machine(options);
  if (options.has("partition")) {
    const auto counts = parts(options.text("partition"));
    expects(counts.size() == 2, "--partition: '", shown(options.text("partition")), "' is not T,Z");
    s.partition.t = parse_integer("--partition", counts[0], 1, 1'000'000'000);
    s.partition.z = parse_integer("--partition", counts[1], 1, 1'000'000'000);
  }
  using When = std::optional<bool>;
  s.partition.overlap =
      choice<When>("--overlap", options.text("overlap"), {{"auto", When()}, {"yes", true}, {"no", false}});
  s.quiet = options.is_set("quiet");
  return s;
}

}  // namespace stratum::apps::propagators
