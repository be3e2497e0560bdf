#!/usr/bin/env bash
# build.sh [WORK]: builds the site of these pages in WORK/site (build/site), as strictly as mkdocs can. mkdocs comes from PyPI
# into WORK/site-packages. Exit code 77: it cannot be installed.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(readlink -f "$here/../..")
work=${1:-$root/build}
venv=$work/site-packages
mkdir -p "$work"
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
  rm -rf "$venv"
  { "${PYTHON:-python3}" -m venv "$venv" &&
    "$venv/bin/python" -m pip --quiet --disable-pip-version-check install -r "$here/requirements.txt"; } >"$work/site.log" 2>&1 || {
    echo "skipped: mkdocs cannot be installed: $(tail -1 "$work/site.log")"
    exit 77
  }
  cp "$here/requirements.txt" "$venv"
fi
export NO_MKDOCS_2_WARNING=1
"$venv/bin/python" -m mkdocs build --strict --config-file "$root/mkdocs.yml" --site-dir "$work/site" >"$work/site.log" 2>&1 || {
  cat "$work/site.log"
  exit 1
}
if grep -rlE '(src|href)="(https?:)?//[^"]*\.(js|css|woff2?)"' "$work/site" --include=*.html; then
  echo "these pages load files from the network"
  exit 1
fi
echo "$(find "$work/site" -name index.html | wc -l) pages in $work/site"
