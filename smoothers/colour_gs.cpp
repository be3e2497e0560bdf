#include <stratum/smoothers/smoother.hpp>

namespace stratum {

/// Of colour_gs_kernels.hpp.
template <class T>
std::unique_ptr<Smoother<T>> make_colour_gs(Context& ctx, const GridLayout<2>& shape, const SmootherParams& params);

void register_colour_gs(SmootherRegistry& registry);

void register_colour_gs(SmootherRegistry& registry) {
  registry.add({{},
                "colour_gs",
                "four-colour Gauss-Seidel, for nearly square cells",
                make_colour_gs<float>,
                make_colour_gs<double>});
}

}  // namespace stratum
