#!/usr/bin/env bash
# Print every CPython 3.LEAST to 3.MOST found, one a version, the oldest first: pythons.sh LEAST MOST
#
# Looked for on PATH, among pyenv's and among uv's. Each is run, as version managers leave stubs on
# PATH, and must be able to make a virtual environment.
set -euo pipefail

probe="
import ensurepip, os, sys, venv
if sys.implementation.name != 'cpython' or not (3, $1) <= sys.version_info[:2] <= (3, $2):
    sys.exit(1)
print(sys.version_info[1], os.path.realpath(sys.executable))"
names=(python3 python)
for minor in $(seq "$1" "$2"); do names+=("python3.$minor"); done
{
  type -aP "${names[@]}" || true
  compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.*/bin/python3" || true
  ! type -P uv >/dev/null || uv python find --no-python-downloads ">=3.$1,<3.$(($2 + 1))" || true
} 2>/dev/null | while read -r candidate; do
  "$candidate" -c "$probe" 2>/dev/null || true
done | sort -snu -k1,1 | cut -d ' ' -f 2-
