"""Runs a federated experiment, or a campaign of many; the same as the command `f3ast-tff`.

python run_experiments.py --algorithm=f3ast --availability=home_devices --rounds=100
python run_experiments.py --campaign=table3_synthetic
"""

import sys

from f3ast_tff.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
