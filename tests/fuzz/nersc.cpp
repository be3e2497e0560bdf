// Files of the NERSC archive: what is accepted is a field of SU(3) on a lattice, and comes back the same after it was written
// and read once more.

#include <string>

#include <stratum/staggered/nersc.hpp>

#include "scratch_file.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stratum;
  using namespace stratum::staggered;
  static const ScratchFile input(".in"), output(".out");
  input.write(data, size);
  try {
    const Lattice lattice = nersc_lattice(input.path());
    lattice.validate();
    const GaugeField field = read_nersc(input.path());
    require(field.lattice == lattice, "the lattice is that of the header");
    field.expect_su3(1e-3);
    write_nersc(output.path(), field);
    const GaugeField again = read_nersc(output.path());
    require(again.lattice == lattice && again.links.size() == field.links.size(), "a lattice comes back");
    for (std::size_t k = 0; k < field.links.size(); ++k)
      require(again.links[k].a == field.links[k].a, "links come back");
  } catch (const FileError&) {
    return 0;
  }
  return 0;
}
