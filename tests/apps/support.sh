# Sourced by the tests of the programs, which are called as NAME_test.sh PROGRAM CASE and run one case in an empty directory.
# Every function case_NAME is a test of its own; `run_case` at the end of a script runs the one asked for.
set -uo pipefail

program=$(readlink -f "$1")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
common=(--backend cpu) # options of every run
failures=0
command=

fail() {
  echo "FAILED: $command: $*"
  sed 's/^/  | /' "$work/.output" "$work/.errors" | tail -n 25
  failures=$((failures + 1))
}

skip() {
  echo "skipped: $*"
  exit 77
}

# $python is one that has NumPy: that on the PATH, or the system's, for which bootstrap.sh installs it.
needs_numpy() {
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then return; fi
  done
  skip "no NumPy"
}

# run CODE ARGS...: the program must end with CODE.
run() {
  local expected=$1 code
  shift
  command="$(basename "$program") $*"
  "$program" "${common[@]}" "$@" >"$work/.output" 2>"$work/.errors"
  code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected"
}

# of PROGRAM COMMAND...: COMMAND with another program of the same folder.
of() {
  local own=$program
  program=$(dirname "$own")/$1
  shift
  "$@"
  program=$own
}

# refused [--code CODE] ARGS... -- WORDS...: usage error with one line on stderr that has all the words, and no new file.
refused() {
  local code=1 arguments=() before
  if [ "$1" = --code ]; then
    code=$2
    shift 2
  fi
  while [ "$1" != -- ]; do
    arguments+=("$1")
    shift
  done
  shift
  before=$(files)
  run "$code" "${arguments[@]}"
  [ "$(wc -l <"$work/.errors")" -eq 1 ] || fail "not one line of error"
  for word; do
    grep -qF -e "$word" "$work/.errors" || fail "'$word' is not in the message"
  done
  [ "$(files)" = "$before" ] || fail "left '$(files)', not '$before'"
}

# Of the output, and of the messages: every pattern must match a line. None is a mistake of the test.
prints() { matches "$work/.output" print "$@"; }

says() { matches "$work/.errors" say "$@"; }

says_nothing() { [ ! -s "$work/.errors" ] || fail "says something"; }

matches() {
  local file=$1 does=$2
  shift 2
  [ $# -gt 0 ] || fail "nothing that it should $does"
  for pattern; do
    grep -qE -e "$pattern" "$file" || fail "does not $does /$pattern/"
  done
}

# report KEY: its value in report.json.
report() {
  python3 -c 'import json, sys; print(json.load(open("report.json"))[sys.argv[1]])' "$1"
}

# Whether this build writes files of VTK; what poisson2d says holds for the programs beside it.
has_vtk() {
  export ASAN_OPTIONS=detect_leaks=0 # VTK's writer loses some bytes where it fails
  "$(dirname "$program")/poisson2d" --backend cpu --level 1 --quiet --vtk probe.vtr >/dev/null 2>&1 && rm probe.vtr
}

# The same of pictures.
has_pictures() {
  "$(dirname "$program")/poisson2d" --backend cpu --level 1 --quiet --vtk none --png probe.png >/dev/null 2>&1 && rm probe.png
}

needs_vtk() { has_vtk || skip "this build has no VTK"; }

# Everything but the captured output, temporary files among it.
files() { find . -mindepth 1 ! -name .output ! -name .errors -printf '%P\n' | sort | paste -sd ' '; }

has_files() { [ "$(files)" = "$*" ] || fail "left '$(files)', not '$*'"; }

no_files() { has_files "$@"; }

# check EXPRESSION: a Python expression on the report r.
check() {
  [ $# -eq 1 ] || fail "$# expressions to check, not one"
  python3 -c '
import json, math, sys
r = json.load(open("report.json"))
sys.exit(0 if eval(sys.argv[1]) is True else 1)' "$1" || fail "the report does not satisfy $1"
}

# has_its_order METHOD: of the errors of 10 steps in 10.json and of 20 in 20.json.
has_its_order() {
  python3 - "$1" <<'END' || fail "the order of $1"
import json, math, sys
ratio = json.load(open("10.json"))["relative_l2_error"] / json.load(open("20.json"))["relative_l2_error"]
order = 1 if sys.argv[1] == "euler" else 2
sys.exit(abs(math.log2(ratio) - order) > 0.2)
END
}

# needs_a_device ARGS...: with --backend cuda, the program must end with 4 and say so where there is none.
needs_a_device() {
  "$program" --backend cuda "$@" >.output 2>.errors
  local code=$?
  command="$(basename "$program") --backend cuda"
  if [ $code -eq 0 ]; then skip "there is a device"; fi
  [ $code -eq 4 ] || fail "exit code $code, not 4"
  grep -qi cuda .errors || fail "the message does not speak of CUDA"
}

# l_shape CELLS: writes l_shape.patches, thin cells towards its inner corner.
l_shape() {
  cat >l_shape.patches <<END
cells $1
vertices
  a -1 -1
  b  0 -1
  c -1  0
  d  0  0
  e  1  0
  f -1  1
  g  0  1
  h  1  1
patches
  a b d c
  c d g f
  d e h g
edges
  c d  grade=geometric:h=1e-4,last
  d e  grade=geometric:h=1e-4,first
boundaries
  b d e  corner
  f g h  lid
  * wall
END
}

# disc.patches: the unit disc in five patches of 8 x 8 cells.
disc() {
  cat >disc.patches <<'END'
cells 8
vertices
  a -0.3 -0.3
  b  0.3 -0.3
  c  0.3  0.3
  d -0.3  0.3
  A -sqrt(0.5) -sqrt(0.5)
  B  sqrt(0.5) -sqrt(0.5)
  C  sqrt(0.5)  sqrt(0.5)
  D -sqrt(0.5)  sqrt(0.5)
patches
  a b c d
  A B b a
  B C c b
  C D d c
  D A a d
edges
  A B C D A  arc=0,0
boundaries
  * wall
END
}

# square.patches: the unit square in four patches of 8 x 8 cells.
square() {
  printf '%s\n' 'cells 8' vertices 'a 0 0' 'b 0.5 0' 'c 1 0' 'd 0 0.5' 'e 0.5 0.5' 'f 1 0.5' 'g 0 1' 'h 0.5 1' 'i 1 1' patches 'a b e d' \
    'b c f e' 'd e h g' 'e f i h' boundaries 'a d g left' '* wall' >square.patches
}

run_case() {
  declare -F "case_$1" >/dev/null || {
    echo "no case $1"
    exit 1
  }
  "case_$1"
  [ "$failures" -eq 0 ]
}
