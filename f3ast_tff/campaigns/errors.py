"""What a user can get wrong about a campaign, said in one line."""

from __future__ import annotations


class CampaignError(ValueError):
    """A campaign cannot be run as it is described; names the place, the value, what is allowed."""
