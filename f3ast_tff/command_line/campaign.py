"""`f3ast-tff campaign`: many runs, from a grid."""

from __future__ import annotations

import sys

from f3ast_tff.campaigns.command import Options, run_campaign
from f3ast_tff.campaigns.grid_file import CampaignError
from f3ast_tff.command_line.failures import BAD_INPUT, INTERRUPTED, fail
from f3ast_tff.command_line.flags import CAMPAIGN, Parsed, setting_flags
from f3ast_tff.errors import ParameterError


def campaign(parsed: Parsed) -> int:
    """Runs a campaign, or goes on with it; returns the exit code."""
    options = dict(parsed.campaign)
    settings = dict(parsed.settings)
    options["list_only"] = options.pop("list", False)
    options["ray_address"] = settings.pop("ray_address", None)
    try:
        return run_campaign(Options(**options), settings, parsed.registry)
    except (CampaignError, ParameterError) as error:
        return fail(error, BAD_INPUT, {*setting_flags(parsed.registry), *CAMPAIGN})
    except KeyboardInterrupt:
        print("interrupted: the same command goes on with the campaign", file=sys.stderr)
        return INTERRUPTED
