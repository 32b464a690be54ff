"""How ranks end that were started unlike each other: in a wrong number, by other options, of another build, on other data.

starts_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has trireme. Needs mpirun, and fails without it.
"""

import json
import pathlib
import random
import re
import shutil
import tempfile
import unittest

from jobs import FOLDER, LONG, run, run_here

RANKS = 4
TRAIN = ("train --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 32 --micro-batch-size 1 --global-batch-size 8 "
         "--vocab-size 61 --mock-data --eval-iters 1 --eval-interval 100000 --pipeline-model-parallel-size 2").split()


class Topology(unittest.TestCase):
    """A number of ranks that no number of replicas makes of p and t."""

    OPTIONS = [*TRAIN, "--tensor-model-parallel-size", 2, "--train-iters", 2, "--lr", "1e-3"]
    REFUSAL = ("trireme: topology: 6 ranks, and no d with which p 2 x t 2 x d = 6; ranks = p t d (--pipeline-model-parallel-size, "
               "--tensor-model-parallel-size, and d data-parallel ranks); use 4 or 8 ranks, or other sizes")

    def test_is_refused_once_with_all_factors(self):
        outcome = run(6, "trireme", *self.OPTIONS)
        self.assertEqual((outcome.status, outcome.said, outcome.ours()), (2, "", [self.REFUSAL]), outcome)

    def test_is_refused_before_any_rank_waits_for_another(self):
        outcome = run(1, "trireme", *self.OPTIONS, ":", "-n", 5, "sleep", LONG)
        self.assertEqual((outcome.status, outcome.said, outcome.ours()), (2, "", [self.REFUSAL]), outcome)
        self.assertLess(outcome.seconds, 10, outcome)


class Options(unittest.TestCase):
    def test_that_differ_are_told_once_with_both_values_and_the_ranks(self):
        one, other = ([*TRAIN, "--train-iters", 2, "--lr", rate] for rate in ("1e-3", "2e-3"))
        outcome = run(1, "trireme", *one, ":", "-n", 1, FOLDER / "trireme", *other)
        self.assertEqual(outcome.status, 1, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        self.assertIn("lr = 0.001 on rank 0, lr = 0.002 on rank 1; all ranks of a run have the same options", outcome.causes()[0], outcome)

    def test_that_only_one_rank_has_wrong_are_told_by_that_rank(self):
        outcome = run(1, "trireme", *TRAIN, "--train-iters", 2, "--lr", "1e-3", ":", "-n", 1, FOLDER / "trireme", *TRAIN, "--lr", "1e-3", "--train-itres", 2)
        self.assertEqual(outcome.status, 2, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        self.assertRegex(outcome.causes()[0], r"^trireme: \[rank 1\] .*--train-itres.*--train-iters")

    def test_that_all_ranks_have_wrong_are_told_once(self):
        outcome = run(RANKS, "trireme", *TRAIN, "--lr", "1e-3", "--train-itres", 2)
        self.assertEqual(outcome.status, 2, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        self.assertIn("--train-itres", outcome.causes()[0], outcome)

    LATE = 'sleep "$0"; exec "$@"'
    TRAINING = [*TRAIN, "--train-iters", 2, "--lr", "1e-3"]

    def test_by_which_a_rank_ends_before_the_others_begin_do_not_let_these_wait_for_good(self):
        limit = 4
        training = [*self.TRAINING, "--distributed-timeout-seconds", limit]
        outcome = run(1, "/bin/sh", "-c", self.LATE, 2, FOLDER / "trireme", *training, ":", "-n", 1, FOLDER / "trireme", *training, "--dry-run")
        self.assertEqual(outcome.status, 1, outcome)
        self.assertLess(outcome.seconds, limit + 10, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        self.assertRegex(outcome.causes()[0], rf"after {limit}(\.\d)? s, .*(not all of the 2 processes|rank 1 \()")

    def test_by_which_a_rank_ends_behind_the_begin_of_others_are_seen_by_the_launcher(self):
        late = ("/bin/sh", "-c", self.LATE, 2, FOLDER / "trireme", *self.TRAINING, "--dry-run")
        outcome = run(1, "trireme", *self.TRAINING, ":", "-n", 1, *late)
        self.assertNotEqual(outcome.status, 0, outcome)
        self.assertLess(outcome.seconds, 10, outcome)
        self.assertRegex(outcome.warned, r"process rank 1\b(.|\n)*exiting improperly")


class Builds(unittest.TestCase):
    """The first rank is of the build that is tested, the second of a copy."""

    TRAINING = [*TRAIN, "--train-iters", 2, "--lr", "1e-3"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="starts_test")
        self.addCleanup(folder.cleanup)
        self.other = pathlib.Path(folder.name)
        for name in ("trireme", "trireme_mpi.so"):
            shutil.copy(FOLDER / name, self.other / name)

    def alter_id(self, *names):
        """Of what the program and its library for MPI have in common. Returns both ids."""
        [id_] = set(re.findall(rb"\d+\.\d+\.\d+-[0-9a-f]{16}(?=\0)", (self.other / "trireme_mpi.so").read_bytes()))
        altered = id_[:-1] + (b"0" if id_[-1:] != b"0" else b"1")
        for name in names:
            file = self.other / name
            whole = file.read_bytes()
            self.assertIn(id_, whole)
            file.write_bytes(whole.replace(id_, altered))
        return id_.decode(), altered.decode()

    def refused(self, status=1):
        """Both run; returns what was told, which is one cause."""
        outcome = run(1, "trireme", *self.TRAINING, ":", "-n", 1, self.other / "trireme", *self.TRAINING)
        self.assertEqual(outcome.status, status, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        self.assertNotIn("iteration", outcome.said)
        self.assertLess(outcome.seconds, 20, outcome)
        return outcome.causes()[0]

    def test_that_are_copies_run(self):
        outcome = run(1, "trireme", *self.TRAINING, ":", "-n", 1, self.other / "trireme", *self.TRAINING)
        self.assertEqual((outcome.status, outcome.ours()), (0, []), outcome)

    def test_of_other_programs_are_told_with_the_ranks(self):
        with open(self.other / "trireme", "ab") as program:
            program.write(b"another build")
        self.assertRegex(self.refused(), r"^trireme: \[rank 0 = p0 t0 d0\] build: program = (\w+) on rank 0, program = (?!\1)\w+ on rank 1; "
                         r"all ranks of a run have the same build; install one build of the program on all hosts$")

    def test_whose_messages_differ_are_told_with_the_rank(self):
        self.alter_id("trireme", "trireme_mpi.so")
        self.assertRegex(self.refused(), r"^trireme: \[rank (0 = p0 t0 d0\] rank 1|1 = p1 t0 d0\] rank 0): its program is of another build than this "
                         r"rank's; all ranks run the same build; put the same program, and the trireme_mpi.so beside it, on all hosts$")

    def test_of_a_program_and_its_library_that_differ_are_told_by_that_rank(self):
        own, altered = self.alter_id("trireme_mpi.so")
        self.assertEqual(self.refused(), f"trireme: [rank 1] {self.other}/trireme_mpi.so: it is of build {altered}, the program of {own}; the MPI "
                         "library and the program are built together; build both from the same sources (./dev build)")


class Data(unittest.TestCase):
    """Of the same names and sizes, on hosts that do not share their files: the working folders of the first ranks and of the last."""

    TRAINING = [*(word for word in TRAIN if word not in ("--mock-data", "--vocab-size", "61")), "--data-path", "corpus_text_document",
                "--tokenizer-model", "tokenizer", "--split", "80,20", "--train-iters", 2, "--lr", "1e-3"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="starts_test")
        self.addCleanup(folder.cleanup)
        self.here, self.there = (pathlib.Path(folder.name) / name for name in ("here", "there"))
        self.here.mkdir()
        words, text = random.Random(7), self.here / "corpus.jsonl"
        text.write_text("".join(json.dumps({"text": "".join(words.choices("abcdefg ", k=200))}) + "\n" for _ in range(60)))
        for step in (("tokenizer", "train", "--input", text, "--json-keys", "text", "--vocab-size", 257, "--output", self.here / "tokenizer"),
                     ("preprocess", "--input", text, "--tokenizer-model", self.here / "tokenizer", "--output-prefix", self.here / "corpus")):
            outcome = run_here(*step)
            self.assertEqual(outcome.status, 0, outcome)
        shutil.copytree(self.here, self.there)

    def train(self):
        return run(2, "trireme", *self.TRAINING, ":", "-n", 2, "-wdir", self.there, FOLDER / "trireme", *self.TRAINING, launcher=("-wdir", self.here))

    def test_that_are_copies_are_trained_on(self):
        outcome = self.train()
        self.assertEqual((outcome.status, outcome.ours()), (0, []), outcome)

    def test_that_differ_are_told_with_the_ranks_before_the_first_step(self):
        tokens = self.there / "corpus_text_document.bin"
        whole = tokens.read_bytes()
        tokens.write_bytes(b"".join(whole[at : at + 2] for at in range(len(whole) - 2, -1, -2)))  # from the last to the first
        outcome = self.train()
        self.assertEqual(outcome.status, 1, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        self.assertRegex(outcome.causes()[0], r"^trireme: \[rank 0 = p0 t0 d0\] data: content of train dataset 1 = (\w+) on ranks 0-1, content of train "
                         r"dataset 1 = (?!\1)\w+ on ranks 2-3; all ranks of a run have the same data; give all hosts the same copies of the datasets$")
        self.assertNotIn("iteration", outcome.said)

    def test_that_differ_in_one_token_of_a_hundred_are_told_too(self):
        tokens = self.there / "corpus_text_document.bin"
        altered = bytearray(tokens.read_bytes())
        for at in range(100, len(altered), 200):
            altered[at] ^= 1
        tokens.write_bytes(altered)
        outcome = self.train()
        self.assertEqual(outcome.status, 1, outcome)
        self.assertIn("data: content of train dataset 1 = ", outcome.causes()[0], outcome)

    def test_that_no_rank_can_read_are_told_once(self):
        for folder in (self.here, self.there):
            (folder / "corpus_text_document.bin").write_bytes(b"short")
        outcome = self.train()
        self.assertEqual(outcome.status, 1, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        self.assertIn("trireme: corpus_text_document.bin: ", outcome.causes()[0])

    def test_of_another_number_of_documents_are_told_with_both_numbers(self):
        text = self.there / "corpus.jsonl"
        text.write_text("".join(text.read_text().splitlines(keepends=True)[1:]))
        outcome = run_here("preprocess", "--input", text, "--tokenizer-model", self.there / "tokenizer", "--output-prefix", self.there / "corpus")
        self.assertEqual(outcome.status, 0, outcome)
        outcome = self.train()
        self.assertEqual(outcome.status, 1, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        self.assertIn("data: documents of train dataset 1 = 60 on ranks 0-1, documents of train dataset 1 = 59 on ranks 2-3;", outcome.causes()[0])


if __name__ == "__main__":
    unittest.main()
