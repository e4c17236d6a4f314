"""Runs a federated experiment under intermittent client availability.

python run_experiments.py --algorithm=f3ast --availability=home_devices --rounds=100

Writes <output_dir>/<run_name>/: config.json, metrics.csv, selection.npz, summary.json,
checkpoints/ and TensorBoard events. The same command goes on with an interrupted run.
"""

import sys

from absl import flags

from experiments import flags as experiment_flags
from experiments.main import BAD_INPUT, run


def main(argv: list[str]) -> int:
    """Parses the command line and runs; returns the exit code."""
    if any(arg in ("--help", "-help", "-h", "--helpshort", "--helpfull") for arg in argv[1:]):
        print(experiment_flags.help_text(__doc__ or ""))
        return 0
    values = flags.FlagValues()
    experiment_flags.define(values)
    try:
        rest = experiment_flags.parse(argv, values)
    except (flags.Error, UnicodeDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    if rest:
        print(f"error: {rest[0]!r} is not a flag; see --help", file=sys.stderr)
        return BAD_INPUT
    return run(experiment_flags.given(values))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
