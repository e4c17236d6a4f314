"""`python -m f3ast_tff` is the command `f3ast-tff`."""

import sys

from f3ast_tff.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
