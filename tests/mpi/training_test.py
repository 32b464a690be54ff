"""The whole trainer on processes: the bits of threads in a covering dozen of layouts, and the batch file of examples/.

training_test.py FOLDER [UNITTEST-OPTION...]: FOLDER has trireme. Needs mpirun, and fails without it.
"""

import pathlib
import re
import tempfile
import unittest

from jobs import metrics, run, run_threads

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

MODEL = {"--vocab-size": 210, "--num-layers": 4, "--hidden-size": 32, "--num-attention-heads": 4, "--seq-length": 24,
         "--micro-batch-size": 1, "--global-batch-size": 8, "--train-iters": 3, "--lr": "1e-2", "--eval-iters": 1, "--eval-interval": 2}


def training(options):
    """A training, of the model but for what the options say."""
    words = options.split()
    usual = [str(word) for pair in MODEL.items() if pair[0] not in words for word in pair]
    return ["train", "--mock-data", "--threads-per-rank", "1", *usual, *words]


def bytes_on_the_wire(said):
    """The rows of the account: group, kind, bytes."""
    return re.findall(r"(?m)^ +(\S.*?\S) {2,}(\w+) +(\d+) +[\d.]+ [KMG]?i?B\b", said)


def tensors(folder):
    return {file.name: file.read_bytes() for file in sorted(folder.rglob("*.safetensors"))}


def run_processes(ranks, *arguments):
    return run(ranks, "trireme", *arguments, launcher=("--bind-to", "none"))


class Bits(unittest.TestCase):
    def are_those_of_threads(self, ranks, options):
        """Losses, norms of gradients and validations to the last digit, bytes that were sent, tensors of a checkpoint."""
        with tempfile.TemporaryDirectory(prefix="training_test") as folder:
            folder = pathlib.Path(folder)
            results = []
            # Paths of one length: the ranks tell each other their options.
            for name, start in (("by_threads", run_threads), ("by_process", run_processes)):
                file = folder / f"{name}.jsonl"
                outcome = start(ranks, *training(options), "--save", folder / name, "--metrics-file", file)
                self.assertEqual(outcome.status, 0, outcome)
                results.append((metrics(file), bytes_on_the_wire(outcome.said), tensors(folder / name)))
            threads, processes = results
            self.assertEqual(processes[0], threads[0])
            self.assertEqual(len([step for step in threads[0] if step.get("grad_norm", 0) > 0]), 3, threads[0])
            self.assertEqual(len([step for step in threads[0] if "validation_loss" in step]), 2, threads[0])
            self.assertEqual(processes[1], threads[1])
            self.assertTrue(threads[1])
            self.assertTrue(processes[2] == threads[2], "tensors differ")
            self.assertTrue(threads[2])

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

    def test_three_replicas_of_an_odd_batch(self):
        self.are_those_of_threads(3, "--global-batch-size 9 --ddp-bucket-size 5000")

    def test_three_tensor_ranks_of_odd_sizes(self):
        sizes = "--hidden-size 33 --num-attention-heads 3 --seq-length 29 --vocab-size 59 --ffn-hidden-size 99"
        self.are_those_of_threads(3, f"--tensor-model-parallel-size 3 {sizes}")

    def test_a_growing_batch(self):
        self.are_those_of_threads(8, "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 --rampup-batch-size 4 4 8")

    def test_everything_interleaved_with_scatter_and_gather(self):
        chunks = "--num-virtual-stages-per-pipeline-rank 2 --scatter-gather-tensors-in-pipeline --ddp-bucket-size 3000"
        self.are_those_of_threads(8, f"--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 {chunks}")


class BatchFile(unittest.TestCase):
    def test_has_options_that_the_program_takes(self):
        text = (ROOT / "examples" / "slurm.sbatch").read_text().replace("\\\n", " ")
        options = re.search(r'"\$program" (train .*)', text)[1]
        options = re.sub(r"--data-path \S+ --tokenizer-model \S+", "--mock-data --vocab-size 32000", options)
        options = re.sub(r"--save \S+ --save-interval \S+", "", options)
        tasks = [int(re.search(rf"--{name}=(\d+)", text)[1]) for name in ("nodes", "ntasks-per-node")]
        ranks = tasks[0] * tasks[1]
        self.assertIn("ranks: 32 = p 2 x t 8 x d 2", run_threads(ranks, *options.split(), "--dry-run").said)


if __name__ == "__main__":
    unittest.main()
