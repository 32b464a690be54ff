#!/usr/bin/env python3
"""Prints what a run of ./dev test came to, a line a stage and one for all, and why each test that was skipped was.

FOLDER has one folder a stage, as in "0-fast": ctest.xml from ctest, and a NAME.xml from each
GoogleTest program, so that tests are counted one by one and not by program. A script that skips itself
(SKIP_RETURN_CODE) says why in a line "skipped: WHY".
Exit status 1 when a test failed or none ran.
"""

import dataclasses
import pathlib
import sys
import xml.etree.ElementTree as xml


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    why_skipped: list = dataclasses.field(default_factory=list)  # "test: its words", a line each

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds
        self.why_skipped += other.why_skipped

    def text(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def read(path):
    """The root element; None for a file that a killed program left unfinished."""
    try:
        return xml.parse(path).getroot()
    except (xml.ParseError, FileNotFoundError):
        return None


def count_program(root):
    """Counts of one GoogleTest program."""
    counts = Counts()
    for case in root.iter("testcase"):
        if case.find("failure") is not None:
            counts.failed += 1
        elif case.get("result") == "skipped":
            counts.skipped += 1
            skipped = case.find("skipped")
            words = (skipped.text or "").split("\n", 1)[-1] if skipped is not None else ""  # behind the line "file:line"
            counts.why_skipped.append(f"{case.get('classname')}.{case.get('name')}: {words}")
        elif case.get("status") == "run":
            counts.passed += 1
    return counts


def count_not_run(case):
    """Counts of a case that ctest did not run, or that said that it cannot be run here."""
    skipped = case.find("skipped")
    itself = skipped is not None and (skipped.get("message") or "").startswith("SKIP_")
    if not itself and case.get("status") != "disabled":
        return Counts(failed=1)  # its program is not there, or what it needs failed
    lines = (case.findtext("system-out") or "").splitlines()
    reasons = [line.split(": ", 1)[1] for line in lines if line.startswith("skipped: ")]
    why = reasons[-1] if reasons else "it did not say why" if itself else "disabled"
    return Counts(skipped=1, why_skipped=[f"{case.get('name')}: {why}"])


def count_stage(folder):
    """A ctest case counts as the tests of its program; as one where it is none, or failed without naming a test."""
    counts = Counts()
    ctest = read(folder / "ctest.xml")
    for case in ctest.iter("testcase") if ctest is not None else []:
        status = case.get("status")
        passed = status == "run"
        root = read(folder / f"{case.get('name')}.xml")
        tests = count_program(root) if root is not None else Counts()
        if status in ("notrun", "disabled"):
            tests = count_not_run(case)
        elif not passed and not tests.failed:
            tests.failed = 1
        elif passed and not tests.passed and not tests.skipped:
            tests.passed = 1
        tests.seconds = float(case.get("time") or 0)
        counts.add(tests)
    return counts


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: test_summary.py FOLDER")
    total = Counts()
    print("\nsummary")
    stages = [path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir()]
    for folder in sorted(stages, key=lambda path: int(path.name.split("-")[0])):
        counts = count_stage(folder)
        total.add(counts)
        name = folder.name.split("-", 1)[1]
        print(f"  {name:<32} {counts.text():<32} {counts.seconds:7.1f} s")
    for words in dict.fromkeys(total.why_skipped):
        print(f"  skipped {words}")
    print(total.text())
    sys.exit(1 if total.failed or not total.passed else 0)


if __name__ == "__main__":
    main()
