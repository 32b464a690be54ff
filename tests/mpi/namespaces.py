"""Two hosts, for which network namespaces stand (tools/hosts/hosts.sh), and programs on them."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from jobs import FOLDER, skip

HOSTS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "hosts" / "hosts.sh"
NAME = f"trireme{os.getpid()}"
EACH = 2
LONG = 60


def hosts(verb, *arguments):
    done = subprocess.run([HOSTS, verb, NAME, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONG)
    if done.returncode != 0:
        raise RuntimeError(f"hosts.sh {verb}: {done.stdout}")
    return done.stdout


def why_there_are_none():
    """What this machine does not let us do; none where it makes namespaces. All else that goes wrong with hosts is a failure."""
    if os.geteuid() != 0:
        return "network namespaces take root"
    if shutil.which("ip") is None:
        return "there is no ip (iproute2), which makes network namespaces"
    made = subprocess.run(["ip", "netns", "add", f"{NAME}-trial"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if made.returncode != 0:
        return f"no network namespace can be made here: {made.stdout.strip()}"
    subprocess.run(["ip", "netns", "del", f"{NAME}-trial"], check=True)
    return None


def two_hosts():
    """For the tests of a module."""
    why = why_there_are_none()
    if why:
        skip(why)
    unittest.addModuleCleanup(hosts, "down")
    hosts("up", 2)


class Job:
    """A program on both hosts, each rank's standard error in a file of its own: mpirun itself may end before it has passed it on.
    there: words that start the program on the second host."""

    def __init__(self, case, program, *arguments, way=("mpirun", 2, EACH), there=""):
        folder = tempfile.TemporaryDirectory(prefix="hosts_test")
        case.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        start = f'[ "$OMPI_COMM_WORLD_RANK" -ge {EACH} ] && there="{there}"; exec $there "$0" "$@" 2> {self.folder}/$OMPI_COMM_WORLD_RANK'
        verb, *size = map(str, way)
        self.start = time.monotonic()
        command = [HOSTS, verb, NAME, *size, "sh", "-c", start, FOLDER / program, *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        case.addCleanup(self.end)

    def end(self):
        self.process.kill()
        for host in (1, 2):
            hosts("kill", host)
        self.process.communicate()

    def await_line(self, line):
        giving_up = threading.Timer(LONG, self.end)
        giving_up.start()
        try:
            for found in self.process.stdout:
                if found.strip() == line:
                    return
        finally:
            giving_up.cancel()
        raise AssertionError(f"it ended before '{line}': {self.process.stderr.read()}")

    def wait(self):
        """Status, standard output and the launcher's standard error."""
        said, warned = self.process.communicate(timeout=LONG)
        return self.process.returncode, said, warned

    def words(self, rank):
        file = self.folder / str(rank)
        return file.read_text() if file.exists() else ""

    def ranks_on(self, *which):
        """Processes of ranks that run on these hosts."""
        programs = subprocess.run(["pgrep", "-f", f"^{FOLDER}/(mpi_|trireme)"], stdout=subprocess.PIPE, text=True).stdout.split()
        there = set()
        for host in which:
            there |= set(subprocess.run(["ip", "netns", "pids", f"{NAME}-{host}"], stdout=subprocess.PIPE, text=True).stdout.split())
        return {int(process) for process in there & set(programs)}

    def ranks_left(self):
        return self.ranks_on(1, 2)
