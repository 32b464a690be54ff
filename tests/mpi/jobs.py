"""Programs under mpirun, and what they come to. Each test file here is run as FILE FOLDER [UNITTEST-OPTION...]: FOLDER has the
programs."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()

# mpirun refuses root unless it is told twice; leaks are Open MPI's own.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", ASAN_OPTIONS="detect_leaks=0")
LONG = 300
SKIPPED = 77  # tests/mpi/CMakeLists.txt


class Outcome:
    def __init__(self, status, said, warned, seconds=0.0):
        self.status, self.said, self.warned, self.seconds = status, said, warned, seconds

    def ours(self):
        """The lines that our program wrote to standard error, the launcher's apart."""
        return [line for line in self.warned.splitlines() if line.startswith("trireme: ")]

    def causes(self):
        """What was told as the cause, apart from what each rank waited for in the end."""
        return [line for line in self.ours() if "SIGTERM" not in line]

    def __str__(self):
        return f"status {self.status} after {self.seconds:.1f} s\n{self.said}{self.warned}"


class Job:
    """A program that runs under mpirun, which may have more ranks than cores. Each rank's standard error goes to a file of its own:
    mpirun may end before it has passed on what they said last."""

    def __init__(self, ranks, program, *arguments, launcher=(), environment=None, before=()):
        self.words = tempfile.TemporaryDirectory(prefix="jobs")
        keep = ("sh", "-c", f'exec "$0" "$@" 2> {self.words.name}/$OMPI_COMM_WORLD_RANK')
        command = [*before, "mpirun", "--oversubscribe", "-n", ranks, *launcher]
        for word in (FOLDER / program, *arguments):  # a colon between them begins another program
            command += [*keep, word] if isinstance(word, pathlib.Path) and word.parent == FOLDER else [word]
        self.start = time.monotonic()
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True, env=dict(ENVIRONMENT, **(environment or {})))

    def wait(self):
        try:
            said, warned = self.process.communicate(timeout=LONG)
        except subprocess.TimeoutExpired:
            self.end()
            raise
        seconds = time.monotonic() - self.start
        files = sorted(pathlib.Path(self.words.name).iterdir(), key=lambda file: int(file.name))
        warned += "".join(file.read_text() for file in files)
        self.words.cleanup()
        return Outcome(self.process.returncode, said, warned, seconds)

    def end(self):
        """Whatever it has left."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def ranks(self):
        """Processes of the ranks that run, by rank."""
        found = {}
        for process in map(int, children_of(self.process.pid)):
            try:
                environment = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            except OSError:
                continue  # it has ended in the meantime
            for name, _, value in (word.partition(b"=") for word in environment):
                if name == b"OMPI_COMM_WORLD_RANK":
                    found[int(value)] = process
        return found


def children_of(process):
    return pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()


def run(ranks, program, *arguments, **how):
    return Job(ranks, program, *arguments, **how).wait()


def run_here(*arguments):
    """The program without a launcher."""
    done = subprocess.run([FOLDER / "trireme", *map(str, arguments)], capture_output=True, text=True, timeout=LONG)
    return Outcome(done.returncode, done.stdout, done.stderr)


def run_threads(ranks, *arguments):
    """The same training in one process."""
    return run_here(*arguments, "--ranks", ranks)


def skip(why):
    """Ends a test file that cannot run here; the reason is shown in the summary of the tests."""
    print(f"skipped: {why}", flush=True)
    sys.exit(SKIPPED)


def records(file):
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]  # the last one may be half written


def bytes_sent(file):
    """The rows of the account at the end of a metrics file: group, kind, bytes, and those that were planned where they are."""
    return [(row["group"], row["traffic"], row["sent"], row.get("planned")) for record in records(file) for row in record.get("bytes_sent", ())]


def metrics(file):
    """What a metrics file says of each step but for times, and its validations, to the last digit."""
    steps = [line for line in records(file) if "loss" in line or "validation_loss" in line]
    names = ("iteration", "loss", "grad_norm", "learning_rate", "skipped", "consumed_samples", "validation_loss")
    return [{name: line[name] for name in names if name in line} for line in steps]
