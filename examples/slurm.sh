#!/bin/bash
# A Slurm array: 20 jobs run mine.toml with 100 draws of the data, into one folder, runs/mine.
#
# f3ast-tff example mine.toml
# f3ast-tff campaign mine.toml --draw=0-99 --estimate
# sbatch slurm.sh
# f3ast-tff report --runs=runs/mine --out=report
#
# Give the third command again if jobs have failed or their time was too short: finished runs stay,
# interrupted ones go on. Further flags are the campaign's: sbatch slurm.sh --rounds=1000

#SBATCH --job-name=mine
#SBATCH --array=1-20
#SBATCH --cpus-per-task=2
#SBATCH --mem-per-cpu=1G
#SBATCH --time=00:30:00
#SBATCH --output=slurm-%A_%a.log
# A minute before the end: runs write checkpoints.
#SBATCH --signal=B:TERM@60

set -euo pipefail
# The folder of `sbatch`, with the environment in which f3ast-tff is installed, if it is .venv here.
if [ -f .venv/bin/activate ]; then source .venv/bin/activate; fi
# A run per core: libraries that use all cores would hinder each other.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

exec f3ast-tff campaign mine.toml --draw=0-99 \
  --shard="$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  --processes="$SLURM_CPUS_PER_TASK" "$@"
