"""`python -m tools.docs_site FOLDER`; see `pages`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.docs_site.pages import write


def main() -> None:
    """Writes the pages."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs_site", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="receives the pages; not emptied first")
    arguments = parser.parse_args()
    write(arguments.folder)


if __name__ == "__main__":
    main()
