#!/usr/bin/env bash
# Build the virtual environment VENV from the locked requirements LOCK, and install this checkout
# into it: bootstrap.sh VENV LOCK
#
# VENV/.installed is written last: without it, the environment is rebuilt from nothing.
set -euo pipefail

venv=$1
lock=$2

fail() {
  echo "bootstrap: $1" >&2
  exit 2
}

# Print the first CPython 3.9-3.11 on PATH that can make virtual environments. Each is run, as being
# on PATH proves little: version managers leave stubs there, and some systems split off ensurepip.
find_python() {
  local probe='
import ensurepip, os, sys, venv
if not (3, 9) <= sys.version_info[:2] <= (3, 11) or sys.implementation.name != "cpython":
    sys.exit(1)
print(os.path.realpath(sys.executable))'
  local candidate
  while read -r candidate; do
    "$candidate" -c "$probe" 2>/dev/null && return
  done < <(type -aP python3.11 python3.10 python3.9 python3 python)
  return 1
}

[ "$(uname -sm)" = "Linux x86_64" ] ||
  fail "TensorFlow Federated is published for Linux on x86-64 only, this is $(uname -sm)"

if python=$(find_python); then
  make_venv=("$python" -m venv "$venv")
elif type -P uv >/dev/null; then
  make_venv=(uv venv --quiet --seed --python ">=3.9,<3.12" "$venv")
else
  fail "needs Python 3.9, 3.10 or 3.11 with its venv and ensurepip modules, or uv; found none on PATH"
fi

rm -f "$venv/.installed"
rm -rf "$venv"
"${make_venv[@]}" >/dev/null 2>&1 || fail "this failed, run it to see why: ${make_venv[*]@Q}"
echo "Installing $lock into $venv with $("$venv/bin/python" -V): 2 to 3 minutes, once."
"$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input \
  --no-deps --require-hashes --only-binary :all: -r "$lock"
# This checkout, as it is: the command f3ast-tff, and f3ast_tff from any folder.
"$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input \
  --no-deps --no-build-isolation --editable "$(dirname "${BASH_SOURCE[0]}")/.."
touch "$venv/.installed"
