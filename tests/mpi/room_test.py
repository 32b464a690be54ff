"""Ranks on a host without room for what they share.

room_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has trireme. Where no mount of one's own can be made (it takes root), it says so and exits
with 77.
"""

import pathlib
import subprocess
import tempfile
import unittest

from jobs import Job, metrics, run_threads, skip

RANKS = 4
TRAIN = ("train --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 32 --micro-batch-size 1 --global-batch-size 8 "
         "--vocab-size 61 --mock-data --eval-iters 1 --eval-interval 100000 --pipeline-model-parallel-size 2 --lr 1e-2 --train-iters 4").split()
ALONE = ("unshare", "-m", "sh", "-c")
SMALL = "mount -t tmpfs -o size=64k none /dev/shm"
# Says so and goes on only where not one byte more finds room.
FILL = r"""
    head -c 1M /dev/zero > /dev/shm/full 2> /dev/null && exit 91
    [ "$(stat -c %s /dev/shm/full)" = 65536 ] || exit 92
    printf x 2> /dev/null > /dev/shm/more && [ -s /dev/shm/more ] && exit 93
    echo "/dev/shm is full" """


def setUpModule():
    try:
        subprocess.run([*ALONE, SMALL], check=True, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        skip("there is no unshare, which makes a mount of one's own")
    except subprocess.CalledProcessError as why:
        skip(f"no mount of one's own can be made here, which takes root: {why.stderr.strip()}")


class NoRoom(unittest.TestCase):
    def test_in_dev_shm_is_no_hindrance(self):
        with tempfile.TemporaryDirectory() as folder:
            full, usual = (pathlib.Path(folder) / name for name in ("full.jsonl", "usual.jsonl"))
            outcome = Job(RANKS, "trireme", *TRAIN, "--metrics-file", full, before=(*ALONE, f'{SMALL}\n{FILL}\nexec "$@"', "sh")).wait()
            self.assertEqual(outcome.status, 0, outcome)
            self.assertIn("/dev/shm is full\n", outcome.said)
            self.assertEqual(outcome.ours(), [], outcome)
            by_threads = run_threads(RANKS, *TRAIN, "--metrics-file", usual)
            self.assertEqual(by_threads.status, 0, by_threads)
            self.assertEqual(metrics(full), metrics(usual))
            self.assertEqual([step["iteration"] for step in metrics(full) if "loss" in step], [1, 2, 3, 4])


if __name__ == "__main__":
    unittest.main()
