"""The whole trainer on processes: the bits of threads in a covering dozen of layouts, and the batch file of examples/.

training_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has trireme. Needs mpirun, and fails without it.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", ASAN_OPTIONS="detect_leaks=0")
LONG = 300

MODEL = """--mock-data --vocab-size 210 --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 24
    --micro-batch-size 1 --global-batch-size 8 --train-iters 3 --log-interval 1 --lr 1e-2 --eval-iters 1 --eval-interval 2"""


def trireme(options, launcher=()):
    """Runs it; what it said."""
    command = [*launcher, str(FOLDER / "trireme"), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONG, env=ENVIRONMENT)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def losses(said):
    return re.findall(r"lm loss: \S+|grad norm: \S+|lm loss value: \S+", said)


def bytes_on_the_wire(said):
    """The rows of the account: group, kind, bytes."""
    return re.findall(r"(?m)^ +(\S.*?\S) {2,}(\w+) +(\d+) +[\d.]+ [KMG]?i?B\b", said)


def tensors(folder):
    return {file.name: file.read_bytes() for file in sorted(folder.rglob("*.safetensors"))}


class Bits(unittest.TestCase):
    def are_those_of_threads(self, ranks, options):
        with tempfile.TemporaryDirectory(prefix="training_test") as folder:
            folder = pathlib.Path(folder)
            # Paths of one length: the ranks tell each other their options.
            common = f"{MODEL} {options} --threads-per-rank 1".split()
            threads = trireme(["train", *common, "--ranks", str(ranks), "--save", str(folder / "by_threads")])
            processes = trireme(["train", *common, "--save", str(folder / "by_process")],
                                ("mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)))
            self.assertEqual(len(losses(threads)), 3 * 2 + 2, threads)
            self.assertEqual(losses(processes), losses(threads))
            self.assertEqual(bytes_on_the_wire(processes), bytes_on_the_wire(threads))
            self.assertTrue(bytes_on_the_wire(threads), threads)
            self.assertTrue(tensors(folder / "by_threads"))
            self.assertEqual(tensors(folder / "by_process"), tensors(folder / "by_threads"))

    def test_all_cuts_at_once(self):
        self.are_those_of_threads(8, "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2")


class Dozen(Bits):
    def test_two_replicas(self):
        self.are_those_of_threads(2, "--no-overlap-grad-reduce")

    def test_three_stages_of_a_layout(self):
        self.are_those_of_threads(3, "--pipeline-model-parallel-size 3 --pipeline-model-parallel-layout Et|t*2|tL")

    def test_two_tensor_ranks_without_dropout(self):
        self.are_those_of_threads(2, "--tensor-model-parallel-size 2 --hidden-dropout 0 --attention-dropout 0")

    def test_four_tensor_ranks_untied(self):
        self.are_those_of_threads(4, "--tensor-model-parallel-size 4 --untie-embeddings-and-output-weights")

    def test_four_stages(self):
        self.are_those_of_threads(4, "--pipeline-model-parallel-size 4")

    def test_gpipe(self):
        self.are_those_of_threads(4, "--pipeline-model-parallel-size 2 --schedule gpipe")

    def test_interleaved(self):
        self.are_those_of_threads(4, "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2")

    def test_scatter_and_gather(self):
        self.are_those_of_threads(4, "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 --scatter-gather-tensors-in-pipeline")

    def test_no_scatter_and_gather(self):
        self.are_those_of_threads(8, "--pipeline-model-parallel-size 4 --tensor-model-parallel-size 2 --no-scatter-gather-tensors-in-pipeline")

    def test_small_buckets_of_eight_replicas(self):
        self.are_those_of_threads(8, "--ddp-bucket-size 1000")

    def test_replicas_across_stages(self):
        self.are_those_of_threads(8, "--pipeline-model-parallel-size 2 --use-tp-pp-dp-mapping")


class BatchFile(unittest.TestCase):
    def test_has_options_that_the_program_takes(self):
        text = (ROOT / "examples" / "slurm.sbatch").read_text().replace("\\\n", " ")
        options = re.search(r'"\$program" (train .*)', text)[1]
        options = re.sub(r"--data-path \S+ --tokenizer-model \S+", "--mock-data --vocab-size 32000", options)
        options = re.sub(r"--save \S+ --save-interval \S+", "", options)
        tasks = [int(re.search(rf"--{name}=(\d+)", text)[1]) for name in ("nodes", "ntasks-per-node")]
        said = trireme([*options.split(), "--dry-run", "--ranks", str(tasks[0] * tasks[1])])
        self.assertIn("ranks: 32 = p 2 x t 8 x d 2", said)


if __name__ == "__main__":
    unittest.main()
