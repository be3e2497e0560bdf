#include <stratum/smoothers/colour_gs.hpp>

namespace stratum {

void register_colour_gs(SmootherRegistry& registry);

void register_colour_gs(SmootherRegistry& registry) {
  registry.add<ColourGaussSeidel>("colour_gs", "four-colour Gauss-Seidel, for nearly square cells");
}

}  // namespace stratum
