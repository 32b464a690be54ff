"""Tests of ./dev quickstart with stand-ins for the program, which notes how it is called, and for the corpus."""

import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

STAND_IN = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if (here / "fails").exists() and (here / "fails").read_text() in sys.argv[1:]:
    sys.exit("error: the stand-in was told to fail")
options = dict(zip(sys.argv, sys.argv[1:]))
def write(path, text="x\\n"):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
if sys.argv[1] == "tokenizer":
    write(options["--output"] + "/vocab.json")
    write(options["--output"] + "/merges.txt")
elif sys.argv[1] == "preprocess":
    write(options["--output-prefix"] + "_text_document.bin")
    write(options["--output-prefix"] + "_text_document.idx")
elif sys.argv[1] == "train":
    print("iteration 6/12 | elapsed time per iteration (ms): 1500.7 | lm loss: 5")
    print("iteration 12/12 | elapsed time per iteration (ms): 100.2 | lm loss: 4")
    if "--save" in options:
        write(options["--save"] + "/latest_checkpointed_iteration.txt", "12")
        write(options["--loss-curve-file"], "<svg/>")
        write(options["--metrics-file"], '{{"validation_loss": 4.0}}\\n{{"unigram_entropy": 6.0}}\\n')
elif sys.argv[1] == "generate":
    print(options["--prompt"] + " and so on")
"""

CORPUS_STAND_IN = """#!/bin/sh
if [ "$1" = tools/corpus.py ]; then printf '{{"text": "row"}}\\n' > "$3"; else exec {python} "$@"; fi
"""


class Quickstart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.stand_in("trireme", STAND_IN)
        (self.folder / "bin").mkdir()
        self.stand_in("bin/python3", CORPUS_STAND_IN)
        self.out = self.folder / "with space"

    def stand_in(self, name, code):
        path = self.folder / name
        path.write_text(code.format(python=sys.executable))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def quickstart(self, *options, status=0):
        """What one run printed, and its calls of the program."""
        (self.folder / "calls").unlink(missing_ok=True)
        answer = subprocess.run(
            [ROOT / "dev", "quickstart", "--short", "--program", self.program, "--output", self.out, *options],
            env={**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, status, answer.stdout + answer.stderr)
        calls = self.folder / "calls"
        return answer.stdout + answer.stderr, [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    def test_goes_from_corpus_to_samples_and_repeats_only_the_samples(self):
        said, calls = self.quickstart()
        self.assertEqual([call[0] for call in calls], ["tokenizer", "preprocess", "train", "generate", "generate", "generate"])
        self.assertIn("--train-iters", calls[2])
        self.assertIn("2.00 nats a token better", said)
        self.assertIn("A transaction is and so on", said)
        said, calls = self.quickstart()
        self.assertEqual([call[0] for call in calls], ["generate"] * 3)
        self.assertEqual(said.count("(done before)"), 4)

    def test_repeats_what_changed_settings_or_newer_input_make_stale(self):
        self.quickstart()
        _, calls = self.quickstart("--iterations", "7")
        self.assertEqual([call[0] for call in calls if call[0] != "generate"], ["train"])
        self.assertEqual(calls[0][calls[0].index("--train-iters") + 1], "7")
        later = time.time() + 5
        os.utime(self.out / "corpus.jsonl", (later, later))
        _, calls = self.quickstart("--iterations", "7")
        self.assertEqual([call[0] for call in calls if call[0] != "generate"], ["tokenizer", "preprocess", "train"])

    def test_forgets_everything_when_told(self):
        self.quickstart()
        (self.out / "leftover").touch()
        _, calls = self.quickstart("--again")
        self.assertEqual(len(calls), 6)
        self.assertFalse((self.out / "leftover").exists())

    def test_fits_the_iterations_into_the_minutes(self):
        _, calls = self.quickstart("--minutes", "2")
        trains = [call for call in calls if call[0] == "train"]
        self.assertEqual(len(trains), 2)
        self.assertNotIn("--save", trains[0])
        self.assertEqual(trains[1][trains[1].index("--train-iters") + 1], "1200")  # 2 x 60 s of 100 ms each

    def test_stops_at_a_step_that_fails_and_goes_on_there(self):
        (self.folder / "fails").write_text("preprocess")
        said, calls = self.quickstart(status=1)
        self.assertEqual([call[0] for call in calls], ["tokenizer", "preprocess"])
        self.assertIn("error: dev: this command failed with status 1", said)
        (self.folder / "fails").unlink()
        _, calls = self.quickstart()
        self.assertEqual([call[0] for call in calls], ["preprocess", "train", "generate", "generate", "generate"])

    def test_trains_again_after_a_training_that_did_not_end(self):
        (self.folder / "fails").write_text("train")
        self.quickstart(status=1)
        (self.out / "checkpoints").mkdir()
        (self.out / "checkpoints" / "latest_checkpointed_iteration.txt").write_text("100")
        (self.folder / "fails").unlink()
        _, calls = self.quickstart()
        self.assertIn("train", [call[0] for call in calls])

    def test_fails_when_nothing_was_learned(self):
        self.program.write_text(self.program.read_text().replace('"validation_loss": 4.0', '"validation_loss": 6.5'))
        said, _ = self.quickstart(status=1)
        self.assertIn("are expected", said)

    def test_refuses_wrong_options_before_it_does_anything(self):
        for options in (["--minutes", "0"], ["--minutes"], ["--minutes", "3", "--iterations", "4"], ["--fast"]):
            _, calls = self.quickstart(*options, status=2)
            self.assertEqual(calls, [])
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
