#!/usr/bin/env python3
"""A whole run in PyTorch, to compare with `trireme train`: from documents to a validation loss.

Writes tests/golden/curve.json: the losses of all steps and the validation losses of a small GPT on
documents that follow from a formula. src/app/curve_test.cpp makes the same documents, runs the
program with the options in the file, and compares. golden_gpt.py holds single steps to rounding;
this holds what lies around them: the split into parts, epochs, the order of samples, dropout by
sample position, the learning rate's course, clipping over hundreds of updates, evaluation.

Model, loss and optimizer are golden_gpt.py's; documents, orders and the learning rate are written
here from their formats, the shuffles by NumPy's RandomState. Shares no code with the trainer.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch numpy
    /tmp/golden/bin/python tools/golden_curve.py            writes the file
    /tmp/golden/bin/python tools/golden_curve.py --check    compares with the file that is there
"""

import argparse
import datetime
import json
import math
import pathlib

import golden_gpt
import numpy as np
import torch

FORMAT_NAME, FORMAT_VERSION = "trireme-golden-curve", 1

EVAL_INTERVAL, EVAL_ITERS = 60, 8
LR_WARMUP_ITERS, MIN_LR = 30, 3e-4
DOCUMENTS = 160
TRAIN_SHARE = 0.9

V = golden_gpt.Variant(
    "curve",
    hidden_dropout=0.1,
    attention_dropout=0.1,
    num_layers=2,
    hidden_size=64,
    num_attention_heads=4,
    ffn_hidden_size=256,
    seq_length=32,
    max_position_embeddings=32,
    vocab_size=96,
    seed=4321,
    micro_batch_size=4,
    global_batch_size=8,
    train_iters=300,
    lr=3e-3,
    adam_beta2=0.99,
)


def documents():
    """Token lists. Three times in four a token follows from the two before it, otherwise it is
    drawn; the last id ends a document. Numbers from a linear congruential generator mod 2^32."""
    state = 2025

    def draw(below):
        nonlocal state
        state = (state * 1664525 + 1013904223) % 2**32
        return (state >> 16) % below

    words = V.vocab_size - 1
    made = []
    for _ in range(DOCUMENTS):
        tokens = [draw(words), draw(words)]
        for _ in range(20 + draw(200)):
            if draw(4) < 3:
                tokens.append((5 * tokens[-1] + 40 * (tokens[-2] % 2) + 7) % words)
            else:
                tokens.append(draw(words))
        made.append(tokens + [words])
    return made


def samples(made, part, wanted):
    """tokens int32 [wanted, s + 1] of a part (a range of documents), in the order of training:
    whole epochs of shuffled documents, cut into samples that share one token with the next, and
    shuffled; an incomplete last epoch is shuffled for itself unless it is nearly whole."""
    s = V.seq_length
    per_epoch = sum(len(made[d]) for d in part)
    epochs = 1
    while epochs * per_epoch < wanted * s + 1:
        epochs += 1
    before = ((epochs - 1) * per_epoch - 1) // s
    whole = (per_epoch - 1) // s
    apart = epochs > 1 and wanted - before < int(0.80 * whole)
    random = np.random.RandomState(V.seed)

    def shuffled(numbers):
        numbers = np.array(numbers)
        random.shuffle(numbers)
        return list(numbers)

    if apart:
        order = shuffled(list(part) * (epochs - 1)) + shuffled(part)
    else:
        order = shuffled(list(part) * epochs)
    count = (epochs * per_epoch - 1) // s
    if apart:
        places = shuffled(range(before)) + shuffled(range(before, count))
    else:
        places = shuffled(range(count))
    stream = np.concatenate([np.array(made[d], np.int32) for d in order])
    return np.stack([stream[s * k : s * k + s + 1] for k in places[:wanted]])


def learning_rate(consumed):
    """Linear warm-up from 0, then a cosine down to the least rate at the run's end, in samples."""
    warmup = LR_WARMUP_ITERS * V.global_batch_size
    if consumed <= warmup:
        return V.lr * consumed / warmup
    ratio = (consumed - warmup) / (V.train_iters * V.global_batch_size - warmup)
    return MIN_LR + (V.lr - MIN_LR) * 0.5 * (1 + math.cos(math.pi * ratio))


def validation_loss(parameters, tokens, dtype):
    w = {name: torch.tensor(x, dtype=dtype) for name, x in parameters.items()}
    calm = golden_gpt.dataclasses.replace(V, hidden_dropout=0.0, attention_dropout=0.0)
    with torch.no_grad():
        losses = golden_gpt.token_losses(calm, w, torch.from_numpy(tokens).long(), [])
    return losses.mean().item()


def train(dtype):
    made = documents()
    border = round(TRAIN_SHARE * len(made))
    tokens = samples(made, range(border), V.train_iters * V.global_batch_size)
    held_out = samples(
        made,
        range(border, len(made)),
        (V.train_iters // EVAL_INTERVAL + 1) * EVAL_ITERS * V.global_batch_size,
    )
    data = (tokens, np.ones((len(tokens), V.seq_length), np.float32))
    state = golden_gpt.first_state(V)
    losses, validations = [], []
    for step in range(1, V.train_iters + 1):
        rate = learning_rate((step - 1) * V.global_batch_size)
        at_rate = golden_gpt.dataclasses.replace(V, lr=rate)
        loss, _, _, state = golden_gpt.train_step(at_rate, state, data, step, dtype)
        losses.append(loss)
        if step % EVAL_INTERVAL == 0:
            each = EVAL_ITERS * V.global_batch_size
            first = len(validations) * each
            validations.append(
                validation_loss(state["parameter"], held_out[first : first + each], dtype)
            )
    counts = np.bincount(np.concatenate([made[d] for d in range(border, len(made))]))
    shares = counts[counts > 0] / counts.sum()
    return losses, validations, float(-(shares * np.log(shares)).sum())


def options():
    """As `trireme train` takes them; dataset and tokenizer are the test's."""
    return {
        "num-layers": V.num_layers,
        "hidden-size": V.hidden_size,
        "num-attention-heads": V.num_attention_heads,
        "seq-length": V.seq_length,
        "hidden-dropout": V.hidden_dropout,
        "attention-dropout": V.attention_dropout,
        "init-method-std": V.init_method_std,
        "micro-batch-size": V.micro_batch_size,
        "global-batch-size": V.global_batch_size,
        "train-iters": V.train_iters,
        "lr": V.lr,
        "min-lr": MIN_LR,
        "lr-decay-style": "cosine",
        "lr-warmup-iters": LR_WARMUP_ITERS,
        "adam-beta1": V.adam_beta1,
        "adam-beta2": V.adam_beta2,
        "adam-eps": V.adam_eps,
        "weight-decay": V.weight_decay,
        "clip-grad": V.clip_grad,
        "seed": V.seed,
        "split": "90,10",
        "eval-interval": EVAL_INTERVAL,
        "eval-iters": EVAL_ITERS,
    }


def main():
    default_out = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/curve.json"
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=default_out)
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float32")
    parser.add_argument("--date", default=str(datetime.date.today()))
    parser.add_argument("--check", action="store_true", help="compare with the file, write none")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    losses, validations, entropy = train(getattr(torch, arguments.dtype))
    print(f"training loss {losses[0]:.4f} to {losses[-1]:.4f}; validation {validations}")
    print(f"entropy of the held-out tokens' counts {entropy:.4f}")
    if arguments.check:
        there = json.loads(arguments.out.read_text())["validation_losses"]
        worst = max(abs(a / b - 1) for a, b in zip(validations, there, strict=True))
        print(f"the file's validation losses are within {worst:.1e}")
        if worst > 5e-3:
            raise SystemExit("the file differs from what this script computes")
        return
    content = {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "script": "tools/golden_curve.py",
        "date": arguments.date,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "dtype": arguments.dtype,
        "options": options(),
        "vocab_size": V.vocab_size,
        "documents": DOCUMENTS,
        "losses": [round(loss, 6) for loss in losses],
        "validation_losses": [round(loss, 6) for loss in validations],
    }
    arguments.out.write_text(json.dumps(content, indent=1) + "\n")
    print(f"wrote {arguments.out}")


if __name__ == "__main__":
    main()
