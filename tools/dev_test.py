"""Tests of ./dev: its verbs, what it installs, which files it takes for changed.

They run a copy of it in a folder of their own, with stand-ins for apt-get, dpkg-query, sudo and clang-format.
"""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

PACKAGES = """# comment
[build]
g++
cmake
[lint]
clang-format-14
"""


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.checkout = self.folder / "checkout"
        shutil.copytree(ROOT / "tools" / "shell", self.checkout / "tools" / "shell")
        shutil.copy(ROOT / "dev", self.checkout)
        (self.checkout / "packages.txt").write_text(PACKAGES)
        (self.folder / "bin").mkdir()
        self.calls = self.folder / "calls"
        self.stand_in("dpkg-query", "echo 'g++ installed'; echo 'cmake not-installed'; exit 1")
        self.stand_in("apt-get")
        self.stand_in("sudo", 'exec "${@/#-n/env}"')

    def stand_in(self, name, code="true"):
        """A program that notes how it is called, then does what the shell code says."""
        path = self.folder / "bin" / name
        path.write_text(f'#!/bin/bash\nprintf "%s\\n" "{name} $*" >> {self.calls}\n{code}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def dev(self, *arguments, status=0, path=None):
        path = path or f"{self.folder / 'bin'}:{os.environ['PATH']}"
        answer = subprocess.run(
            ["/bin/bash", self.checkout / "dev", *arguments], env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, status, answer.stdout + answer.stderr)
        return answer.stdout + answer.stderr

    def called(self, name):
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line for line in lines if line.startswith(name + " ")]

    def test_lists_each_verb_with_a_line_when_called_without_one(self):
        said = self.dev()
        verbs = re.findall(r"^verb_([a-z]+)\(\) \{$", (ROOT / "dev").read_text(), re.MULTILINE)
        self.assertIn("quickstart", verbs)
        listed = re.findall(r"^  ([a-z]+) .*\S", said, re.MULTILINE)
        self.assertEqual(sorted(verbs), sorted(listed))

    def test_names_the_nearest_verb_when_it_does_not_know_one(self):
        self.assertIn("nearest is 'check'", self.dev("chekc", status=2))
        self.assertIn("nearest is 'bench'", self.dev("benchmark", status=2))

    def test_refuses_words_that_a_verb_does_not_take(self):
        self.assertIn("'fast'", self.dev("test", "fast", status=2))
        self.assertIn("'paint'", self.dev("packages", "paint", status=2))
        self.assertEqual(self.called("apt-get"), [])

    def test_installs_what_is_missing_and_nothing_else(self):
        said = self.dev("packages", "build", "lint")
        self.assertIn("installing, with what they need: clang-format-14 cmake\n", said)
        installs = [call for call in self.called("apt-get") if " install -y " in call]
        self.assertEqual(len(installs), 1)
        self.assertTrue(installs[0].endswith(" clang-format-14 cmake"), installs)
        self.assertIn("--no-install-recommends", installs[0])
        self.assertFalse(any(" update" in call for call in self.called("apt-get")))

    def test_is_silent_when_nothing_is_missing(self):
        self.stand_in("dpkg-query", "echo 'g++ installed'; echo 'cmake installed'")
        self.assertEqual(self.dev("packages", "build"), "")
        self.assertEqual(self.called("apt-get"), [])

    def test_fetches_the_package_lists_only_when_a_package_cannot_be_found_in_them(self):
        self.stand_in("apt-get", f'case "$*" in *--simulate*) exit 100 ;; esac')
        self.dev("packages", "build")
        verbs = [re.search(r"simulate|update|install -y", call)[0] for call in self.called("apt-get")]
        self.assertEqual(verbs, ["simulate", "update", "install -y"])

    def test_shows_what_apt_said_when_it_fails(self):
        self.stand_in("apt-get", "echo 'E: no space left'; exit 100")
        said = self.dev("packages", "build", status=1)
        self.assertIn("E: no space left", said)
        self.assertIn("could not install: cmake", said)

    def test_names_the_packages_where_there_is_no_apt(self):
        bare = self.folder / "bare"
        bare.mkdir()
        for name in ("bash", "dirname", "sort", "grep", "sed", "cat"):
            (bare / name).symlink_to(shutil.which(name))
        self.assertIn("not Debian or Ubuntu", self.dev("packages", "build", path=str(bare)))

    def test_formats_what_differs_from_main_committed_or_not(self):
        self.stand_in("dpkg-query", "printf '%s installed\\n' g++ cmake clang-format-14")
        self.stand_in("clang-format-14")
        git = ["git", "-C", str(self.checkout), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]

        def commit(message):
            subprocess.run([*git, "add", "-A"], check=True)
            subprocess.run([*git, "commit", "-qm", message], check=True)

        for name in ("old", "changed", "gone"):
            (self.checkout / f"{name}.cpp").write_text("int x;\n")
        subprocess.run([*git, "init", "-q"], check=True)
        commit("first")
        subprocess.run([*git, "checkout", "-qb", "branch"], check=True)
        (self.checkout / "committed.cpp").write_text("int x;\n")
        (self.checkout / "gone.cpp").unlink()
        commit("second")
        (self.checkout / "changed.cpp").write_text("int y;\n")
        (self.checkout / "new.h").write_text("int z;\n")
        (self.checkout / "notes.txt").write_text("no code\n")
        self.dev("format")
        self.assertEqual(self.called("clang-format-14"), ["clang-format-14 -i -- changed.cpp committed.cpp new.h"])


class PackageList(unittest.TestCase):
    def test_has_the_sections_that_the_verbs_name_and_lists_nothing_twice(self):
        text = (ROOT / "packages.txt").read_text()
        sections = {}
        for line in filter(None, (line.split("#")[0].strip() for line in text.splitlines())):
            if line.startswith("["):
                sections[line[1:-1]] = []
            else:
                list(sections.values())[-1].append(line)
        self.assertEqual(list(sections), ["build", "test", "mpi", "lint", "fuzz", "bench", "corpus"])
        for packages in sections.values():
            self.assertTrue(packages)
            self.assertEqual(len(packages), len(set(packages)))


if __name__ == "__main__":
    unittest.main()
