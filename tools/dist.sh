#!/usr/bin/env bash
# Build wheel and sdist into dist/ and check them. For each PYTHON install the wheel with what the
# fused engine needs into a new environment; run the command and test the plug-ins there, outside
# the checkout: dist.sh BUILD_PYTHON [PYTHON ...]
#
# Without a PYTHON: the oldest and the newest from 3.11 to 3.14 that are found.
set -euo pipefail

build_python=$1
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

pythons=("$@")
if [ ${#pythons[@]} -eq 0 ]; then
  mapfile -t found < <("$root/tools/pythons.sh" 11 14)
  pythons=("${found[@]::1}")
  [ ${#found[@]} -lt 2 ] || pythons+=("${found[-1]}")
fi
for python in "${pythons[@]}"; do
  command -v "$python" >/dev/null || {
    echo "error: $python is not there" >&2
    exit 2
  }
done

# From a copy: building leaves files behind.
mkdir -p "$folder/source" "$folder/tree/tests"
cd "$root"
git ls-files -z --cached --others --exclude-standard |
  xargs -0 tar --ignore-failed-read -cf - | tar -xf - -C "$folder/source"
rm -rf dist
"$build_python" -m venv "$folder/tools"
"$folder/tools/bin/python" -m pip install -qq --disable-pip-version-check --no-deps \
  --require-hashes --only-binary :all: -r requirements/build.txt
"$folder/tools/bin/python" -m build --no-isolation --outdir dist "$folder/source" >"$folder/build.log" || {
  cat "$folder/build.log" >&2
  exit 1
}
"$folder/tools/bin/python" -m twine check --strict dist/*
wheel=$(echo "$root"/dist/*.whl)

cp -r examples "$folder/tree/examples"
cp -r tests/examples "$folder/tree/tests/examples"
printf '[pytest]\nmarkers =\n    ray: not here\n    slow: not here\n    tff: not here\n' >"$folder/tree/pytest.ini"
cd "$folder/tree"
for python in "${pythons[@]}"; do
  rm -rf "$folder/venv"
  "$python" -m venv "$folder/venv"
  "$folder/venv/bin/python" -m pip install -qq --disable-pip-version-check "$wheel[fused]" pytest
  "$folder/venv/bin/python" -c "
import platform, f3ast_tff, jax
print('wheel on Python', platform.python_version(), 'JAX', jax.__version__, f3ast_tff.__file__)"
  "$folder/venv/bin/f3ast-tff" run --rounds=3 --run_name=dist --output_dir="$folder/runs"
  rm -r "$folder/runs"
  "$folder/venv/bin/python" -m pytest -q -p no:cacheprovider -m "not ray" -k "not tff" tests/examples
done
