"""How `trireme train` on processes ends: by a signal, or by a rank that dies or stands still.

ends_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has trireme. Needs mpirun, and fails without it.
"""

import os
import pathlib
import re
import shutil
import signal
import tempfile
import time
import unittest

from jobs import Job, metrics, run_threads

RANKS = 4
TRAIN = ("train --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 32 --micro-batch-size 1 --global-batch-size 8 "
         "--vocab-size 61 --mock-data --eval-iters 1 --eval-interval 100000 --pipeline-model-parallel-size 2").split()
PLACES = ["p0 t0 d0", "p0 t0 d1", "p1 t0 d0", "p1 t0 d1"]


class Ends(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.metrics = self.folder / "metrics.jsonl"

    def begin(self, *more):
        """A long training that has made some steps."""
        job = Job(RANKS, "trireme", *TRAIN, "--lr", "1e-3", "--train-iters", 100_000, "--metrics-file", self.metrics, *more)
        self.addCleanup(job.end)
        while len(metrics(self.metrics)) < 3:
            if job.process.poll() is not None or time.monotonic() - job.start > 60:
                self.fail(job.wait())
            time.sleep(0.05)
        return job

    def checkpoints(self):
        """Iterations that are there, as the folders' names say, and the one that is marked as the latest."""
        root = self.folder / "ck"
        marker = root / "latest_checkpointed_iteration.txt"
        return sorted(int(path.name.removeprefix("iter_")) for path in root.glob("iter_*")), int(marker.read_text()) if marker.exists() else None

    def goes_on(self, iteration):
        """A checkpoint is whole: the step behind it can be made."""
        more = self.folder / "more.jsonl"
        more.unlink(missing_ok=True)
        after = run_threads(RANKS, *TRAIN, "--lr", "1e-3", "--train-iters", iteration + 1, "--metrics-file", more, "--load", self.folder / "ck",
                            "--ckpt-step", iteration, "--override-opt_param-scheduler")
        self.assertEqual(after.status, 0, after)
        self.assertEqual([step["iteration"] for step in metrics(more) if "loss" in step], [iteration + 1], after)

    def saved(self, outcome, name):
        """It ended well behind a step, and what it saved is there and goes on."""
        self.assertEqual(outcome.status, 0, outcome)
        iteration = int(re.search(rf"iteration (\d+) of 100000: {name}", outcome.said)[1])
        self.assertEqual(iteration, metrics(self.metrics)[-1]["iteration"], outcome)
        self.assertEqual(self.checkpoints(), ([iteration], iteration), outcome)
        self.goes_on(iteration)


class Signals(Ends):
    def test_sigusr1_for_the_launcher_saves_and_ends(self):
        job = self.begin("--save", self.folder / "ck")
        job.process.send_signal(signal.SIGUSR1)
        outcome = job.wait()
        self.saved(outcome, "SIGUSR1")
        self.assertEqual(outcome.ours(), [], outcome)

    def test_sigterm_for_one_rank_saves_and_ends_all(self):
        job = self.begin("--save", self.folder / "ck")
        os.kill(job.ranks()[2], signal.SIGTERM)
        outcome = job.wait()
        self.saved(outcome, "SIGTERM")
        self.assertEqual(len(outcome.ours()), 1, outcome)
        self.assertRegex(outcome.ours()[0], r"^trireme: \[rank 2 = p1 t0 d0\] SIGTERM: (busy in|waiting for \d+\.\d s in) \S.*")

    def test_sigterm_for_the_launcher_ends_all_each_says_what_it_is_at_and_a_step_that_all_agreed_on_is_saved_or_nothing(self):
        job = self.begin("--save", self.folder / "ck")
        job.process.terminate()
        outcome = job.wait()
        self.assertNotEqual(outcome.status, 0, outcome)
        for rank, place in enumerate(PLACES):
            self.assertRegex(outcome.warned, rf"(?m)^trireme: \[rank {rank} = {place}\] SIGTERM: (busy in |waiting for \d+\.\d s in [^:]+: )\S")
        iterations, latest = self.checkpoints()
        self.assertIn(latest, [None, *iterations])
        if iterations:  # the launcher gave them the time
            self.assertEqual(iterations, [metrics(self.metrics)[-1]["iteration"]], outcome)
            self.goes_on(*iterations)


class Losses(Ends):
    """Of a rank."""

    def test_a_rank_that_is_killed_ends_all_within_seconds_and_the_others_say_what_they_were_at(self):
        job = self.begin("--save", self.folder / "ck")
        start = time.monotonic()
        os.kill(job.ranks()[1], signal.SIGKILL)
        outcome = job.wait()
        self.assertLess(time.monotonic() - start, 10, outcome)
        self.assertEqual(outcome.status, 137, outcome)
        self.assertEqual(outcome.causes(), [], outcome)
        self.assertRegex(outcome.warned, r"rank 1 with PID|\],1\]", "the launcher names the dead rank")
        for rank in (0, 2, 3):
            self.assertIn(f"[rank {rank} = {PLACES[rank]}] SIGTERM: ", outcome.warned)
        self.assertEqual(sorted(path.name for path in (self.folder / "ck").iterdir()), [], "nobody agreed on a step to save")

    def test_a_rank_that_is_killed_amid_saves_leaves_whole_checkpoints_of_steps_that_were_agreed_on(self):
        for rank in (0, 3):
            with self.subTest(rank=rank):
                shutil.rmtree(self.folder / "ck", ignore_errors=True)
                self.metrics.unlink(missing_ok=True)
                job = self.begin("--save", self.folder / "ck", "--save-interval", 1, "--keep-last", 2)
                os.kill(job.ranks()[rank], signal.SIGKILL)
                outcome = job.wait()
                self.assertEqual(outcome.status, 137, outcome)
                iterations, latest = self.checkpoints()
                self.assertIn(latest, iterations[-2:], "it may be killed between the folder and the mark")
                steps = metrics(self.metrics)[-1]["iteration"]
                self.assertIn(steps - iterations[-1], (0, 1))
                for iteration in iterations:
                    self.goes_on(iteration)

    def test_a_rank_that_stands_still_is_named_behind_the_limit_of_waits(self):
        limit = 3
        job = self.begin("--distributed-timeout-seconds", limit, "--save", self.folder / "ck")
        start = time.monotonic()
        os.kill(job.ranks()[1], signal.SIGSTOP)
        outcome = job.wait()
        self.assertLess(time.monotonic() - start, limit + 10, outcome)
        self.assertEqual(outcome.status, 1, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        # Who waits first may wait for one that waits for it in turn.
        self.assertRegex(outcome.causes()[0], rf"waiting in \S+.*: after {limit}\.\d s, still not here: .*rank \d \(p\d t0 d\d\)")
        self.assertIn("rank 1 (p0 t0 d1)", "".join(outcome.ours()), outcome)
        self.assertEqual(sorted(path.name for path in (self.folder / "ck").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
