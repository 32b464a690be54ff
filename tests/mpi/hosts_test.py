"""Ranks on two hosts, for which network namespaces stand: what they exchange, and how all end when a host or its cable is gone.

hosts_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has mpi_ranks, mpi_faults and trireme. Where namespaces cannot be made (it takes root), it
says so and exits with 77.
"""

import re
import time
import unittest

from namespaces import EACH, LONG, Job, hosts, two_hosts


def setUpModule():
    two_hosts()


class TwoHosts(unittest.TestCase):
    def test_exchange_what_threads_do(self):
        job = Job(self, "mpi_ranks")
        status, said, warned = job.wait()
        self.assertEqual(status, 0, said + warned + "".join(map(job.words, range(4))))
        self.assertIn("[  PASSED  ]", said)

    def test_end_within_seconds_when_one_of_them_dies_and_each_rank_that_is_left_says_what_it_waited_for(self):
        job = Job(self, "mpi_faults", "endless")
        job.await_line("under way")
        start = time.monotonic()
        hosts("kill", 2)  # its daemon and its ranks
        status, _, warned = job.wait()
        self.assertLess(time.monotonic() - start, 10)
        self.assertNotEqual(status, 0)
        self.assertRegex(warned, r"lost communication with a remote daemon(.|\n)*10\.77\.0\.2", "the launcher names the dead host")
        self.assertEqual(job.ranks_left(), set())
        for rank in (0, 1):
            self.assertRegex(job.words(rank), rf"(?m)^trireme: \[rank {rank} = p0 t0 d{rank}\] .* in step \d+\b", "a survivor's last words")

    def test_end_within_seconds_when_a_cable_is_cut_and_the_daemons_ask_for_each_other(self):
        job = Job(self, "mpi_faults", "endless")
        job.await_line("under way")
        start = time.monotonic()
        hosts("cut", 2)
        self.addCleanup(hosts, "mend", 2)
        status, _, warned = job.wait()
        self.assertLess(time.monotonic() - start, 15)
        self.assertNotEqual(status, 0)
        self.assertRegex(warned, r"lost communication with a remote daemon(.|\n)*10\.77\.0\.2", "the launcher names the dead host")
        while job.ranks_left() and time.monotonic() - start < 20:
            time.sleep(0.1)
        self.assertEqual(job.ranks_left(), set(), "on neither side")

    def test_end_by_the_limit_of_waits_when_a_cable_is_cut_though_the_launcher_reaches_only_one_of_them(self):
        limit = 2
        job = Job(self, "mpi_faults", "endless", 0, 0, limit)
        job.await_line("under way")
        start = time.monotonic()
        hosts("cut", 2)
        self.addCleanup(hosts, "mend", 2)
        while job.ranks_left() and time.monotonic() - start < LONG:
            time.sleep(0.1)
        self.assertLess(time.monotonic() - start, limit + 10)
        words = [job.words(rank) for rank in range(2 * EACH)]
        silence = [re.search(r"waiting in step \d+: after 2\.\d s, still not here: all_reduce .* in group world with (.*);", text) for text in words]
        self.assertTrue(any(silence[:EACH]) and any(silence[EACH:]), words)
        for rank, found in enumerate(silence):
            if found:
                names = {int(name) for name in re.findall(r"rank (\d) \(p0 t0", found[1])}
                self.assertTrue(names & ({2, 3} if rank < EACH else {0, 1}), f"rank {rank} names the other side: {found[0]}")


class HostsApart(unittest.TestCase):
    """The launcher reaches both, but the network that data takes connects them not: nothing is refused, nothing comes."""

    TRAIN = ("train --num-layers 2 --hidden-size 32 --num-attention-heads 4 --seq-length 32 --micro-batch-size 1 --global-batch-size 8 "
             "--lr 1e-2 --vocab-size 61 --mock-data --train-iters 4 --tensor-model-parallel-size 2 --distributed-timeout-seconds").split()
    AWAITED = r"all_gather of .* \(agreement\) in group world with rank {0} \(p0 t{0} d0\)"

    def train(self, limit):
        return Job(self, "trireme", *self.TRAIN, limit, way=("apart", 2))

    def test_end_at_the_start_by_the_limit_of_waits_naming_each_other(self):
        job = self.train(2)
        start = time.monotonic()
        status, _, _ = job.wait()
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(status, 1)
        self.assertEqual(job.ranks_left(), set())
        said = [re.search(rf"waiting in the start: after 2\.\d s, still not here: {self.AWAITED.format(1 - rank)};", job.words(rank)) for rank in (0, 1)]
        self.assertTrue(any(said), [job.words(rank) for rank in (0, 1)])

    def test_say_what_they_wait_for_when_they_are_ended_before(self):
        job = self.train(LONG)
        while len(job.ranks_left()) < 2:
            time.sleep(0.1)
        time.sleep(4)  # MPI is begun by then
        job.process.terminate()
        status, _, _ = job.wait()
        self.assertNotEqual(status, 0)
        for rank in (0, 1):
            self.assertRegex(job.words(rank), rf"\] SIGTERM: waiting for [1-9]\d*\.\d s in the start: {self.AWAITED.format(1 - rank)}")


if __name__ == "__main__":
    unittest.main()
