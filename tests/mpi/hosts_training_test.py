"""The trainer on two hosts, for which network namespaces stand: the bits and bytes of threads, and the death of a host in the middle.

hosts_training_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has trireme. Where namespaces cannot be made (it takes root), it says so and exits
with 77.
"""

import os
import pathlib
import signal
import tempfile
import time
import unittest

from jobs import bytes_sent, metrics, run_threads
from namespaces import EACH, LONG, Job, hosts, two_hosts
from traces import Trace

RANKS = 2 * EACH
TRAIN = ("train --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 24 --micro-batch-size 1 --global-batch-size 8 "
         "--vocab-size 61 --mock-data --lr 1e-2 --eval-iters 1 --threads-per-rank 1").split()
LAYOUTS = {  # where the ranks of each host are
    "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2": ["p0 t0 d0", "p0 t1 d0", "p1 t0 d0", "p1 t1 d0"],
    "--pipeline-model-parallel-size 2": ["p0 t0 d0", "p0 t0 d1", "p1 t0 d0", "p1 t0 d1"],
}
STAGES_OF_TWO, STAGES_OF_REPLICAS = LAYOUTS


def setUpModule():
    two_hosts()


class OnTwoHosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hosts_training_test")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def by_threads(self, *more):
        """Steps, and bytes that were sent."""
        file = self.folder / "threads.jsonl"  # as long as the other's name: the ranks tell each other their options
        file.unlink(missing_ok=True)
        outcome = run_threads(RANKS, *TRAIN, "--train-iters", 3, "--eval-interval", 2, *more, "--metrics-file", file)
        self.assertEqual(outcome.status, 0, outcome)
        return metrics(file), bytes_sent(file)

    def by_hosts(self, *more):
        file = self.folder / "on_host.jsonl"
        job = Job(self, "trireme", *TRAIN, "--train-iters", 3, "--eval-interval", 2, *more, "--metrics-file", file)
        status, said, warned = job.wait()
        self.assertEqual((status, [job.words(rank) for rank in range(RANKS)]), (0, [""] * RANKS), said + warned)
        return metrics(file), bytes_sent(file)

    def is_alike(self, threads, hosts):
        self.assertEqual(hosts[0], threads[0])
        self.assertEqual(len([step for step in threads[0] if step.get("grad_norm", 0) > 0]), 3, threads[0])
        self.assertEqual(hosts[1], threads[1])
        # What the ranks agree on outside of steps is counted, and not planned.
        self.assertTrue(all(sent == planned for group, kind, sent, planned in hosts[1] if kind != "agreement"), hosts[1])

    def test_training_has_the_bits_and_bytes_of_threads(self):
        layout = STAGES_OF_REPLICAS.split()
        threads = self.by_threads(*layout)
        self.is_alike(threads, self.by_hosts(*layout))
        self.assertLessEqual({"pipeline", "data"}, {row[0] for row in threads[1]})

    def test_training_sends_parts_from_stage_to_stage_unless_told_otherwise_and_has_the_same_bits(self):
        layout = STAGES_OF_TWO.split()
        parts, whole = (self.by_threads(*layout, f"--{no}scatter-gather-tensors-in-pipeline") for no in ("", "no-"))
        by_hosts = self.by_hosts(*layout)
        self.assertEqual(parts[0], whole[0])
        in_steps = [[row for row in rows if row[1] != "agreement"] for rows in (parts[1], whole[1], by_hosts[1])]
        self.assertNotEqual(in_steps[0], in_steps[1])
        self.assertEqual(in_steps[2], in_steps[0])
        self.is_alike((parts[0], by_hosts[1]), by_hosts)

    def test_the_trace_is_in_one_time_though_each_has_a_clock_of_its_own(self):
        file = self.folder / "trace.json"
        ahead = 5000  # seconds
        job = Job(self, "trireme", *TRAIN, *STAGES_OF_TWO.split(), "--train-iters", 2, "--trace", file, "--inspect-iters", 2,
                  there=f"unshare --time --monotonic {ahead}")
        status, said, warned = job.wait()
        self.assertEqual((status, [job.words(rank) for rank in range(RANKS)]), (0, [""] * RANKS), said + warned)
        trace = Trace(file)
        self.assertEqual(trace.places, {rank: f"rank {rank} = {place}" for rank, place in enumerate(LAYOUTS[STAGES_OF_TWO])})
        self.assertEqual(sum(map(len, trace.sends.values())), 2 * 2 * 8 * 2)
        self.assertEqual({key: len(times) for key, times in trace.receives.items()}, {key: len(times) for key, times in trace.sends.items()})
        # There and back: the clocks are brought together within half of the quickest way, or these are off by the difference.
        self.assertLess(trace.hurried(), 5_000)

    def begin(self, layout, *more):
        """A long training that has made some steps."""
        file = self.folder / "long.jsonl"
        job = Job(self, "trireme", *TRAIN, *layout.split(), "--train-iters", 100_000, "--eval-interval", 100_000, "--metrics-file", file, *more)
        while len(metrics(file)) < 3:
            self.assertIsNone(job.process.poll(), job.words(0))
            self.assertLess(time.monotonic() - job.start, LONG)
            time.sleep(0.05)
        return job

    def lose_host(self, job, layout):
        """The second one: all are ended, and who survived has said what it was at. Returns that."""
        start = time.monotonic()
        hosts("kill", 2)  # its daemon and its ranks
        status, _, warned = job.wait()
        while job.ranks_left() and time.monotonic() - start < LONG:
            time.sleep(0.05)
        self.assertLess(time.monotonic() - start, 10)
        self.assertNotEqual(status, 0)
        self.assertRegex(warned, r"lost communication with a remote daemon(.|\n)*10\.77\.0\.2", "the launcher names the dead host")
        said = [job.words(rank) for rank in range(RANKS)]
        for rank in range(EACH):
            at = r"(busy in \S.*|waiting for \d+\.\d s in \S[^:]*: \S.*)"
            self.assertRegex(said[rank], rf"\Atrireme: \[rank {rank} = {LAYOUTS[layout][rank]}\] SIGTERM: {at}\n\Z")
        self.assertEqual(said[EACH:], [""] * EACH, "the dead say nothing")
        return said[:EACH]

    def test_the_death_of_one_ends_all_within_seconds_and_nothing_is_saved(self):
        job = self.begin(STAGES_OF_REPLICAS, "--save", self.folder / "ck")
        self.lose_host(job, STAGES_OF_REPLICAS)
        self.assertEqual(sorted(path.name for path in (self.folder / "ck").iterdir()), [])

    def test_the_death_of_one_that_stood_still_is_survived_by_ranks_that_say_whom_they_waited_for(self):
        job = self.begin(STAGES_OF_TWO)
        for process in job.ranks_on(2):
            os.kill(process, signal.SIGSTOP)
        time.sleep(0.5)
        said = self.lose_host(job, STAGES_OF_TWO)
        self.assertEqual([words.count("waiting for ") for words in said], [1, 1], said)
        dead = "|".join(rf"rank {rank} \({LAYOUTS[STAGES_OF_TWO][rank]}\)" for rank in range(EACH, RANKS))
        self.assertRegex("".join(said), dead)


if __name__ == "__main__":
    unittest.main()
