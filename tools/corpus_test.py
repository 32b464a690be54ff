"""Tests of corpus.py, on pages of our own."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))
import corpus  # noqa: E402


def run(*arguments):
    return subprocess.run([sys.executable, TOOLS / "corpus.py", *arguments], capture_output=True, text=True, check=False)


class TextOf(unittest.TestCase):
    def test_keeps_headings_and_paragraphs_apart_and_joins_wrapped_lines(self):
        page = "<html><body><h2>1.&#160;Oars</h2><p>\n  Three banks\n  of <em>oars</em>, one\n <b>hull</b>.</p><p>Fast.</p></body></html>"
        self.assertEqual(corpus.text_of(page), "1. Oars\n\nThree banks of oars, one hull.\n\nFast.")

    def test_leaves_out_navigation_contents_scripts_and_titles(self):
        page = (
            "<head><title>No</title><meta charset='utf-8'/></head><body><div class='navheader'><div>Prev<br/></div><hr>Next</div>"
            "<div class='toc fixed'><dl><dt>No</dt></dl></div><script>if (a < b) no();</script><p>Yes</p>"
            "<a class='indexterm'>no</a><div class='navfooter'>No</div></body>"
        )
        self.assertEqual(corpus.text_of(page), "Yes")

    def test_keeps_code_as_it_is_written(self):
        page = "<p>So:</p><pre>\nrow(3)\n    seat  &lt;4&gt;\n\n  <b>done</b>\n</pre><p>Good.</p>"
        self.assertEqual(corpus.text_of(page), "So:\n\nrow(3)\n    seat  <4>\n\n  done\n\nGood.")

    def test_writes_lists_item_by_item(self):
        page = "<p>Crew:</p><ul><li><p>rowers</p></li><li>a helmsman</li></ul><ol><li>sit</li><li><p>row</p></li></ol><p>End</p>"
        self.assertEqual(corpus.text_of(page), "Crew:\n\n- rowers\n- a helmsman\n\n1. sit\n2. row\n\nEnd")

    def test_puts_a_definition_on_the_line_below_its_term(self):
        page = "<dl><dt>bow</dt><dd><p>the front</p></dd><dt>stern</dt><dd>the back</dd></dl>"
        self.assertEqual(corpus.text_of(page), "bow\nthe front\n\nstern\nthe back")

    def test_writes_a_table_row_by_row(self):
        page = "<table><tr><th>bank</th><th>men</th></tr><tr><td><p>upper</p></td><td>62</td></tr><tr><td></td><td>54</td></tr></table>"
        self.assertEqual(corpus.text_of(page), "bank | men\nupper | 62\n\n54")

    def test_survives_markup_that_is_not_closed(self):
        self.assertEqual(corpus.text_of("<p>one<p>two<td>three</pre></ul><li>four"), "one\n\ntwo | three\n\n- four")


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "html").mkdir()

    def write_page(self, name, words):
        (self.folder / "html" / name).write_text(f"<p>{words}</p>", encoding="utf-8")

    def make(self, *arguments):
        output = self.folder / "out" / "corpus.jsonl"
        answer = run("--html", self.folder / "html", "--output", output, *arguments)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return [json.loads(line)["text"] for line in output.read_text(encoding="utf-8").splitlines()], answer.stdout

    def test_writes_one_document_a_page_in_an_order_that_names_alone_decide(self):
        for number in range(20):
            self.write_page(f"page{number}.html", f"{number} “oars” " + "row " * 100)
        first, told = self.make()
        self.assertIn("20 pages", told)
        self.assertEqual({text.split()[0] for text in first}, {str(number) for number in range(20)})
        self.assertNotEqual(first, sorted(first))
        self.write_page("page7.html", "7 more " + "row " * 200)
        second, _ = self.make()
        self.assertEqual([text.split()[0] for text in first], [text.split()[0] for text in second])

    def test_skips_pages_with_next_to_no_text_and_stops_after_the_pages_asked_for(self):
        self.write_page("empty.html", "Contents")
        for number in range(3):
            self.write_page(f"{number}.html", "row " * 100)
        self.assertEqual(len(self.make()[0]), 3)
        self.assertEqual(len(self.make("--pages", "2")[0]), 2)

    def test_says_what_to_do_when_the_package_is_missing(self):
        answer = run("--package", "no-such-manual", "--output", self.folder / "corpus.jsonl")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("no-such-manual is not installed", answer.stderr)
        self.assertIn("./dev packages corpus", answer.stderr)
        self.assertFalse((self.folder / "corpus.jsonl").exists())

    def test_refuses_a_folder_without_pages(self):
        answer = run("--html", self.folder / "html", "--output", self.folder / "corpus.jsonl")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("no .html file", answer.stderr)


if __name__ == "__main__":
    unittest.main()
