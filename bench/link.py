#!/usr/bin/env python3
"""Ranks on two hosts with a link of 1 Gbit/s between them, for which network namespaces stand (root, iproute2, Open MPI).

    bench/link.py overlap [PAIRS]     how much of the gradient traffic of d = 2 hides behind the backward
    bench/link.py scatter [PAIRS]     steps of t = 2, p = 2 with scatter/gather beside without

Runs of both kinds take turns; the last line has the number with its 90% interval over the pairs (Student's t).
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOSTS = ROOT / "tools/hosts/hosts.sh"
PROGRAM = ROOT / "build/release/trireme"
T95 = [6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812]  # 95% quantiles by degrees of freedom

# GPT-2 124M's layers with a vocabulary of 8192.
OVERLAP = """--num-layers 12 --hidden-size 768 --num-attention-heads 12 --seq-length 256 --max-position-embeddings 1024
--vocab-size 8192 --micro-batch-size 4 --global-batch-size 16 --train-iters 4 --threads-per-rank 1""".split()
# Narrow layers: a boundary weighs as much as what is computed between two of them.
SCATTER = """--num-layers 2 --hidden-size 256 --num-attention-heads 4 --seq-length 256 --vocab-size 512 --micro-batch-size 8
--global-batch-size 128 --train-iters 10 --threads-per-rank 1 --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2""".split()
COMMON = "--mock-data --eval-iters 0 --lr 1e-4 --hidden-dropout 0 --attention-dropout 0 --log-interval 100".split()


def run(name, ranks_each, options):
    """Seconds of a step, the median behind the first; and the share of them in which ranks wait for data ranks."""
    with tempfile.TemporaryDirectory() as folder:
        metrics = pathlib.Path(folder) / "metrics.jsonl"
        subprocess.run([HOSTS, "mpirun", name, "2", str(ranks_each), PROGRAM, "train", *options, *COMMON, "--metrics-file", metrics],
                       check=True, stdout=subprocess.DEVNULL, timeout=600)
        records = [json.loads(line) for line in metrics.read_text().splitlines()]
    seconds = sorted(record["seconds"] for record in records if record.get("iteration", 0) > 1 and "loss" in record)
    shares = next(record["time"] for record in records if "time" in record)
    return seconds[len(seconds) // 2], shares["data"]["least"]


def interval(values):
    n = len(values)
    mean = sum(values) / n
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    half = T95[min(n - 1, len(T95)) - 1] * deviation / math.sqrt(n)
    return f"{mean:.3f}, 90% interval {mean - half:.3f} to {mean + half:.3f}, {n} pairs"


def overlap(name, pairs):
    """The last rank to come waits least: what it waits for is the link alone."""
    hidden = []
    for pair in range(pairs):
        waits = {}
        for flag in ["--overlap-grad-reduce", "--no-overlap-grad-reduce"][:: 1 if pair % 2 else -1]:
            step, share = run(name, 1, [*OVERLAP, flag])
            waits[flag] = step * share
            print(f"{flag}: {step:.3f} s a step, {step * share:.3f} s of it waiting for gradients", flush=True)
        hidden.append(1 - waits["--overlap-grad-reduce"] / waits["--no-overlap-grad-reduce"])
    print(f"hidden share of the gradient traffic: {interval(hidden)}")


def scatter(name, pairs):
    ratios = []
    for pair in range(pairs):
        steps = {}
        for flag in ["--scatter-gather-tensors-in-pipeline", "--no-scatter-gather-tensors-in-pipeline"][:: 1 if pair % 2 else -1]:
            steps[flag], _ = run(name, 2, [*SCATTER, flag])
            print(f"{flag}: {steps[flag]:.3f} s a step", flush=True)
        ratios.append(steps["--no-scatter-gather-tensors-in-pipeline"] / steps["--scatter-gather-tensors-in-pipeline"])
    print(f"tokens/s with scatter/gather over without: {interval(ratios)}")


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what not in ("overlap", "scatter"):
        sys.exit(__doc__)
    name = f"trireme-link-{os.getpid()}"
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    try:
        subprocess.run([HOSTS, "up", name, "2", "1gbit"], check=True)
        {"overlap": overlap, "scatter": scatter}[what](name, pairs)
    finally:
        subprocess.run([HOSTS, "down", name], check=False)


if __name__ == "__main__":
    main()
