#!/usr/bin/env python3
"""Writes the golden data of the tokenizer's tests: src/text/testdata/.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install tokenizers tiktoken regex
    /tmp/golden/bin/python tools/golden_tokenizer.py [--gpt2 FOLDER]

FOLDER holds GPT-2's vocab.json and merges.txt, which are not part of the repository; without it
golden_tokenizer.json stays as it is. All texts are written or generated here.

small/vocab.json, small/merges.txt   a vocabulary of 400 ids, trained on TRAINING by `tokenizers`
golden_tokenizer.json                provenance; the training text; texts and their token ids by
                                     GPT-2's vocabulary and by the small one
small/tokenizer.json                 the small one, in the form in which we write it
llama3/tokenizer.json                Llama 3's pattern over a vocabulary trained on TRAINING: merges
                                     of every way to spell a token, as in Llama 3's file; some
                                     tokens that no merge makes; special and added tokens
golden_llama3.json                   provenance; the texts' ids by llama3/tokenizer.json

Both tokenizer.json are loaded by `tokenizers`, which gives the golden ids, so that a test which
finds that we write them byte for byte has found that `tokenizers` reads what we write.

The ids of valid UTF-8 come from `tokenizers`, and a plain reference below (the `regex` module for
the split, repeated joining of the best pair) must agree. Those of Llama 3's pattern are `tiktoken`'s too, but for the added token. `tokenizers` takes no
invalid UTF-8: there the reference stands alone, and sees an invalid byte as a lone surrogate, which is no letter, number
or white space. Long lines come from `tokenizers` alone.
"""

import argparse
import base64
import datetime
import json
import pathlib
import random

import regex
import tiktoken
import tokenizers
from tokenizers import (ByteLevelBPETokenizer, Regex, Tokenizer, models, pre_tokenizers,
                        trainers)

OUT = pathlib.Path(__file__).resolve().parent.parent / "src" / "text" / "testdata"
END = "<|endoftext|>"
SMALL_SIZE = 400
LLAMA3_SIZE = 420
LLAMA3_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
                  r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

TRAINING = """\
Three banks of oars move one ship. The oars of the upper bank are long, the oars of the lower bank
are short, and all of them strike the water at the same moment. Nobody rows alone: the one who rows
too early is in the way of the one before, the one who rows too late is in the way of the one behind.
We'll say that the ship's speed is what its slowest bank allows. They've tried it with two banks, and
it's slower; they'd try it with four, but the keel won't carry them. I'm told that the water doesn't
care. You're free to count: 1 ship, 3 banks, 170 oars, 27 on a side below, 31 on a side above.

    while rowing:
        for bank in (1, 2, 3):
            bank.pull(strength=0.75)
            if bank.tired():
                bank.rest(seconds=10)

Ein Schiff mit drei Reihen von Rudern fährt schneller als eines mit zwei, wenn alle zugleich ziehen.
Le navire à trois rangs de rames avance plus vite; la mer, elle, reste la même.
Корабль с тремя рядами вёсел идёт быстрее, когда все гребут вместе.
三段の櫂を持つ船は速い。三段の櫂は同時に水を打つ。
Η τριήρης έχει τρεις σειρές κουπιών.
The signal is 🚣, the answer is 🚣🚣🚣. Prices: 12.50 €, 3/4, 50 %, x²+y²=z².
oars, oars, oars; water, water, water... "pull!" -- (again) -- [and again] -- {and once more}
"""

# Name and text. Valid Unicode; nothing that is a letter or number only in recent Unicode versions.
HARD = [
    ("empty", ""),
    ("a word", "oars"),
    ("a sentence", "The oars of the upper bank are long."),
    ("a leading space", " oars"),
    ("a trailing space", "oars "),
    ("many leading spaces", "      oars"),
    ("many trailing spaces", "oars      "),
    ("spaces of all lengths", " ".join("x" + " " * n for n in range(12))),
    ("only spaces", " " * 17),
    ("tabs and spaces", "\t\tif x:\t \t return \t\n"),
    ("line ends", "a\nb\r\nc\rd\n\ne\n\n\nf\r\n\r\ng"),
    ("a line end before spaces", "a\n  b\n \n  \n c"),
    ("spaces before a line end", "a  \n  b   \n"),
    ("vertical tab and form feed", "a\vb\fc \v d \f e"),
    ("separators of files", "a\x1cb\x1dc\x1ed\x1fe \x1c f"),
    ("next line", "a\u0085b \u0085 c\u0085\u0085d"),
    ("no-break spaces", "a\u00a0b\u00a0\u00a0c \u00a0d\u202fe\u2007f"),
    ("wide spaces", "a\u3000b\u3000\u3000c\u2003d\u2009e\u1680f\u205fg"),
    ("line and paragraph separators", "a\u2028b\u2029c\u2028\u2028d"),
    ("Mongolian vowel separator", "a\u180eb \u180e c\u180e\u180ed x \u180e"),
    ("zero-width characters", "a\u200bb\u200cc\u200dd\u2060e\ufefff \u200b g"),
    ("contractions", "it's he'd we'll they've I'm you're don't o'clock 'tis rock'n'roll"),
    ("contractions in capitals", "IT'S HE'D WE'LL THEY'VE I'M YOU'RE DON'T"),
    ("contractions alone", "'s 't 're 've 'm 'll 'd 's't're've'm'll'd ''s '' ' s"),
    ("contractions after symbols", "x)'s 5's _'ll \u2019s it\u2019s"),
    ("longer than contractions", "'sure 'tall 'ready 'very 'more 'llama 'down"),
    ("numbers", "0 00 123456789 3.14159 1e-5 0xFF 1,000,000 12:30 2024-01-31"),
    ("numbers in words", "abc123def 123abc R2D2 v1.2.3 x1 1x"),
    ("digits of other scripts", "\u0663\u0664\u0665 \u0967\u0968\u0969 \uff11\uff12\uff13 \u0e51\u0e52"),
    ("numbers that are no digits", "x\u00b2 \u00bd \u2167 \u2460\u2461 \u3007 \u4e00\u4e8c\u4e09"),
    ("symbols", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    ("symbols with spaces", "! ? -- ... != == => && || :: // /* */ <!-- --> \u20ac \u00a3"),
    ("code", "int main(int argc, char** argv) { return argc > 1 ? f(argv[1]) : -1; }\n"),
    ("indented code", "def f(x):\n    if x:\n        return [i for i in range(x)]\n\n\n    return None\n"),
    ("JSON", '{"a": [1, 2.5, null], "b\\n": "\\u00e9"}'),
    ("an address", "https://example.org/a/b?c=d&e=%20f#g mail@example.org"),
    ("Latin with marks", "Zo\u00eb na\u00efve \u00fcber \u0141\u00f3d\u017a \u0130stanbul \u0131 \u00df \u1e9e"),
    ("marks as characters of their own", "e\u0301 a\u0308o\u0308 n\u0303 \u0301x x\u0301\u0302\u0303y"),
    ("Greek and Cyrillic", "\u03a4\u03c1\u03b9\u03ae\u03c1\u03b7\u03c2 \u041a\u043e\u0440\u0430\u0431\u043b\u044c, \u0451\u043b\u043a\u0430"),
    ("Arabic and Hebrew", "\u0633\u0641\u064a\u0646\u0629\u060c \u0645\u064e\u0631\u0652\u0643\u064e\u0628 \u05e1\u05e4\u05d9\u05e0\u05d4"),
    ("Devanagari and Thai", "\u0928\u093e\u0935 \u0939\u093f\u0928\u094d\u0926\u0940 \u0e40\u0e23\u0e37\u0e2d\u0e19\u0e49\u0e33"),
    ("Chinese and Japanese", "\u4e09\u5c42\u6868\u7684\u6218\u8239\u3002\u6771\u4eac\u306e\u8239\u306f\u901f\u3044\uff01\u30ab\u30bf\u30ab\u30ca\u30fc"),
    ("Korean", "\ubc30\ub294 \ube60\ub974\ub2e4. \u1112\u1161\u11ab\u1100\u1173\u11af"),
    ("letters beyond the first plane", "\U0001d4d0\U0001d4d1 \U00010330\U00010331 \U00020000\U00020001"),
    ("emoji", "\U0001f600\U0001f6a3 \U0001f30a\U0001f30a\U0001f30a a\U0001f600b 1\U0001f6001"),
    ("emoji with joiners", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f6a3\u200d\u2640\ufe0f \U0001f3f4\u200d\u2620\ufe0f"),
    ("emoji with skin tones and flags", "\U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 1\ufe0f\u20e3"),
    ("control characters", "".join(map(chr, range(32))) + "\x7f"),
    ("controls of Latin-1", "".join(map(chr, range(0x80, 0xa0)))),
    ("Latin-1", "".join(map(chr, range(0xa0, 0x100)))),
    ("letters that stand for bytes in the files", "\u0100\u0120\u0143 \u010a\u0120the \u0120\u0120"),
    ("private use and no characters", "\ue000\uf8ff \ufffd \ufffe\uffff \U0010ffff x\ufffdy"),
    ("the end of text as text", "a<|endoftext|>b <|endoftext|> <|endoftext|"),
    ("a line of one letter", "a" * 1000),
    ("a line of two letters", "ab" * 500 + "b"),
    ("a line of one symbol", "=" * 999 + "\n" + "-" * 333),
    ("a line of one digit", "7" * 500),
    ("a line of spaces and a word", " " * 1000 + "oars"),
    ("a line of tabs", "\t" * 257),
    ("many line ends", "\n" * 300 + "x"),
    ("a long word", "Donaudampfschifffahrtsgesellschaftskapit\u00e4n" * 20),
    ("a long word of letters at random", "".join(random.Random(1).choices("abcdeorstw", k=2000))),
]

INVALID = [
    ("a byte that is never valid", b"\xff"),
    ("such bytes between letters", b"oars\xff\xfewater \xff \xc0x"),
    ("a space before such a byte", b"a \xff\xff b  \xff"),
    ("symbols around such a byte", b"!\xff? (\x80) '\xffs"),
    ("continuations alone", b"\x80\x81\xbf \x80a"),
    ("sequences cut short", b"\xc3 \xe2\x82 \xf0\x9f\x98 \xe2\x82a \xf0\x9f\x98\xe2\x82\xac"),
    ("a sequence cut short at the end", "oars \u20ac".encode()[:-1]),
    ("overlong forms", b"\xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf \xc1\xbf"),
    ("surrogates", b"\xed\xa0\x80 \xed\xb0\x80 a\xed\xbf\xbfb"),
    ("above the last code point", b"\xf4\x90\x80\x80 \xf5\x80\x80\x80 \xf8\x88\x80\x80\x80"),
    ("Latin-1 text", "f\u00e4hrt schneller, \u00e0 la m\u00eame".encode("latin-1")),
    ("UTF-16 text", "oars \u03c1".encode("utf-16-le")),
    ("valid and invalid", "\u00e9\u4e09\U0001f6a3".encode() + b"\xe4\xb8" + "\u4e09 \u00e9".encode()),
    ("all bytes", bytes(range(256))),
]

# For Llama 3's pattern.
HARD_LLAMA3 = [
    ("contractions in any case", "it's IT'S He'Ll they'VE I'M don'T x'\u017f 'S'T'RE"),
    ("numbers of many digits", "1 12 123 1234 12345 123456 1234567 a1234b \u0663\u0664\u0665\u0667 \u2167\u2167"),
    ("symbols before letters", "(oars) _oars \t\toars \u00a0oars $oars !!oars ?\u00e9"),
    ("symbols before line ends", "oars.\n\noars!\r\n\r\n  oars;\n\n\n oars ?\n x"),
    ("white space before line ends", "a  \n b \t\r\n\r\n  c \n\n \n d   \n   "),
    ("an added token", "a<tool>b <tool> <tool><tool>\n<tool"),
    ("special tokens as text", "<|begin_of_text|>oars<|end_of_text|>"),
    ("white space that is no space", "a\u3000\u3000b \u2028\n\u2029 c\u0085\u0085d"),
]

# Text is start + unit * times + end.
LONG = [
    ("ten million letters", "", "a", 10_000_000, ""),
    ("ten million spaces and a word", "x", " ", 10_000_000, "oars"),
    ("ten million line ends", "", "\n", 10_000_000, "x"),
]

# Ranges for texts at random: frequent things often.
RANGES = [(0x20, 0x7e)] * 6 + [(0x20, 0x20), (0x0a, 0x0a), (0x09, 0x0d), (0x27, 0x27), (0x30, 0x39),
          (0xa0, 0xff), (0x370, 0x377), (0x3b1, 0x3c9), (0x410, 0x44f), (0x5d0, 0x5ea), (0x627, 0x63a),
          (0x660, 0x669), (0x905, 0x939), (0x2000, 0x206f), (0x2160, 0x2188), (0x3041, 0x3096),
          (0x4e00, 0x4eff), (0xac00, 0xacff), (0x1f600, 0x1f64f), (0x300, 0x36f), (0x2028, 0x2029)]


def at_random(seed):
    r = random.Random(seed)
    pieces = []
    for _ in range(r.randint(1, 12)):
        low, high = r.choice(RANGES)
        pieces.append("".join(chr(r.randint(low, high)) for _ in range(r.randint(1, 5))))
    return "".join(pieces)


def letters():
    """Byte to letter, as GPT-2's files write bytes."""
    prints = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [b for b in range(256) if b not in prints]
    return {b: chr(b) for b in prints} | {b: chr(0x100 + n) for n, b in enumerate(others)}


class Reference:
    """The encoder, plainly: slow, and sees any bytes."""

    def __init__(self, vocab, merges, pattern=PATTERN, ignore_merges=False, added=()):
        self.vocab, self.letters, self.pattern = vocab, letters(), pattern
        self.ignore_merges, self.added = ignore_merges, dict(added)
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}

    def join(self, tokens):
        while len(tokens) > 1:
            pairs = list(zip(tokens, tokens[1:]))
            best = min(pairs, key=lambda pair: self.ranks.get(pair, 1 << 60))
            if best not in self.ranks:
                break
            at = pairs.index(best)
            tokens = [*tokens[:at], tokens[at] + tokens[at + 1], *tokens[at + 2:]]
        return tokens

    def encode(self, data):
        text = data.decode("utf-8", errors="surrogateescape")
        parts = [text]
        if self.added:
            parts = regex.split("(" + "|".join(map(regex.escape, self.added)) + ")", text)
        ids = []
        for part in parts:
            ids += [self.added[part]] if part in self.added else self.encode_plain(part)
        return ids

    def encode_plain(self, text):
        pieces = [match.group() for match in regex.finditer(self.pattern, text)]
        assert "".join(pieces) == text
        ids = []
        for piece in pieces:
            symbols = [self.letters[b] for b in piece.encode("utf-8", errors="surrogateescape")]
            if self.ignore_merges and "".join(symbols) in self.vocab:
                symbols = ["".join(symbols)]
            else:
                symbols = self.join(symbols)
            ids += [self.vocab[token] for token in symbols]
        return ids


class Pair:
    """The library and the reference over the same files."""

    def __init__(self, folder):
        vocab_json, merges_txt = folder / "vocab.json", folder / "merges.txt"
        self.library = ByteLevelBPETokenizer(str(vocab_json), str(merges_txt))
        merges = [tuple(line.split(" ")) for line in
                  merges_txt.read_text(encoding="utf-8").split("\n")[1:] if line]
        self.reference = Reference(json.loads(vocab_json.read_text(encoding="utf-8")), merges)

    def encode(self, name, text):
        by_library = self.library.encode(text).ids
        by_reference = self.reference.encode(text.encode())
        if by_library != by_reference:
            print(f"note: {name}: `tokenizers` differs from the reference, which is taken")
        return by_reference


def trained(pre_tokenizer, size):
    """Vocabulary in order of ids, and merges as pairs."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator([TRAINING], trainers.BpeTrainer(
        vocab_size=size, min_frequency=2, special_tokens=[], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(tokenizer.to_str())["model"]
    vocab = dict(sorted(model["vocab"].items(), key=lambda entry: entry[1]))
    return vocab, [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]


def byte_level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
            "use_regex": use_regex}


def write_tokenizer_json(folder, pre_tokenizer, vocab, merges, added, ignore_merges):
    """As our writer does. added: text and whether it is special, numbered behind the vocabulary."""
    document = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": len(vocab) + n, "content": text, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": special}
            for n, (text, special) in enumerate(added)],
        "normalizer": None, "pre_tokenizer": pre_tokenizer, "post_processor": byte_level(True),
        "decoder": byte_level(True),
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": ignore_merges, "vocab": vocab,
                  "merges": [" ".join(merge) for merge in merges]}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(document, indent=1) + "\n")


def train_small():
    vocab, merges = trained(pre_tokenizers.ByteLevel(add_prefix_space=False), SMALL_SIZE - 1)
    folder = OUT / "small"
    write_tokenizer_json(folder, byte_level(True), vocab, merges, [(END, True)], False)
    vocab[END] = len(vocab)
    lines = ["#version: 0.2", *(" ".join(merge) for merge in merges), ""]
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


class Llama3:
    """Encodes by llama3/tokenizer.json, which is written first."""

    def __init__(self):
        split = pre_tokenizers.Split(Regex(LLAMA3_PATTERN), "isolated")
        vocab, _ = trained(pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), LLAMA3_SIZE)
        # All ways to spell a token from two others, but for a few tokens, which then come of whole
        # pieces alone.
        merges = []
        for token, number in vocab.items():
            ways = [(token[:at], token[at:]) for at in range(1, len(token))]
            ways = [way for way in ways if way[0] in vocab and way[1] in vocab]
            if number % 10 != 9:
                merges += sorted(ways, key=lambda way: (vocab[way[0]], vocab[way[1]]))
        added = [("<|begin_of_text|>", True), ("<tool>", False), ("<|end_of_text|>", True)]
        self.special = len(vocab), len(vocab) + 2
        tool = {"<tool>": len(vocab) + 1}
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": LLAMA3_PATTERN}, "behavior": "Isolated",
             "invert": False}, byte_level(False)]}
        write_tokenizer_json(OUT / "llama3", pre_tokenizer, vocab, merges, added, True)
        self.library = Tokenizer.from_file(str(OUT / "llama3" / "tokenizer.json"))
        self.library.encode_special_tokens = True
        self.reference = Reference(vocab, merges, LLAMA3_PATTERN, True, tool)
        byte_of = {letter: byte for byte, letter in letters().items()}
        # `tiktoken` takes its merges from the ids of the results.
        self.by_rank = tiktoken.Encoding(
            "golden", pat_str=LLAMA3_PATTERN, special_tokens={},
            mergeable_ranks={bytes(byte_of[c] for c in token): number
                             for token, number in vocab.items() if number % 10 != 9 or len(token) == 1})

    def encode(self, name, text):
        by_library = self.library.encode(text).ids
        assert by_library == self.reference.encode(text.encode()), name
        assert self.library.decode(by_library, skip_special_tokens=False) == text, name
        return by_library

    def encode_long(self, unit, text):
        if not unit.isspace() or "\n" in unit:
            return self.library.encode(text).ids
        # Oniguruma gives up on a long run of white space ("retry-limit-in-match over").
        pieces = [match.group() for match in regex.finditer(LLAMA3_PATTERN, text)]
        assert "".join(pieces) == text
        spelled = ("".join(self.reference.letters[b] for b in piece.encode()) for piece in pieces)
        return [token.id for piece in spelled for token in self.library.model.tokenize(piece)]

    def check_by_rank(self, text):
        """Text without the pieces that only a token without a merge makes."""
        ids = self.reference.encode_plain(text)
        if all(number % 10 != 9 or number < 256 for number in ids):
            assert ids == self.by_rank.encode_ordinary(text), text
            return 1
        return 0


def runs(ids):
    out = []
    for token in ids:
        if out and out[-1][0] == token:
            out[-1][1] += 1
        else:
            out.append([token, 1])
    return out


def write_golden(name, golden, cases, long_cases):
    lines = [json.dumps(golden, indent=1)[:-2]]
    for key, entries in (("cases", cases), ("long_cases", long_cases)):
        rows = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
        lines.append(f' "{key}": [\n{rows}\n ]')
    (OUT / name).write_text(",\n".join(lines) + "\n}\n")


def check_small_json(small, named):
    """`tokenizers` reads small/tokenizer.json as it reads the two files."""
    library = Tokenizer.from_file(str(OUT / "small" / "tokenizer.json"))
    library.encode_special_tokens = True
    for name, text in named:
        assert library.encode(text).ids == small.library.encode(text).ids, name


def golden_llama3(named):
    llama3 = Llama3()
    cases = [{"name": name, "text": text, "llama3": llama3.encode(name, text)}
             for name, text in named + HARD_LLAMA3]
    cases += [{"name": name, "base64": base64.b64encode(data).decode(),
               "llama3": llama3.reference.encode(data)} for name, data in INVALID]
    checked = sum(llama3.check_by_rank(text) for _, text in named)
    print(f"tiktoken gives the same ids for {checked} texts")
    long_cases = []
    for name, start, unit, times, end in LONG:
        ids = llama3.encode_long(unit, start + unit * times + end)
        long_cases.append({"name": name, "start": start, "unit": unit, "times": times, "end": end,
                           "llama3_runs": runs(ids)})
    golden = {"provenance": {"script": "tools/golden_tokenizer.py",
                             "date": datetime.date.today().isoformat(),
                             "tokenizers": tokenizers.__version__,
                             "tiktoken": tiktoken.__version__, "regex": regex.__version__,
                             "texts that tiktoken was asked for too": checked}}
    write_golden("golden_llama3.json", golden, cases, long_cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpt2", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    small = Pair(train_small())
    named = HARD + [(f"at random {seed}", at_random(seed)) for seed in range(150)]
    check_small_json(small, named)
    golden_llama3(named)
    if options.gpt2 is None:
        print("golden_tokenizer.json stays as it is: no --gpt2")
        return
    gpt2 = Pair(options.gpt2)
    cases = []
    for name, text in named:
        cases.append({"name": name, "text": text, "gpt2": gpt2.encode(name, text),
                      "small": small.encode(name, text)})
    for name, data in INVALID:
        cases.append({"name": name, "base64": base64.b64encode(data).decode(),
                      "gpt2": gpt2.reference.encode(data), "small": small.reference.encode(data)})
    long_cases = []
    for name, start, unit, times, end in LONG:
        text = start + unit * times + end
        long_cases.append({"name": name, "start": start, "unit": unit, "times": times, "end": end,
                           "gpt2_runs": runs(gpt2.library.encode(text).ids),
                           "small_runs": runs(small.library.encode(text).ids)})

    golden = {
        "provenance": {
            "script": "tools/golden_tokenizer.py",
            "date": datetime.date.today().isoformat(),
            "tokenizers": tokenizers.__version__,
            "regex": regex.__version__,
            "gpt2": "ids by GPT-2's published vocab.json and merges.txt (50,257 entries)",
        },
        "training_text": TRAINING,
        "small_vocab_size": SMALL_SIZE,
    }
    write_golden("golden_tokenizer.json", golden, cases, long_cases)


if __name__ == "__main__":
    main()
