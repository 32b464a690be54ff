#!/usr/bin/env python3
"""Speed of the public tokenizers on a text, by a tokenizer.json of ours, beside build/release/text_bench.

    build/release/trireme tokenizer train TEXT --vocab-size 32768 --output OUT
    build/release/text_bench TEXT
    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install tokenizers tiktoken
    /tmp/peers/bin/python tools/tokenizer_peers.py TEXT OUT/tokenizer.json

The text (its first 100 MB) is handed over in pieces of about 256 KiB that end at line feeds, once
by one thread and once by all that the library takes; training is `tokenizers`' own, with the same
pattern and size. Ids must be those that `trireme tokenizer encode` prints, which is checked for the
first piece when --program names it.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

PIECE = 256 << 10


def pieces_of(text):
    pieces, at = [], 0
    while at < len(text):
        end = text.rfind("\n", at, at + PIECE) + 1 if at + PIECE < len(text) else len(text)
        end = end if end > at else min(len(text), at + PIECE)
        pieces.append(text[at:end])
        at = end
    return pieces


def timed(name, megabytes, action):
    begin = time.perf_counter()
    out = action()
    seconds = time.perf_counter() - begin
    print(f"{name}: {seconds:.2f} s = {megabytes / seconds:.1f} MB/s", flush=True)
    return out


def measure(options):
    """In a process of its own: the number of threads is read once."""
    import tokenizers
    text = options.text.read_bytes()[:100_000_000].decode("utf-8", errors="ignore")
    megabytes = len(text.encode()) / 1e6
    tokenizer = tokenizers.Tokenizer.from_file(str(options.tokenizer))
    tokenizer.encode_special_tokens = True
    threads = os.environ["RAYON_NUM_THREADS"]
    if options.measure == "train":
        fresh = tokenizers.Tokenizer(tokenizers.models.BPE())
        fresh.pre_tokenizer = tokenizer.pre_tokenizer
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=tokenizer.get_vocab_size(), min_frequency=2, show_progress=False,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        timed(f"tokenizers {tokenizers.__version__}, train, {threads} threads", megabytes,
              lambda: fresh.train_from_iterator(pieces_of(text), trainer))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"  peak memory of the process {after >> 10} MiB, {before >> 10} MiB before")
        return
    pieces = pieces_of(text)
    if options.measure == "tokenizers":
        encodings = timed(f"tokenizers {tokenizers.__version__}, encode, {threads} threads", megabytes,
                          lambda: tokenizer.encode_batch_fast(pieces))
        if options.program:
            command = [options.program, "tokenizer", "encode", "--tokenizer-model", options.tokenizer]
            ours = subprocess.run(command, input=pieces[0].encode(), capture_output=True, check=True)
            same = list(map(int, ours.stdout.split())) == encodings[0].ids
            print(f"  ids of the first piece are {'the same' if same else 'DIFFERENT'}")
            sys.exit(0 if same else 1)
        return
    import tiktoken
    document = json.loads(options.tokenizer.read_text())
    split = document["pre_tokenizer"].get("pretokenizers", [{}])[0].get("pattern")
    pattern = split["Regex"] if split else (
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    prints = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [b for b in range(256) if b not in prints]
    byte_of = {chr(b): b for b in prints} | {chr(0x100 + n): b for n, b in enumerate(others)}
    ranks = {bytes(byte_of[c] for c in token): rank
             for token, rank in document["model"]["vocab"].items()}
    encoding = tiktoken.Encoding("peer", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    timed(f"tiktoken {tiktoken.__version__}, encode, {threads} threads", megabytes,
          lambda: encoding.encode_ordinary_batch(pieces, num_threads=int(threads)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("tokenizer", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, help="trireme, to compare its ids")
    parser.add_argument("--measure", choices=("tokenizers", "tiktoken", "train"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options)
        return
    cores = len(os.sched_getaffinity(0))
    status = 0
    for what, threads in (("tokenizers", 1), ("tokenizers", cores), ("tiktoken", 1), ("tiktoken", cores),
                          ("train", cores)):
        environment = os.environ | {"RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
        command = [sys.executable, __file__, *sys.argv[1:], "--measure", what]
        status |= subprocess.run(command, env=environment, check=False).returncode
    sys.exit(status)


if __name__ == "__main__":
    main()
