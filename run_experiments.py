"""Runs a federated experiment under intermittent client availability, or a campaign of many.

python run_experiments.py --algorithm=f3ast --availability=home_devices --rounds=100
python run_experiments.py --campaign=table3_synthetic

Writes <output_dir>/<run_name>/: config.json, metrics.csv, selection.npz, summary.json,
checkpoints/ and TensorBoard events. A campaign writes <output_dir>/<campaign>/: manifest.json and
runs/<run>/ for each. The same command goes on with what was interrupted.
"""

import sys

from absl import flags

from f3ast_tff.command_line import flags as experiment_flags
from f3ast_tff.command_line.run import BAD_INPUT, run


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
    given, of_campaign = experiment_flags.given(values), experiment_flags.given_of_campaign(values)
    if not of_campaign:
        return run(given)
    if "campaign" not in of_campaign:
        name = next(iter(of_campaign))
        print(f"error: --{name} is of a campaign; --campaign is not given", file=sys.stderr)
        return BAD_INPUT
    # Here, so that a single run does without it.
    from f3ast_tff.campaigns.command import Options, run_campaign

    of_campaign["list_only"] = of_campaign.pop("list", False)
    of_campaign["ray_address"] = given.pop("ray_address", None)
    return run_campaign(Options(**of_campaign), given)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
