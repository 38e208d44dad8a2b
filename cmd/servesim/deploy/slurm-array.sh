#!/bin/bash
# Plays a study as a Slurm array: every task plays one shard, with all of its cores.
#
#   sbatch slurm-array.sh chat --vary workload.rate=10,20,30 --seeds 100
#   servesim merge servesim-JOBID/part-*.jsonl -o results.jsonl
#
# Arguments are those of `servesim runs`. The number of shards is that of the tasks; sbatch's own options win over the
# lines below: sbatch --array=0-99 --cpus-per-task=32 slurm-array.sh …
# To play a lost shard again, say how many there were and where the others are:
#
#   SHARDS=4 RESULTS=servesim-JOBID sbatch --array=2 slurm-array.sh …the same arguments…
#
# SERVESIM is the program, if it is not in the PATH of the nodes; RESULTS a directory that all nodes share.
#SBATCH --job-name=servesim
#SBATCH --array=0-3
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --output=%x-%A_%a.log
set -euo pipefail

results=${RESULTS:-servesim-$SLURM_ARRAY_JOB_ID}
part=$SLURM_ARRAY_TASK_ID
mkdir -p "$results"

# One simulation a core at a time. Slurm may hand out cores without confining the task to them.
export GOMAXPROCS=${SLURM_CPUS_PER_TASK:-1}

# servesim knows Slurm's variables; only a repeated shard has to be named.
exec "${SERVESIM:-servesim}" runs "$@" ${SHARDS:+--shard "$part/$SHARDS"} -o "$results/part-$part.jsonl"
