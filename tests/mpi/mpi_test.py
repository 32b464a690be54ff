"""Ranks that are processes: what they exchange, and how all end when something goes wrong with one of them.

mpi_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has mpi_ranks, mpi_faults and trireme. Needs mpirun, and fails without it.
"""

import json
import pathlib
import subprocess
import tempfile
import unittest

from jobs import ENVIRONMENT, FOLDER, LONG, metrics, run, run_threads


class Exchanges(unittest.TestCase):
    def pass_on(self, ranks):
        outcome = run(ranks, "mpi_ranks")
        self.assertEqual(outcome.status, 0, outcome)
        self.assertIn("[  PASSED  ]", outcome.said)
        self.assertEqual(outcome.ours(), [])

    def test_are_those_of_threads_on_two_ranks(self):
        self.pass_on(2)

    def test_are_those_of_threads_on_three_ranks(self):
        self.pass_on(3)

    def test_are_those_of_threads_on_eight_ranks(self):
        self.pass_on(8)

    def test_are_those_of_threads_over_tcp(self):
        outcome = run(3, "mpi_ranks", launcher=("--mca", "pml", "ob1", "--mca", "btl", "self,tcp"))
        self.assertEqual(outcome.status, 0, outcome)


class Checkpoints(unittest.TestCase):
    OPTIONS = ("train --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 32 --micro-batch-size 1 --global-batch-size 8 "
               "--lr 1e-2 --vocab-size 61 --mock-data --eval-iters 1 --eval-interval 2").split()
    CUT = ["--tensor-model-parallel-size", "2"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def steps(self, outcome_of, *more):
        """Losses of training and validation, to the last digit."""
        file = self.folder / "metrics.jsonl"
        file.unlink(missing_ok=True)
        outcome = outcome_of(*self.OPTIONS, *self.CUT, "--train-iters", 6, "--metrics-file", file, *more)
        self.assertEqual(outcome.status, 0, outcome)
        return metrics(file)

    def processes(self, *arguments):
        return run(4, "trireme", *arguments)

    def threads(self, *arguments):
        return run_threads(4, *arguments)

    def test_of_processes_go_on_as_threads_and_back_to_the_bit(self):
        whole = self.steps(self.threads)
        folder = self.folder / "ck"
        part = ["--load", folder, "--save", folder, "--exit-interval", 2, "--keep-last", 1]
        parts = [step for ranks in (self.processes, self.threads, self.processes) for step in self.steps(ranks, *part)]
        self.assertEqual(parts, whole)
        # The last one, and the one that its run was loaded from.
        self.assertEqual(sorted(path.name for path in folder.glob("iter_*")), ["iter_0000004", "iter_0000006"])

    def test_into_a_folder_that_not_all_see_are_refused_with_the_ranks(self):
        here, there = self.folder / "here", self.folder / "there"
        here.mkdir()
        there.mkdir()
        program = [*self.OPTIONS, *self.CUT, "--train-iters", "2", "--save", "ck"]
        outcome = run(2, "trireme", *program, ":", "-n", 2, "-wdir", there, FOLDER / "trireme", *program, launcher=("-wdir", here))
        self.assertEqual(outcome.status, 1, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        self.assertIn("--save ck: ranks 2-3 do not see the folder in which the first rank made a file", outcome.causes()[0])
        self.assertEqual(list((here / "ck").iterdir()), [])


class Verification(unittest.TestCase):
    OPTIONS = ("verify --num-layers 8 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --micro-batch-size 2 "
               "--global-batch-size 32 --train-iters 100 --lr 1e-3 --vocab-size 1000 --mock-data --scale tiny --json "
               "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2").split()

    def test_says_of_processes_what_it_says_of_threads(self):
        processes = run(8, "trireme", *self.OPTIONS)
        self.assertEqual(processes.status, 0, processes)
        threads = run_threads(8, *self.OPTIONS)
        self.assertEqual(threads.status, 0, threads)
        self.assertTrue(json.loads(threads.said)["sound"])
        self.assertEqual(processes.said, threads.said)


class Faults(unittest.TestCase):
    def fault(self, what, *arguments, ranks=3, most=10.0, environment=None):
        outcome = run(ranks, "mpi_faults", what, *arguments, environment=environment)
        self.assertLess(outcome.seconds, most, outcome)
        return outcome

    def one_cause(self, outcome, *parts, status=1):
        self.assertEqual(outcome.status, status, outcome)
        self.assertEqual(len(outcome.causes()), 1, outcome)
        for part in parts:
            self.assertIn(part, outcome.causes()[0], outcome)

    def test_none_is_an_end_without_a_word(self):
        outcome = self.fault("end")
        self.assertEqual((outcome.status, outcome.said, outcome.warned), (0, "under way\nall steps done\n", ""), outcome)

    def test_a_late_message_changes_nothing(self):
        outcome = self.fault("delay", 1, 5)
        self.assertEqual((outcome.status, outcome.warned), (0, ""), outcome)

    def test_a_rank_that_fails_ends_all_and_is_told_once(self):
        for rank in range(3):
            self.one_cause(self.fault("throw", rank), f"[rank {rank} = p0 t0 d{rank}] disk: it is full; make room")

    def test_ranks_that_fail_alike_are_told_once(self):
        self.one_cause(self.fault("usage", ranks=8), "[rank 0 = p0 t0 d0] --seed: it is odd; use 2", status=2)

    def test_a_wrong_number_of_ranks_is_told_once_before_anything_is_sent(self):
        self.one_cause(self.fault("end", 0, 0, 60, 4), "topology: 3 ranks run, but p x t x d = 4", status=2)

    def test_a_rank_that_fails_while_the_others_are_through_ends_all(self):
        for rank in range(3):
            self.one_cause(self.fault("late", rank), f"[rank {rank} = p0 t0 d{rank}] disk: it is full")

    def test_a_rank_that_leaves_too_early_is_told(self):
        for rank in range(3):
            self.one_cause(self.fault("leave", rank), f"[rank {rank} = ", "after the end", "what is sent is received")

    def test_a_message_that_is_lost_is_silence_that_names_both_ends(self):
        outcome = self.fault("drop", 1, 2, 2, ranks=2)
        self.assertEqual(outcome.status, 1, outcome)
        self.assertRegex(outcome.causes()[0], r"\[rank (0 = p0 t0 d0\].* with rank 1 \(p0 t0 d1\)|1 = p0 t0 d1\].* with rank 0 \(p0 t0 d0\))")
        self.assertRegex(outcome.causes()[0], r"waiting in step 0: after 2\.\d s, still not here: all_reduce of 1.1 MiB \(gradient\)")

    def test_a_message_that_comes_twice_is_refused(self):
        self.one_cause(self.fault("twice", 1, 3), "it came twice", "rank 1 (p0 t0 d1)")

    def test_a_message_that_strays_is_refused(self):
        self.one_cause(self.fault("stray", 1, 3), "came here", "sent by rank 1 (p0 t0 d1)")

    def test_a_frozen_rank_is_silence_that_names_it(self):
        outcome = self.fault("freeze", 2, 0, 2, ranks=4)
        self.one_cause(outcome, "waiting in step 10: after 2.", "all_reduce of 1.1 MiB (gradient) in group world with rank 2 (p0 t0 d2);")
        self.assertGreater(outcome.seconds, 2)

    def test_a_rank_that_dies_ends_all_and_each_says_what_it_waited_for(self):
        for what, status in (("kill", 137), ("exit", 3)):
            outcome = self.fault(what, 1, ranks=4)
            self.assertEqual(outcome.status, status, outcome)
            self.assertEqual(outcome.causes(), [], outcome)
            for rank in (0, 2, 3):
                waits = [line for line in outcome.ours() if line.startswith(f"trireme: [rank {rank} = p0 t0 d{rank}] SIGTERM: waiting for ")]
                self.assertEqual(len(waits), 1, outcome)
                self.assertRegex(waits[0], r" s in step 10: all_reduce of 1\.1 MiB \(gradient\) in group world with .*rank 1 \(p0 t0 d1\)")
            self.assertRegex(outcome.warned, r"rank 1 with PID|\],1\]", "the launcher names the dead rank")

    def test_programs_of_one_rank_each_are_refused_once(self):
        # As a launcher of another MPI would start them.
        command = ["sh", "-c", "for r in 0 1 2; do PMI_SIZE=3 PMI_RANK=$r \"$0\" end & done; wait", str(FOLDER / "mpi_faults")]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LONG, env=ENVIRONMENT)
        ours = [line for line in done.stderr.splitlines() if line.startswith("trireme: ")]
        self.assertEqual(len(ours), 1, done.stderr)
        self.assertRegex(ours[0], r"hydra\) started 3 processes \(PMI_SIZE=3\), and MPI \(Open MPI v[\d.]+\) sees 1 of them")
        self.assertIn("start it with the mpirun of the MPI that trireme_mpi.so was built with", ours[0])
        self.assertNotIn("all steps done", done.stdout)

    def test_a_missing_library_is_told_once_with_what_to_install(self):
        lonely = FOLDER / "without_mpi"
        lonely.mkdir(exist_ok=True)
        program = lonely / "mpi_faults"
        program.unlink(missing_ok=True)
        program.write_bytes((FOLDER / "mpi_faults").read_bytes())
        program.chmod(0o755)
        outcome = run(3, program, "end")
        self.one_cause(outcome, "there is no ", "trireme_mpi.so", "./dev packages mpi", status=2)


if __name__ == "__main__":
    unittest.main()
