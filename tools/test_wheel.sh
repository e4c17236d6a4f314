#!/usr/bin/env bash
# Build the wheel with BUILD_PYTHON, and for each PYTHON install it with what the fused engine needs into a
# new environment and test the plug-ins there, outside the checkout: test_wheel.sh BUILD_PYTHON [PYTHON ...]
#
# Without a PYTHON: BUILD_PYTHON's own version, and the newest CPython from 3.12 on that is found.
set -euo pipefail

build_python=$1
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Print CPython 3.12 or newer, the newest first; each is run, as version managers leave stubs on PATH.
find_newer() {
  local probe='
import ensurepip, os, sys, venv
if sys.version_info < (3, 12) or sys.implementation.name != "cpython":
    sys.exit(1)
print(os.path.realpath(sys.executable))'
  local candidate
  while read -r candidate; do
    "$candidate" -c "$probe" 2>/dev/null && return
  done < <(type -aP python3.14 python3.13 python3.12 python3 || true
           compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.1[2-9]*/bin/python3" | sort -Vr || true)
  return 0
}

pythons=("$@")
if [ ${#pythons[@]} -eq 0 ]; then
  pythons=("$("$build_python" -c 'import sys; print(sys.executable)')")
  newer=$(find_newer)
  if [ -n "$newer" ]; then
    pythons+=("$newer")
  else
    echo "No Python from 3.12 on is here: the wheel is tested on one version alone." >&2
  fi
fi

mkdir -p "$folder/source" "$folder/tree/tests"
# From a copy: building leaves files behind.
cd "$root"
git ls-files -z --cached --others --exclude-standard |
  xargs -0 tar --ignore-failed-read -cf - | tar -xf - -C "$folder/source"
"$build_python" -m pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation \
  --wheel-dir "$folder" "$folder/source"
wheel=$(echo "$folder"/*.whl)
cp -r examples "$folder/tree/examples"
cp -r tests/examples "$folder/tree/tests/examples"
printf '[pytest]\nmarkers =\n    ray: not here\n' >"$folder/tree/pytest.ini"
cd "$folder/tree"
for python in "${pythons[@]}"; do
  command -v "$python" >/dev/null || {
    echo "error: $python is not there" >&2
    exit 2
  }
  rm -rf "$folder/venv"
  "$python" -m venv "$folder/venv"
  "$folder/venv/bin/python" -m pip install -qq --disable-pip-version-check "$wheel[fused]" pytest
  "$folder/venv/bin/python" -c "
import platform, f3ast_tff, jax
print('wheel on Python', platform.python_version(), 'JAX', jax.__version__, f3ast_tff.__file__)"
  "$folder/venv/bin/python" -m pytest -q -p no:cacheprovider -m "not ray" -k "not tff" tests/examples
done
