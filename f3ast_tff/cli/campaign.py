"""`f3ast-tff campaign`: many runs, from a grid."""

from __future__ import annotations

import sys

from f3ast_tff.campaigns import Options
from f3ast_tff.campaigns.command import run_campaign
from f3ast_tff.campaigns.grid_file import CampaignError
from f3ast_tff.campaigns.measurement import MeasurementError
from f3ast_tff.cli.failures import BAD_INPUT, FAILED, fail, fail_of_machine
from f3ast_tff.cli.flags import CAMPAIGN, Parsed, setting_flags
from f3ast_tff.core.errors import DataError, Interrupted, ParameterError
from f3ast_tff.core.signals import Signals

_INTERRUPTED = "interrupted: the same command goes on with the campaign"


def campaign(parsed: Parsed, signals: Signals) -> int:
    """Runs a campaign, or goes on with it; returns the exit code."""
    signals.message = _INTERRUPTED
    try:
        options = Options(**parsed.campaign)
        return run_campaign(options, parsed.settings, parsed.registry, signals)
    except (CampaignError, DataError, ParameterError) as error:
        return fail(error, BAD_INPUT, {*setting_flags(parsed.registry), *CAMPAIGN})
    except MeasurementError as error:
        return fail(error, FAILED)
    except BrokenPipeError:
        raise
    except (MemoryError, OSError) as error:
        return fail_of_machine(error)
    except Interrupted:
        print(_INTERRUPTED, file=sys.stderr)
        return signals.exit_code
