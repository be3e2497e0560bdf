# Sourced by the tests that run programs on several ranks of MPI, a thread each, against the same on one.
# shellcheck shell=bash disable=SC2034 # what the scripts use
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

mpirun=${MPIRUN:-mpirun}
compare_grids=$(dirname "$program")/compare_grids
common=(--backend cpu --threads 1)
annulus='(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)'
# More ranks than cores; in containers a rank may be root, and cannot read another one's memory.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# ranks N CODE ARGS...: mpirun must end with CODE. Once a rank has failed it gives the others a second to end, which nobody
# needs who writes no files.
ranks() {
  local count=$1 expected=$2 code seconds=1
  case $expected in [124]) seconds=0 ;; esac
  shift 2
  command="mpirun -n $count $(basename "$program") $*"
  OMPI_MCA_odls_base_sigkill_timeout=$seconds timeout 200 "$mpirun" -n "$count" "$program" "${common[@]}" "$@" >"$work/.output" 2>"$work/.errors"
  code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected"
}

# Largest difference of two arrays, relative to the largest number, must be at most so much.
same_array() {
  python3 - "$@" <<'END' || fail "$1 and $2 differ"
import struct, sys
def read(name):
    data = open(name, "rb").read()
    (length,) = struct.unpack("<H", data[8:10])
    return struct.unpack("<%dd" % ((len(data) - 10 - length) // 8), data[10 + length :])
a, b = read(sys.argv[1]), read(sys.argv[2])
largest = max(map(abs, a))
difference = max(abs(x - y) for x, y in zip(a, b))
print("difference", difference / largest)
sys.exit(0 if len(a) == len(b) and largest > 0 and difference <= float(sys.argv[3]) * largest else 1)
END
}

# Two reports must agree in what the solver did and in the solution's numbers.
same_report() {
  python3 - "$@" <<'END' || fail "the reports differ"
import json, math, sys
a, b = (json.load(open(name)) for name in sys.argv[1:3])
def differs(x, y, tolerance):
    if isinstance(x, list):
        return len(x) != len(y) or any(differs(p, q, tolerance) for p, q in zip(x, y))
    if isinstance(x, float) and isinstance(y, (float, int)):
        return abs(x - y) > tolerance * max(abs(x), abs(y)) + 1e-12
    return x != y
wrong = [key for key in ("status", "iterations", "unknowns", "cells", "smoothers", "solver", "cycle", "hierarchy", "method", "choice")
         if a.get(key) != b.get(key)]
wrong += [key for key in ("relative_l2_error", "relative_largest_error", "relative_energy_error", "minimum", "maximum",
                          "minimum_at", "maximum_at", "boundary_range", "largest_step", "fluxes", "reaction_integral",
                          "load_integral") if differs(a[key], b[key], 1e-6)]
print(*(f"{key}: {a[key]} {b[key]}" for key in wrong), sep="\n")
sys.exit(1 if wrong else 0)
END
}

# same_probes FILE OTHER TOLERANCE: all of their numbers must be the same to it.
same_probes() {
  python3 -c 'import sys
a, b = ([float(x) for line in open(name).read().split()[1:] for x in line.split(",")] for name in sys.argv[1:3])
sys.exit(0 if len(a) == len(b) and all(abs(x - y) < float(sys.argv[3]) for x, y in zip(a, b)) else 1)' "$@" || fail "other probes"
}
