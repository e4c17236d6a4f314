#!/usr/bin/env bash
# Build the virtual environment VENV and install this checkout into it: bootstrap.sh VENV [LOCK]
#
# Python 3.11 on Linux x86-64 gets requirements/lock.txt, with TensorFlow Federated. Python 3.12
# to 3.14, for which it has no release, get requirements/fused.txt, or the LOCK named. PYTHON
# names the interpreter; without it the first on PATH is taken, and one that can have everything
# comes first.
#
# VENV/.installed is written last and holds the name of the lock: without it, the environment is
# rebuilt from nothing.
set -euo pipefail

venv=$1
root=$(dirname "${BASH_SOURCE[0]}")/..
lock=${2:-}
tff_platform=false
[ "$(uname -sm)" != "Linux x86_64" ] || [ -n "$lock" ] || tff_platform=true

fail() {
  echo "bootstrap: $1" >&2
  exit 2
}

# Another checkout's environment would be taken apart.
[ ! -L "$venv" ] || fail "$venv is a link, and would be rebuilt: remove it"

# Print the first CPython among the programs $2... whose minor version is in $1 and that can make
# virtual environments. Each is run, as being on PATH proves little: version managers leave stubs
# there, and some systems split off ensurepip.
find_python() {
  local minors=$1 candidate
  shift
  local probe="
import ensurepip, os, sys, venv
if sys.version_info[:2] not in [(3, minor) for minor in [$minors]] or sys.implementation.name != 'cpython':
    sys.exit(1)
print(os.path.realpath(sys.executable))"
  while read -r candidate; do
    "$candidate" -c "$probe" 2>/dev/null && return
  done < <(type -aP "$@")
  return 1
}

with_tff() { $tff_platform && find_python "11" "$@"; }
without_tff() { find_python "12, 13, 14" "$@"; }

if [ -n "${PYTHON:-}" ]; then
  python=$(with_tff "$PYTHON" || without_tff "$PYTHON") ||
    fail "PYTHON=$PYTHON: must be a CPython 3.11 to 3.14 (3.12 to 3.14 on $(uname -sm)) with venv and ensurepip"
  make_venv=("$python" -m venv "$venv")
elif python=$(with_tff python3.11 python3 python); then
  make_venv=("$python" -m venv "$venv")
elif python=$(without_tff python3.14 python3.13 python3.12 python3 python); then
  make_venv=("$python" -m venv "$venv")
elif type -P uv >/dev/null; then
  versions=">=3.12,<3.15"
  ! $tff_platform || versions=">=3.11,<3.12"
  make_venv=(uv venv --quiet --seed --python "$versions" "$venv")
else
  fail "needs Python 3.11 to 3.14 with its venv and ensurepip modules, or uv; found none on PATH"
fi

rm -f "$venv/.installed"
rm -rf "$venv"
"${make_venv[@]}" >/dev/null 2>&1 || fail "this failed, run it to see why: ${make_venv[*]@Q}"
if [ -n "$lock" ]; then
  :
elif "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
  lock=fused.txt
  echo "$("$venv/bin/python" -V) has no TensorFlow Federated: --engine=tff and the tests that run it are left out."
else
  lock=lock.txt
fi
echo "Installing requirements/$lock into $venv with $("$venv/bin/python" -V): 1 to 3 minutes, once."
pip=("$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input --no-deps)
"${pip[@]}" --require-hashes --only-binary :all: -r "$root/requirements/$lock"
# This checkout, as it is: the command f3ast-tff, and f3ast_tff from any folder.
"${pip[@]}" --no-build-isolation --editable "$root"
echo "$lock" >"$venv/.installed"
