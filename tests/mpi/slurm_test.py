"""The batch file of examples/ under a Slurm of one host (tools/hosts/slurm.sh): it trains, and on SIGUSR1 saves and ends.

slurm_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has trireme. Where there is no Slurm, or its daemons cannot be started (it takes root), it
says so and exits with 77.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from jobs import FOLDER, metrics, run_here, skip

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SLURM = ROOT / "tools" / "hosts" / "slurm.sh"
NEEDED = ("slurmctld", "slurmd", "sinfo", "sbatch", "srun", "scancel", "munged")
LONG = 60

# In the place of the example's own: two ranks of a model for which a step takes no time.
SIZES = {"--tensor-model-parallel-size": 1, "--pipeline-model-parallel-size": 2, "--num-layers": 2, "--hidden-size": 32,
         "--num-attention-heads": 2, "--seq-length": 16, "--micro-batch-size": 1, "--global-batch-size": 2, "--save-interval": 1_000_000}


def setUpModule():
    if os.geteuid() != 0:
        skip("a Slurm of one's own takes root")
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        skip(f"there is no {', '.join(missing)} (packages slurm-wlm, slurm-wlm-basic-plugins, munge)")


class BatchFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="slurm_test")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm" / "slurm.conf"))
        self.addCleanup(self.call, SLURM, "down", self.folder / "slurm")
        self.call(SLURM, "up", self.folder / "slurm")

    def call(self, *command):
        done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONG, cwd=self.folder,
                              env=self.environment)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}")
        return done.stdout

    def batch_file(self):
        """The example's, where only data and sizes are others."""
        text = (ROOT / "examples" / "slurm.sbatch").read_text()
        for option, value in SIZES.items():
            text, count = re.subn(rf"{option} \S+", f"{option} {value}", text)
            self.assertEqual(count, 1, option)
        text, count = re.subn(r"--data-path \S+ --tokenizer-model \S+", '--mock-data --vocab-size 61 --metrics-file "$run/metrics.jsonl"', text)
        self.assertEqual(count, 1)
        file = self.folder / "slurm.sbatch"
        file.write_text(text)
        return file

    def until(self, condition, job):
        start = time.monotonic()
        while not condition():
            log = self.folder / f"trireme-{job}.log"
            if time.monotonic() - start > LONG:
                self.fail(f"{self.call('squeue')}{log.read_text() if log.exists() else 'no log'}")
            time.sleep(0.1)

    def test_trains_and_saves_and_ends_when_its_time_is_nearly_up(self):
        build = self.folder / "build"
        build.mkdir()
        (build / "release").symlink_to(FOLDER)
        # One host, of which each rank has a core; more ranks than cores take --overcommit.
        job = re.search(r"\d+", self.call("sbatch", "--nodes=1", "--ntasks-per-node=2", "--cpus-per-task=1", "--overcommit", self.batch_file()))[0]
        run = self.folder / "out" / f"run-{job}"
        self.until(lambda: len(metrics(run / "metrics.jsonl")) >= 3, job)
        self.call("scancel", "--signal=USR1", job)
        self.until(lambda: job not in self.call("squeue", "--noheader", "--format=%i"), job)
        log = (self.folder / f"trireme-{job}.log").read_text()
        self.assertIn("ranks: 2 = p 2 x t 1 x d 1", log)
        ended = re.search(r"iteration (\d+) of 100000: SIGUSR1", log)
        self.assertTrue(ended, log)
        steps = metrics(run / "metrics.jsonl")
        self.assertEqual(int(ended[1]), steps[-1]["iteration"])
        self.assertEqual([path.name for path in (run / "checkpoints").glob("iter_*")], [f"iter_{int(ended[1]):07}"])
        self.assertIn("JobState=COMPLETED", self.call("scontrol", "show", "job", job))
        self.assertNotIn("trireme: ", log)


if __name__ == "__main__":
    unittest.main()
