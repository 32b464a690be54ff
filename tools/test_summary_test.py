"""Tests of test_summary.py."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent

PROGRAM = """<testsuites><testsuite name="Oar">
<testcase name="Pulls" classname="Oar" status="run" result="completed"/>
<testcase name="Splashes" classname="Oar" status="run" result="skipped"><skipped>oar_test.cpp:7
no water here</skipped></testcase>
<testcase name="DISABLED_Breaks" classname="Oar" status="notrun" result="suppressed"/>{more}
</testsuite></testsuites>"""
FAILURE = '<testcase name="Floats" classname="Oar" status="run" result="completed"><failure message="sank"/></testcase>'

NOT_RUN = {  # as ctest writes them
    "hosts_test": '<skipped message="SKIP_RETURN_CODE=77"/><system-out>one moment\nskipped: namespaces &amp; mounts take root\n</system-out>',
    "silent_test": '<skipped message="SKIP_RETURN_CODE=77"/><system-out></system-out>',
    "disabled_test": "<system-out>Disabled</system-out>",
    "missing_test": '<skipped message="Unable to find executable"/><system-out>Unable to find executable: missing_test</system-out>',
}


class Summary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def stage(self, name, cases, **programs):
        stage = self.folder / name
        stage.mkdir()
        rows = "".join(f'<testcase name="{case}" status="{status}" time="1.5">{NOT_RUN.get(case, "")}</testcase>' for case, status in cases.items())
        (stage / "ctest.xml").write_text(f"<testsuite>{rows}</testsuite>")
        for program, text in programs.items():
            (stage / f"{program}.xml").write_text(text)

    def summary(self):
        answer = subprocess.run([sys.executable, TOOLS / "test_summary.py", self.folder], capture_output=True, text=True, check=False)
        return answer.returncode, answer.stdout.splitlines()

    def test_counts_the_tests_of_a_program_and_a_script_as_one(self):
        self.stage("0-fast", {"oar_test": "run", "script": "run"}, oar_test=PROGRAM.format(more=""))
        self.stage("1-slow", {"other": "run"})
        status, lines = self.summary()
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed, 1 skipped"))
        self.assertTrue(any("Oar.Splashes: no water here" in line for line in lines))

    def test_counts_failures_by_test_and_a_crashed_program_as_one(self):
        self.stage(
            "0-fast",
            {"oar_test": "fail", "crashed_test": "fail", "script": "fail"},
            oar_test=PROGRAM.format(more=FAILURE),
            crashed_test="<testsuites><tests",
        )
        status, lines = self.summary()
        self.assertEqual((status, lines[-1]), (1, "1 passed, 3 failed, 1 skipped"))

    def test_says_why_a_script_skipped_itself_with_its_name(self):
        self.stage("0-slow", {"hosts_test": "notrun", "silent_test": "notrun", "disabled_test": "disabled", "script": "run"})
        status, lines = self.summary()
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed, 3 skipped"))
        self.assertIn("  skipped hosts_test: namespaces & mounts take root", lines)
        self.assertIn("  skipped silent_test: it did not say why", lines)
        self.assertIn("  skipped disabled_test: disabled", lines)

    def test_counts_a_program_that_is_not_there_as_a_failure(self):
        self.stage("0-slow", {"missing_test": "notrun", "script": "run"})
        status, lines = self.summary()
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))

    def test_refuses_a_run_without_tests(self):
        self.stage("0-fast", {})
        self.assertEqual(self.summary()[0], 1)

    def test_lists_stages_in_the_order_they_ran(self):
        for number in range(12):
            self.stage(f"{number}-stage{number}", {"script": "run"})
        _, lines = self.summary()
        self.assertEqual([line.split()[0] for line in lines if "stage" in line], [f"stage{number}" for number in range(12)])


if __name__ == "__main__":
    unittest.main()
