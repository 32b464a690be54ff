"""What the program writes on processes: one trace of all ranks, and the answers and measures of threads.

results_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has trireme. Needs mpirun, and fails without it.
"""

import json
import pathlib
import random
import tempfile
import unittest

from jobs import run, run_here, run_threads
from traces import Trace

RANKS = 4
CUT = ["--pipeline-model-parallel-size", 2, "--tensor-model-parallel-size", 2]
PLACES = {0: "rank 0 = p0 t0 d0", 1: "rank 1 = p0 t1 d0", 2: "rank 2 = p1 t0 d0", 3: "rank 3 = p1 t1 d0"}
SIZES = "--num-layers 2 --hidden-size 32 --num-attention-heads 4 --seq-length 24 --micro-batch-size 1 --lr 1e-2".split()


class Traces(unittest.TestCase):
    def test_are_one_file_with_all_ranks_in_one_time(self):
        with tempfile.TemporaryDirectory(prefix="results_test") as folder:
            file = pathlib.Path(folder) / "trace.json"
            outcome = run(RANKS, "trireme", "train", *SIZES, *CUT, "--global-batch-size", 6, "--train-iters", 3, "--mock-data", "--vocab-size", 61,
                          "--trace", file, "--inspect-iters", 2)
            self.assertEqual(outcome.status, 0, outcome)
            self.assertEqual([path.name for path in file.parent.iterdir()], [file.name])
            trace = Trace(file)
        self.assertEqual(trace.places, PLACES)
        for rank in PLACES:
            self.assertEqual(trace.spans[rank, "step"], ["step 1", "step 2"])
            actions = trace.spans[rank, "action"]
            self.assertEqual(len([name for name in actions if name.startswith("0F")]), 2 * 6, actions)
            self.assertTrue(trace.spans[rank, "op"])
        self.assertEqual(trace.unfinished, set())
        # Of each microbatch an activation one way and a gradient the other way, between both pairs, in two steps.
        self.assertEqual(sum(map(len, trace.sends.values())), 2 * 2 * 6 * 2)
        self.assertEqual({key: len(times) for key, times in trace.receives.items()}, {key: len(times) for key, times in trace.sends.items()})
        self.assertLessEqual(trace.hurried(), 0)


class Models(unittest.TestCase):
    """A model that one process trained, used by processes and by threads."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="results_test")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        words = random.Random(7)
        who, does, what = (text.split(",") for text in ("the rower,a tall mast,one bank", "pulls,turns,follows", "the stern,a slow drum,its shadow"))
        sentences = [f"{words.choice(who)} {words.choice(does)} {words.choice(what)}." for _ in range(400)]
        cls.text = cls.folder / "held_out.txt"
        cls.text.write_text(" ".join(sentences[:20]))
        cls.prompts = cls.folder / "prompts.txt"
        cls.prompts.write_text("the rower\na tall mast turns\none bank\n")
        corpus = cls.folder / "corpus.jsonl"
        corpus.write_text("".join(json.dumps({"text": " ".join(sentences[at : at + 10])}) + "\n" for at in range(0, 400, 10)))
        tokenizer = cls.folder / "tokenizer"
        cls.make("tokenizer", "train", "--input", corpus, "--json-keys", "text", "--vocab-size", 270, "--output", tokenizer)
        cls.make("preprocess", "--input", corpus, "--output-prefix", cls.folder / "corpus", "--tokenizer-model", tokenizer, "--append-eod")
        cls.model = cls.folder / "model"
        data = ("--data-path", cls.folder / "corpus_text_document", "--tokenizer-model", tokenizer)
        cls.make("train", *SIZES, *data, "--global-batch-size", 8, "--split", "90,10", "--train-iters", 12, "--save", cls.model)

    @classmethod
    def make(cls, *arguments):
        outcome = run_here(*arguments)
        if outcome.status != 0:
            raise AssertionError(outcome)

    def both(self, *arguments):
        """What it writes to standard output, which is the same on processes and on threads, byte for byte."""
        threads = run_threads(RANKS, *arguments, *CUT)
        self.assertEqual(threads.status, 0, threads)
        processes = run(RANKS, "trireme", *arguments, *CUT)
        self.assertEqual((processes.status, processes.ours()), (0, []), processes)
        self.assertEqual(processes.said, threads.said)
        return threads.said

    def test_answer_as_threads_do(self):
        answers = self.both("generate", "--load", self.model, "--prompts", self.prompts, "--num-samples", 3, "--num-tokens", 9, "--top-k", 20)
        self.assertEqual(answers.count("--- prompt "), 3 * 3, answers)

    def test_are_measured_as_by_threads(self):
        measures = self.both("evaluate", "--load", self.model, "--text", self.text, "--part", "validation", "--json")
        self.assertEqual(measures.count('"loss"'), 2, measures)


if __name__ == "__main__":
    unittest.main()
