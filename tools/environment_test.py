"""The environment is read in one place, and docs/environment.md lists every variable that anything here reads."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
READER = "src/core/environment.cpp"

# What bash sets by itself.
BASH = {"BASH_SOURCE", "BASH_VERSION", "EUID", "IFS", "LINENO", "OLDPWD", "PWD", "RANDOM", "SECONDS", "UID"}


def listed():
    return set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/environment.md").read_text(), re.M))


def sources(*suffixes, folders):
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in suffixes:
                yield file


def read_by_shell(text):
    """Names in capitals that a script expands and does not set itself."""
    read = set(re.findall(r"\$\{?#?([A-Z][A-Z0-9_]+)\b", text)) | set(re.findall(r"\bprintenv ([A-Z]\w*)", text))
    return read - set(re.findall(r"(?:^|[\s;(])([A-Z][A-Z0-9_]+)\+?=", text)) - BASH


def read_by_python(text):
    return set(re.findall(r"""environ(?:\.get\(|\.pop\(|\.setdefault\(|\[)\s*["'](\w+)|getenv\(\s*["'](\w+)""", text))


class Environment(unittest.TestCase):
    def test_one_file_reads_it(self):
        for file in sources(".h", ".cpp", ".cu", folders=("src", "tests", "bench")):
            if str(file.relative_to(ROOT)) == READER:
                continue
            found = re.search(r"\b(?:secure_)?getenv\b|\benviron\b", file.read_text())
            self.assertIsNone(found, f"{file.relative_to(ROOT)} reads the environment by itself; declare the variable in {READER} and call environment_value()")
        self.assertIn("getenv", (ROOT / READER).read_text())

    def test_what_scripts_read_is_listed(self):
        scripts = [ROOT / "dev", ROOT / ".ci/run", *sources(".sh", folders=("tools",))]
        for file in scripts:
            missing = read_by_shell(file.read_text()) - listed()
            self.assertFalse(missing, f"{file.relative_to(ROOT)} reads {missing}, which {READER} does not declare")
        for file in sources(".py", folders=("tools", "tests", "bench")):
            names = {name for pair in read_by_python(file.read_text()) for name in pair if name}
            self.assertFalse(names - listed(), f"{file.relative_to(ROOT)} reads {names - listed()}, which {READER} does not declare")

    def test_our_own_variables_are_read(self):
        text = "".join(file.read_text() for file in sources(".h", ".cpp", folders=("src", "tests", "bench")))
        by_scripts = read_by_shell((ROOT / "dev").read_text())
        for name in listed():
            if name.startswith("TRIREME_"):
                read = f'environment_value("{name}")' in text or name in by_scripts
                self.assertTrue(read, f"{name} is declared and nothing reads it")

    def test_sees_what_a_script_reads(self):
        self.assertEqual(read_by_shell('X=1\necho "$X ${HOME_X:-} $EUID ${NO_Y}" $name'), {"HOME_X", "NO_Y"})
        self.assertEqual(read_by_shell("local AB=3; echo $AB ${CD[0]}"), {"CD"})
        self.assertEqual(read_by_python("os.environ['PATH'] os.environ.get(\"CXX\") os.getenv('TMPDIR')"), {("PATH", ""), ("CXX", ""), ("", "TMPDIR")})


if __name__ == "__main__":
    unittest.main()
