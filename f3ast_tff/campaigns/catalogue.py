"""The campaigns that come with the suite: one file each in `grids/`."""

from __future__ import annotations

from pathlib import Path

from f3ast_tff.campaigns.errors import CampaignError

_FOLDER = Path(__file__).parent / "grids"


def names() -> list[str]:
    """Returns the names of the built-in campaigns, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def find(name_or_file: str) -> Path:
    """Returns the file of a campaign.

    Args:
        name_or_file: Name of a built-in campaign, or the path of a file that ends in `.toml`.

    Raises:
        CampaignError: If there is neither.
    """
    if name_or_file in names():
        return _FOLDER / f"{name_or_file}.toml"
    path = Path(name_or_file)
    if path.suffix == ".toml" and path.is_file():
        return path
    allowed = f"must be one of {', '.join(names())}, or a file that ends in .toml"
    raise CampaignError(f"--campaign={name_or_file}: {allowed}")
