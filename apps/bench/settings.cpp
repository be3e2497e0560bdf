#include "settings.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <sstream>
#include <utility>

#include <stratum/mesh/named_meshes.hpp>

#include "bench/peers/cudss.hpp"
#include "bench/peers/cufft.hpp"
#include "bench/peers/cusparse.hpp"
#include "bench/peers/hypre.hpp"
#include "bench/peers/sine_transform.hpp"

namespace stratum::apps::bench {

namespace {

template <class Parse>
auto parse_list(const std::string& option, const std::string& text, const Parse& parse) {
  std::vector<decltype(parse(text))> values;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) values.push_back(parse(item));
  expects(!values.empty(), option, ": nothing given");
  return values;
}

/// "8,10..12" is 8, 10, 11, 12.
std::vector<int> parse_levels(const std::string& text) {
  std::vector<int> levels;
  (void)parse_list("--levels", text, [&levels](const std::string& item) {
    const auto dots = item.find("..");
    const int first = parse_integer("--levels", item.substr(0, dots), 2, 15);
    const int last = dots == std::string::npos ? first : parse_integer("--levels", item.substr(dots + 2), first, 15);
    for (int level = first; level <= last; ++level) levels.push_back(level);
    return last;
  });
  return levels;
}

std::vector<BoxCells> parse_boxes(const std::string& text) {
  return parse_list("--boxes", text, [](const std::string& item) {
    BoxCells cells{};
    std::size_t begin = 0;
    for (std::size_t d = 0; d < cells.size(); ++d) {
      const auto end = d + 1 < cells.size() ? item.find('x', begin) : item.size();
      expects(end != std::string::npos, "--boxes: '", shown(item), "' is not three numbers of cells, as in 128x128x64");
      cells[d] = parse_integer("--boxes", item.substr(begin, end - begin), 2, 8192);
      begin = end + 1;
    }
    return cells;
  });
}

std::vector<PatchCase> parse_patches(const std::string& text) {
  return parse_list("--patches", text, [](const std::string& item) {
    const auto colon = item.find(':');
    expects(colon != std::string::npos, "--patches: '", shown(item), "' is not a name with cells, as in cylinder:64");
    using Names = std::vector<std::pair<std::string, std::string>>;
    const Names names{{"cylinder", "cylinder"}, {"triangles", "triangles"}, {"squares", "squares"}};
    return PatchCase{choice("--patches", item.substr(0, colon), names),
                     parse_integer("--patches", item.substr(colon + 1), 2, 8192)};
  });
}

SmootherVariant parse_smoother(const std::string& text) {
  for (const auto& choice : all_smoothers())
    if (choice.label() == text) return choice;
  std::string known;
  for (const auto& choice : all_smoothers()) known += (known.empty() ? "" : ", ") + choice.label();
  throw UsageError(message("--smoothers: unknown '", text, "'; known are ", known));
}

/// Peers of the CPU run in this process, on one core: they are compared with one thread of our own, or not at all. On a GPU
/// there are sine transforms, a direct solver and, in boxes, hypre.
void parse_peers(const std::string& text, const Context& ctx, Settings& settings) {
  if (text == "none") {
    settings.no_peers = "not asked for";
    return;
  }
  if (ctx.subdomains() > 1) {
    expects(text == "all", "--peers: several ranks have none; take --peers none");
    settings.no_peers = "several ranks have none";
    return;
  }
  const bool on_gpu = ctx.on_gpu(), has_sines = on_gpu ? CufftSines::available() : SineTransforms::available();
  const bool has_cudss = on_gpu && Cudss::available(), has_hypre = Hypre::available(on_gpu),
             one_core = !on_gpu && ctx.threads() == 1;
  const auto of_csr = csr_peers();
  if (on_gpu && !has_sines && !has_cudss && !has_hypre)
    settings.no_peers = "built without cuFFT, cuDSS and a hypre with CUDA; other peers have one core: --backend cpu "
                        "--threads 1 compares";
  else if (!on_gpu && ctx.threads() != 1)
    settings.no_peers = "peers have one core: --backend cpu --threads 1 compares";
  else if (!on_gpu && !has_hypre && !has_sines)
    settings.no_peers = "built without hypre and FFTW (Debian: libhypre-dev, libfftw3-dev)";
  if (text == "all") {
    if (one_core) std::ranges::copy_if(of_csr, std::back_inserter(settings.csr_peers), &CsrPeer::available);
    if (!settings.no_peers.empty()) return;
    if (has_hypre && settings.in_boxes) settings.box_peers = Hypre::solvers(on_gpu);
    if (has_hypre && !on_gpu) settings.peers = Hypre::solvers();
    settings.sine_transforms = has_sines;
    settings.cudss = has_cudss;
    return;
  }
  std::vector<std::pair<std::string, std::string>> known{
      {std::string(sine_transforms_name), std::string(sine_transforms_name)},
      {std::string(cudss_name), std::string(cudss_name)}};
  for (const auto& peer : of_csr) known.emplace_back(peer.option, peer.option);
  for (const auto& solver : Hypre::solvers(on_gpu)) known.emplace_back(solver, solver);
  for (const auto& name :
       parse_list("--peers", text, [&](const std::string& peer) { return choice("--peers", peer, known); })) {
    if (const auto csr = std::ranges::find(of_csr, name, &CsrPeer::option); csr != of_csr.end()) {
      expects(one_core, "--peers ", name, ": it has one core; --backend cpu --threads 1 compares");
      expects(csr->available(), "--peers ", name, ": built without ", csr->library);
      settings.csr_peers.push_back(*csr);
      continue;
    }
    const bool sines = name == sine_transforms_name, direct = name == cudss_name;
    expects(settings.no_peers.empty(), "--peers ", text, ": ", settings.no_peers);
    expects(!direct || on_gpu, "--peers ", name, ": it runs on a GPU; --backend cuda compares");
    expects(sines || direct || !on_gpu || settings.in_boxes, "--peers ", name,
            ": on a GPU hypre solves in boxes; --what boxes compares");
    expects(direct  ? has_cudss
            : sines ? has_sines
                    : has_hypre,
            "--peers ", name, ": built without ",
            direct   ? "cuDSS (pip: nvidia-cudss-cu13)"
            : sines  ? (on_gpu ? "cuFFT" : "FFTW (Debian: libfftw3-dev)")
            : on_gpu ? "a hypre with CUDA"
                     : "hypre (Debian: libhypre-dev)");
    if (sines)
      settings.sine_transforms = true;
    else if (direct)
      settings.cudss = true;
    else {
      settings.box_peers.push_back(name);
      if (!on_gpu) settings.peers.push_back(name);
    }
  }
}

}  // namespace

std::vector<SmootherVariant> all_smoothers() {
  std::vector<SmootherVariant> choices;
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries()) {
    choices.push_back({name});
    if (choices.back().solves_lines()) choices.push_back({name, LineOrder::simultaneous});
  }
  return choices;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Settings parse_settings(const CommandLine& options, const Context& ctx) {
  Settings settings;
  const int what = choice<int>("--what", options.text("what"),
                               {{"kernels", 1},
                                {"lines", 2},
                                {"solves", 4},
                                {"coefficients", 8},
                                {"matrices", 16},
                                {"boxes", 32},
                                {"patches", 64},
                                {"all", 127}});
  settings.kernels = (what & 1) != 0;
  settings.lines = (what & 2) != 0;
  settings.solves = (what & 4) != 0;
  settings.coefficients = (what & 8) != 0;
  settings.matrices = (what & 16) != 0;
  settings.in_boxes = (what & 32) != 0;
  settings.on_patches = (what & 64) != 0;
  settings.quick = options.is_set("quick");
  settings.patches = parse_patches(options.has("patches") ? options.text("patches")
                                   : settings.quick       ? "cylinder:32"
                                   : ctx.on_gpu()         ? "cylinder:64,cylinder:256,triangles:512,squares:1024"
                                                          : "cylinder:64,triangles:64");
  settings.boxes = parse_boxes(options.has("boxes") ? options.text("boxes")
                               : settings.quick     ? "24x32x40"
                               : ctx.on_gpu()       ? "256x256x256,512x512x512,1000x1000x100"
                                                    : "64x64x64,128x128x128");
  settings.levels = options.has("levels") ? parse_levels(options.text("levels"))
                    : settings.quick      ? std::vector{7}
                    : ctx.on_gpu()        ? std::vector{10, 12, 13}
                                          : std::vector{8, 10};
  const std::string meshes = settings.quick && !options.has("meshes") ? "U1,A3" : options.text("meshes");
  settings.meshes = parse_list("--meshes", meshes, [](const std::string& name) { return mesh_family(name).name; });
  if (options.has("operators"))
    settings.kernel_formats = settings.solve_formats =
        parse_list("--operators", options.text("operators"), storage_format);
  const auto directions = [&](const std::string& option) {
    return options.has(option) ? choice<int>("--" + option, options.text(option), {{"x", 1}, {"y", 2}, {"xy", 3}}) : 0;
  };
  const int periodic = directions("periodic"), neumann = directions("neumann");
  if ((periodic & neumann) != 0) throw UsageError("--periodic and --neumann: one of them in each direction");
  const auto kind_in = [&](int direction) {
    return (periodic & direction) != 0  ? BoundaryConditionType::periodic
           : (neumann & direction) != 0 ? BoundaryConditionType::neumann
                                        : BoundaryConditionType::dirichlet;
  };
  settings.boundaries.left.kind = settings.boundaries.right.kind = kind_in(1);
  settings.boundaries.bottom.kind = settings.boundaries.top.kind = kind_in(2);
  settings.smoothers = parse_list("--smoothers", options.text("smoothers"), parse_smoother);
  settings.rounds = settings.quick && !options.has("rounds") ? 1 : options.integer("rounds", 1, 100);
  settings.finest_peer_level = options.integer("peer-level", 2, 15);
  parse_peers(options.text("peers"), ctx, settings);
  settings.no_cusparse = !ctx.on_gpu()                     ? "cuSPARSE runs on a GPU"
                         : !cusparse_available()           ? "built without cuSPARSE"
                         : options.text("peers") == "none" ? "not asked for"
                                                           : "";
  settings.now = choice<Stopwatch>("--clock", options.text("clock"), {{"wall", wall_seconds}, {"cpu", cpu_seconds}});
  expects(settings.now == wall_seconds || (!ctx.on_gpu() && ctx.threads() == 1),
          "--clock cpu is for one thread on a CPU, not for ", ctx.description());
  return settings;
}

}  // namespace stratum::apps::bench
