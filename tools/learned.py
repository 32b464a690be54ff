#!/usr/bin/env python3
"""Tells whether a run learned: its last held-out loss against the entropy of the tokens by their frequency alone.

Reads the metrics of a run (JSON lines); exit status 1 unless the loss is below that entropy by MARGIN nats (default 0).
"""

import json
import sys


def last_value(lines, key):
    """The last number that a line gives for the key; None when no line has one."""
    found = None
    for line in lines:
        value = json.loads(line).get(key)
        found = value if isinstance(value, (int, float)) else found
    return found


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: learned.py METRICS.jsonl [MARGIN]")
    margin = float(sys.argv[2]) if len(sys.argv) == 3 else 0.0
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [line for line in file if line.strip()]
    loss = last_value(lines, "validation_loss")
    entropy = last_value(lines, "unigram_entropy")
    if loss is None or entropy is None:
        sys.exit(f"error: learned: {sys.argv[1]} lacks validation_loss or unigram_entropy; was the run validated (eval-iters)?")
    if not loss < entropy - margin:  # also when it is not a number
        sys.exit(f"error: learned: the model predicts {entropy - loss:.2f} nats a token better than frequencies do, {margin:.2f} are expected; "
                 "train for longer: ./dev quickstart --minutes 10")
    print(f"learned: on held-out text {entropy - loss:.2f} nats a token better than frequencies alone")


if __name__ == "__main__":
    main()
