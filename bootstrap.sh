#!/usr/bin/env bash
# From a bare Debian or Ubuntu to a running program: installs, configures, builds, runs. See usage() below.
set -euo pipefail

root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
preset=${STRATUM_PRESET:-release}
cuda=${STRATUM_CUDA:-auto} # auto: see choose_cuda
build=$root/build/$preset
log=$(mktemp)
installing= # the process that installs optional packages while the library is compiled
trap '[ -z "$installing" ] || wait "$installing" || true; rm -f "$log" "$log.packages"' EXIT

# Without the required packages nothing builds; without an optional one its feature is off.
required=(g++ cmake ninja-build libboost-program-options-dev nlohmann-json3-dev)
optional=(libmuparser-dev libvtk9-dev libnetcdf-dev)
required_by_tests=(libgtest-dev libgmock-dev)
required_by_ranks=(libopenmpi-dev openmpi-bin)
optional_for_tests=(libdeal.ii-dev libpetsc-real-dev pkg-config python3-dev python3-numpy python3-venv "${required_by_ranks[@]}")
optional_for_benchmark=(libhypre-dev libfftw3-dev)

usage() {
  cat <<END
Usage: ./bootstrap.sh run PROGRAM [ARGS...]   install what is missing, build PROGRAM, run it where you are
       ./bootstrap.sh run PROGRAM --ranks N [ARGS...]   on N ranks, by mpirun (programs that can: poisson2d, poisson3d, heat2d, heat3d)
       ./bootstrap.sh test [--heavy] [CTEST ARGS...]   the same for the test suite; GTEST_FILTER chooses cases
       ./bootstrap.sh build [TARGETS...]      the same without running anything (default: all programs)
       ./bootstrap.sh deps                    only install what programs and tests need

Programs: $(programs | paste -sd ' ') (built in build/$preset/bin; each explains itself with --help)

Examples:
  ./bootstrap.sh run poisson2d --mesh A3 --smoother adi
  ./bootstrap.sh run poisson2d --mesh A3 --vtk solution.vtr      then open solution.vtr in ParaView
  ./bootstrap.sh run poisson2d --ranks 2 --mesh A3 --level 11    each rank has half of the rows
  ./bootstrap.sh test -R smoothers                              only the tests whose name matches

Packages come from apt-get (as root, or through sudo); when all are there, no rights are needed. VTK, muParser,
deal.II and hypre (installed for stratum_bench) are optional: without them .vtr output, expressions and the
comparisons with deal.II and hypre are off.
\`test\` leaves out the tests labelled heavy unless --heavy is given.

Environment:
  STRATUM_PRESET=NAME    release (default), debug, sanitize or cuda: a preset of CMakePresets.json
  STRATUM_CUDA=ON|OFF    build the CUDA back end or not; by default where there are a toolkit and a GPU, where this checkout was
                         built with it before, and by \`test --heavy\` where there is a toolkit
                         (now: $cuda; $(describe_cuda), $(describe_gpu))
  STRATUM_INSTALL=OFF    install nothing; CMake then reports what it does not find

CUDA needs a toolkit, 12.4 or newer: package cuda-toolkit of https://developer.nvidia.com/cuda-downloads,
with nvcc on the PATH or in /usr/local/cuda/bin. nvcc takes minutes; without a GPU \`test\` has it read all sources instead.
END
}

say() { printf 'bootstrap: %s\n' "$*" >&2; }

die() {
  say "$@"
  exit 1
}

# The output of a step is only worth reading when the step fails; ninja's own progress lines never are.
fail_with_log() {
  grep -v '^\[[0-9]*/[0-9]*\] ' "$log" >&2 || true
  die "$@"
}

quietly() { "$@" >"$log" 2>&1 </dev/null; }

# Main files stand in apps and, of programs with a library or a folder of their own, one folder below.
programs() {
  (cd "$root/apps" 2>/dev/null && grep -ls '\bint main\b' ./*.cpp ./*/*.cpp | grep -v '^\./examples/' | sed 's|.*/||; s|\.cpp$||' | sort) || true
}

find_nvcc() { command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; }; }

describe_cuda() {
  local nvcc
  if nvcc=$(find_nvcc); then
    echo "CUDA $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p') found at $nvcc"
  else
    echo "no CUDA toolkit found"
  fi
}

toolkit_suffices() {
  local version
  version=$(describe_cuda | sed -n 's/^CUDA \([0-9.]*\).*/\1/p')
  printf '12.4\n%s\n' "${version:-0}" | sort -VC
}

has_gpu() { [ -e /dev/nvidia0 ] || nvidia-smi -L >/dev/null 2>&1; }

describe_gpu() { if has_gpu; then echo "a GPU"; else echo "no GPU"; fi; }

# choose_cuda [heavy]: nobody waits minutes for code that nothing here can run, unless all is to be tested. Who asked for it once,
# as on the login node of a cluster, need not ask again. The sanitizers watch the host's code; they are run without the CUDA back end.
choose_cuda() {
  if [ "$preset" = sanitize ] || ! toolkit_suffices; then
    echo OFF
  elif [ "${1:-}" = heavy ] || has_gpu || grep -qs '^STRATUM_CUDA:[A-Z]*=ON' "$build/CMakeCache.txt"; then
    echo ON
  else
    echo OFF
  fi
}
[ "$cuda" != auto ] || cuda=$(choose_cuda)

includes() { echo "#include <$1>" | "${CXX:-c++}" -x c++ -E -; }
links() { echo 'int main() {}' | "${CXX:-c++}" -x c++ - -o /dev/null "-l$1"; }

# Tools count when anyone's own is on the PATH, what programs need when the compiler finds it, other libraries when
# their package is installed.
missing() {
  local package
  for package; do
    case $package in
      g++) command -v "${CXX:-c++}" ;;
      cmake) command -v cmake ;;
      ninja-build) command -v ninja ;;
      libboost-program-options-dev) includes boost/program_options.hpp && links boost_program_options ;;
      nlohmann-json3-dev) includes nlohmann/json.hpp ;;
      libopenmpi-dev) command -v mpicxx ;; # of any MPI
      openmpi-bin) command -v mpirun ;;
      *) [[ $(dpkg-query -W -f='${db:Status-Status}' "$package") == installed* ]] ;;
    esac >/dev/null 2>&1 || echo "$package"
  done
}

as_root=()
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" >"$log.packages" 2>&1 </dev/null
}
apt_install() { apt install -y --no-install-recommends "$@"; }

# Installs `required` and leaves in `wanted` what is missing of `optional`.
wanted=()
install_required() {
  local need both
  [ "${STRATUM_INSTALL:-ON}" != OFF ] || return 0
  mapfile -t need < <(missing "${required[@]}")
  mapfile -t wanted < <(missing "${optional[@]}")
  both=("${need[@]}" "${wanted[@]}")
  [ ${#both[@]} -gt 0 ] || return 0

  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    [ -e "$build/build.ninja" ] ||
      say "no apt-get here: installing nothing; needed are the equivalents of ${both[*]}"
    wanted=()
    return 0
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -v; then
      as_root=(sudo)
    elif [ ${#need[@]} -gt 0 ]; then
      die "missing packages and no root rights; as root: apt-get install ${both[*]}"
    else
      say "going on without ${wanted[*]} (no root rights to install; as root: apt-get install ${wanted[*]})"
      wanted=()
      return 0
    fi
  fi
  [ ${#need[@]} -gt 0 ] || return 0
  say "installing ${need[*]}"
  apt_install "${need[@]}" && return
  update_lists
  apt_install "${need[@]}" && return
  cat "$log.packages" >&2
  die "apt-get install ${need[*]} failed"
}

update_lists() {
  say "updating the package lists"
  apt update || say "apt-get update failed; trying with the lists there are"
}

install_wanted() {
  local package
  [ ${#wanted[@]} -gt 0 ] || return 0
  apt_install "${wanted[@]}" && return
  update_lists
  apt_install "${wanted[@]}" && return
  for package in "${wanted[@]}"; do
    apt_install "$package" ||
      say "warning: going on without $package, which could not be installed (STRATUM_INSTALL=OFF stops trying)"
  done
}

install_packages() {
  install_required
  [ ${#wanted[@]} -eq 0 ] || say "installing ${wanted[*]} (minutes the first time)"
  install_wanted
}

# prepare TESTS: installs and configures. The library needs none of the optional packages: it is compiled while they come, after
# a first configuration that knows nothing of them.
prepare() {
  install_required
  if [ ${#wanted[@]} -gt 0 ]; then
    configure "$1"
    say "installing ${wanted[*]} meanwhile"
    install_wanted &
    installing=$!
    compile stratum
    wait "$installing" || true
    installing=
  fi
  configure "$1"
}

# Of compiler caches ccache 4 knows precompiled headers, and those of g++ without more ado.
precompiles_with() {
  [[ $(basename "$1") == ccache && $("$1" --version) == "ccache version "[4-9]* &&
    $("${CXX:-c++}" --version) == *"Free Software Foundation"* ]]
}

# Warnings are errors where the tests are built: a user's build never fails over one.
# CMake runs again only when what it would find or be told has changed; changed sources are ninja's business.
configure() {
  local tests=$1 stamp version fresh=() launcher=${CMAKE_CXX_COMPILER_LAUNCHER-$(command -v ccache)} precompile=ON batch=1
  [ -e "$root/CMakeLists.txt" ] || die "no CMakeLists.txt beside this script"
  if grep -qs '^STRATUM_TESTS:[A-Z]*=ON' "$build/CMakeCache.txt"; then tests=ON; fi
  [ "$preset" != cuda ] || cuda=ON
  [ -z "$launcher" ] || precompiles_with "$launcher" || precompile=OFF
  [ "$preset" != release ] || batch=8 # with debugging information or sanitizers they would take too much memory
  stamp=$(
    echo "$root" "$tests" "$cuda" "${CXX:-}" "$(describe_cuda)" "$launcher" "$batch"
    dpkg-query -W -f='${Package} ${Version} ${db:Status-Status}\n' cmake "${required[@]}" "${optional[@]}" \
      "${required_by_tests[@]}" "${optional_for_tests[@]}" "${optional_for_benchmark[@]}" 2>/dev/null | sort -u || true
  )
  if [ -e "$build/build.ninja" ] && [ "$(cat "$build/bootstrap.stamp" 2>/dev/null)" = "$stamp" ]; then return; fi

  command -v cmake >/dev/null || die "cmake not found"
  read -r _ _ version < <(cmake --version)
  printf '3.25\n%s\n' "$version" | sort -VC ||
    die "CMake $version is too old, 3.25 is needed: Debian 12, Ubuntu 24.04, or 'pip install cmake'"
  if [ "$cuda" = ON ]; then
    toolkit_suffices || die "the CUDA back end needs a toolkit, 12.4 or newer; $(describe_cuda); see ./bootstrap.sh --help"
    PATH=$PATH:/usr/local/cuda/bin
  fi
  say "configuring $preset ($(describe_cuda), $(describe_gpu); CUDA back end $cuda)"
  # A copied or moved checkout brings a cache that names the old place.
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt" || fresh=(--fresh)
  (cd "$root" && quietly cmake --preset "$preset" "${fresh[@]}" -DCMAKE_{C,CXX,CUDA}_COMPILER_LAUNCHER="$launcher" \
    -DSTRATUM_TESTS="$tests" -DSTRATUM_CUDA="$cuda" -DSTRATUM_WERROR="$tests" \
    -DSTRATUM_PRECOMPILED_HEADERS="$precompile" -DSTRATUM_TEST_BATCH="$batch") || fail_with_log "configuring failed"
  sed -n 's/^-- stratum: /  /p' "$log" >&2
  printf '%s\n' "$stamp" >"$build/bootstrap.stamp"
}

# As many jobs as there are cores, and 1.5 GB for each.
jobs() {
  local cores memory limit
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [ "$limit" != max ] && [ $((limit >> 20)) -lt "$memory" ]; then memory=$((limit >> 20)); fi
  if [ $((memory / 1500)) -lt "$cores" ]; then cores=$((memory / 1500)); fi
  echo $((cores > 1 ? cores : 1))
}

# A compiler cache finds what another checkout has compiled, precompiled headers too.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-true}
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:+$CCACHE_SLOPPINESS,}pch_defines,time_macros

compile() {
  : >"$log"
  cmake --build "$build" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(jobs)}" --target "$@" 2>&1 </dev/null | {
    local line progress=
    while IFS= read -r line; do
      printf '%s\n' "$line" >>"$log"
      [[ $line =~ ^\[([1-9][0-9]*/[0-9]+)\] ]] || continue
      if [ -t 2 ]; then
        printf '\rbootstrap: building %s [%s]' "$*" "${BASH_REMATCH[1]}" >&2
      elif [ -z "$progress" ]; then
        say "building $*"
      fi
      progress=yes
    done
    if [ -t 2 ] && [ -n "$progress" ]; then echo >&2; fi
  } || fail_with_log "building $* failed"
}

check_writable() {
  local place=$build
  while [ ! -e "$place" ]; do place=$(dirname "$place"); done
  [ -w "$place" ]
}

run() {
  local program=${1:-} ranks='' arguments=() launch=()
  programs | grep -qxF -e "$program" ||
    die "no program \"$program\"; there are: $(programs | paste -sd ' ')"
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --ranks) ranks=${2:-none} && shift ;;
      --ranks=*) ranks=${1#*=} ;;
      *) arguments+=("$1") ;;
    esac
    [ $# -eq 0 ] || shift
  done
  if [ -n "$ranks" ]; then
    [[ $ranks =~ ^[1-9][0-9]{0,5}$ ]] || die "--ranks is a number from 1 on, not $ranks"
    required+=("${required_by_ranks[@]}")
    launch=(mpirun -n "$ranks")
    # What Open MPI wants to be told: root may run it, and there may be more ranks than cores.
    if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
    if [ "$ranks" -gt "$(nproc)" ]; then
      export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    fi
  fi
  [ "$program" != stratum_bench ] || optional+=("${optional_for_benchmark[@]}")
  if check_writable; then
    prepare OFF
    compile "$program"
  elif [ -x "$build/bin/$program" ]; then
    install_packages
    say "$build is not yours to write: running $program as it was built"
  else
    die "$build is not yours to write; copy the project to a directory of your own"
  fi
  rm -f "$log" "$log.packages"
  exec "${launch[@]}" "$build/bin/$program" "${arguments[@]}"
}

run_tests() {
  local arguments=(-LE heavy) targets=(all) junit=$build/tests.xml status=0
  if [ "${1:-}" = --heavy ]; then
    arguments=()
    targets+=(heavy_tests)
    [ -n "${STRATUM_CUDA:-}" ] || cuda=$(choose_cuda heavy)
    export STRATUM_HEAVY=1
    shift
  fi
  required+=("${required_by_tests[@]}")
  optional+=("${optional_for_tests[@]}")
  check_writable || die "$build is not yours to write; copy the project to a directory of your own"
  prepare ON
  compile "${targets[@]}"
  rm -rf "$junit" "$build/cases"
  # Tests run side by side: two threads each exercise OpenMP without crowding the others out.
  OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} \
    ctest --test-dir "$build" --parallel "$(jobs)" --output-on-failure --output-junit "$junit" \
    "${arguments[@]}" "$@" || status=$?
  count_tests "$junit" "$status"
}

# Cases of GoogleTest count by the report of their process. A process without one has failed, whatever it ended with, and so has
# one that failed beside what it reports; of other tests, what did not pass and was not told to be skipped.
count_tests() {
  local junit=$1 status=$2 passed=0 failed=0 skipped=0 name state report cases wrong left_out
  while read -r name state; do
    report=$build/cases/$name.xml
    if [[ $name != *.shard_* ]]; then
      case $state in
        run) passed=$((passed + 1)) ;;
        disabled | skipped) skipped=$((skipped + 1)) ;;
        *) failed=$((failed + 1)) ;;
      esac
    elif grep -qs '^</testsuites>' "$report"; then
      cases=$(grep -c '<testcase ' "$report" || true)
      left_out=$(grep -cE '<testcase .*(status="notrun"|result="skipped")' "$report" || true)
      wrong=$(awk '/<testcase / { name = $0 } /<failure / && name { count++; name = "" } END { print count + 0 }' "$report")
      passed=$((passed + cases - left_out - wrong))
      skipped=$((skipped + left_out))
      if [ "$wrong" -eq 0 ] && [ "$state" != run ]; then wrong=1; fi
      failed=$((failed + wrong))
    else
      say "$name ended without a report: it crashed, ran out of time or is missing"
      failed=$((failed + 1))
    fi
  done < <(sed -nE 's/^[[:space:]]*<testcase name="([^"]*)".* status="([a-z]*)".*/\1 \2/p
                    s/.*<skipped message="SKIP_.*/skipped/p' "$junit" 2>/dev/null | mark_skipped)
  if [ $((passed + failed)) -eq 0 ]; then
    say "no test ran"
    status=1
  elif [ "$failed" -gt 0 ] && [ "$status" -eq 0 ]; then
    status=1
  fi
  echo "$passed passed, $failed failed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
  return "$status"
}

# A line `skipped` tells the state of the test before it.
mark_skipped() {
  awk '$0 == "skipped" { state = $0; next }
       { if (name) print name, state; name = $1; state = $2 }
       END { if (name) print name, state }'
}

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
  run) run "$@" ;;
  test) run_tests "$@" ;;
  build)
    check_writable || die "$build is not yours to write"
    prepare OFF
    if [ $# -gt 0 ]; then compile "$@"; else mapfile -t all < <(programs) && compile "${all[@]}"; fi
    ;;
  deps)
    required+=("${required_by_tests[@]}")
    optional+=("${optional_for_tests[@]}")
    install_packages
    ;;
  help | -h | --help) usage ;;
  *) die "no command '$command'; see ./bootstrap.sh --help" ;;
esac
