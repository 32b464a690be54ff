#!/usr/bin/env python3
"""A training step of GPT-2 124M in PyTorch on this machine's cores: the peer of step_bench.

    python3 bench/pytorch_step.py [--steps N] [--compile]

The same work as ours: fp32, random tokens, forward, mean cross entropy, backward, clipping to 1 by
the global norm, AdamW. Tuned as far as we know: fused attention (scaled_dot_product_attention),
fused AdamW, gradients set to None, one thread per core and one thread pool, and with --compile the
compiler. Prints the median step, tokens/s, the model's FLOP/s as the paper counts them, and the
process's largest resident memory. `./dev bench step` runs it where PyTorch is installed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

LAYERS, WIDTH, HEADS, POSITIONS, WORDS = 12, 768, 12, 1024, 50257
SETTINGS = [(4, 256, 0.0), (4, 256, 0.1), (2, 1024, 0.0), (2, 1024, 0.1)]  # sequences, length, dropout


def build(torch, dropout):
    nn, F = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.fc1, self.fc2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.drop = nn.Dropout(dropout)

        def forward(self, x):
            b, s, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            p = dropout if self.training else 0.0
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)
            x = x + self.drop(self.projection(y.transpose(1, 2).reshape(b, s, WIDTH)))
            return x + self.drop(self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh")))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(POSITIONS, WIDTH)
            self.drop = nn.Dropout(dropout)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, tokens, labels):
            x = self.drop(self.words(tokens) + self.positions(torch.arange(tokens.shape[1])))
            for layer in self.layers:
                x = layer(x)
            logits = F.linear(self.norm(x), self.words.weight)  # tied
            return F.cross_entropy(logits.view(-1, WORDS), labels.view(-1))

    return Model()


def resident_mib(key):
    """A line of this process's status: VmHWM (the most there was) or VmRSS (now)."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(key + ":"):
                return int(line.split()[1]) / 1024
    raise SystemExit(f"/proc/self/status has no {key}")


def run(sequences, length, dropout, steps, compiled):
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    base = resident_mib("VmRSS")
    torch.manual_seed(1)
    model = build(torch, dropout)
    step_of = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    seconds = []
    for step in range(steps + 1):
        data = torch.randint(0, WORDS, (sequences, length + 1))
        start = time.perf_counter()
        loss = step_of(data[:, :-1], data[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        if step > 0:  # the first one allocates and compiles
            seconds.append(time.perf_counter() - start)
    median = statistics.median(seconds)
    tokens = sequences * length
    flops = 72 * tokens * LAYERS * WIDTH**2 * (1 + length / (6 * WIDTH) + WORDS / (12 * LAYERS * WIDTH))
    most = resident_mib("VmHWM")
    print(
        f"PyTorch {torch.__version__}{', compiled' if compiled else ''}: b {sequences}, s {length}, dropout {dropout}, "
        f"{torch.get_num_threads()} threads, {steps} steps: median {median:.3f} s (min {min(seconds):.3f}, max "
        f"{max(seconds):.3f}), {tokens / median:.0f} tokens/s, {flops / median / 1e9:.1f} GFLOP/s, largest resident "
        f"{most:.0f} MiB, {most - base:.0f} MiB more than after the import",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=5, help="timed steps behind the first")
    parser.add_argument("--compile", action="store_true", help="through torch.compile (needs a C++ compiler)")
    parser.add_argument("--setting", type=int, help=argparse.SUPPRESS)  # in a process of its own
    arguments = parser.parse_args()
    if arguments.setting is not None:
        run(*SETTINGS[arguments.setting], arguments.steps, arguments.compile)
        return
    for number in range(len(SETTINGS)):
        # A process each, so that memory is that of one setting.
        subprocess.run([sys.executable, *sys.argv, "--setting", str(number)], check=True)


if __name__ == "__main__":
    main()
