#include "dirac.hpp"

namespace stratum::staggered {

int folded_sign(const Lattice& lattice, std::int64_t site, int mu) {
  const auto at = lattice.position(site);
  int odd = mu == 3 && at[3] == lattice.nt - 1 ? 1 : 0;
  for (std::size_t nu = 0; nu < static_cast<std::size_t>(mu); ++nu) odd += at[nu];
  return odd % 2 == 0 ? 1 : -1;
}

}  // namespace stratum::staggered
