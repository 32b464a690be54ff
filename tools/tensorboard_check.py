#!/usr/bin/env python3
"""Reads the event files of a folder with TensorBoard's own reader and prints each scalar's course.

    python3 -m venv /tmp/tensorboard && /tmp/tensorboard/bin/pip install tensorboard
    build/release/trireme train ... --tensorboard-dir out/tensorboard
    /tmp/tensorboard/bin/python tools/tensorboard_check.py out/tensorboard [metrics.jsonl]

With a metrics file the losses of both are compared. Exit status 1 when they differ or nothing was
read. --bytes prints the message of tensorboard_test.cpp as protobuf's own encoder writes it.
"""

import json
import sys


def check(folder, metrics):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(folder, size_guidance={"scalars": 0})
    events.Reload()
    tags = events.Tags()["scalars"]
    for tag in tags:
        course = events.Scalars(tag)
        print(f"{tag}: {len(course)} values, steps {course[0].step} to {course[-1].step}, last {course[-1].value:.6g}")
    if not tags:
        sys.exit(f"{folder}: TensorBoard finds no scalars")
    if metrics:
        with open(metrics, encoding="utf-8") as lines:
            steps = [json.loads(line) for line in lines]
        losses = {step["iteration"]: step["loss"] for step in steps if "loss" in step}
        read = {point.step: point.value for point in events.Scalars("lm loss")}
        worst = max(abs(read[i] - loss) / abs(loss) for i, loss in losses.items())
        print(f"{len(losses)} losses, largest relative difference to {metrics}: {worst:.1e}")
        if read.keys() != losses.keys() or worst > 1e-6:
            sys.exit("the losses differ")


def print_bytes():
    from tensorboard.compat.proto.event_pb2 import Event

    event = Event(wall_time=1.5, step=300)
    event.summary.value.add(tag="lm loss", simple_value=2.5)
    print(event.SerializeToString())


if __name__ == "__main__":
    if sys.argv[1:] == ["--bytes"]:
        print_bytes()
    elif len(sys.argv) in (2, 3):
        check(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None)
    else:
        sys.exit(__doc__)
