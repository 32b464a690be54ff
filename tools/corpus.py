#!/usr/bin/env python3
"""Makes the corpus of the quickstart: the manual of PostgreSQL, as plain text, one JSON line a page.

The pages are those that the package postgresql-doc of this release installed. Markup, navigation,
tables of contents and the index are left out; paragraphs, headings, lists, tables and code stay.
Pages stand in the order of a checksum of their names: the same on every machine, and mixed, so
that the last few per cent, which training holds out, are like the rest.
"""

import argparse
import hashlib
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys

VOID_TAGS = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
DROPPED_TAGS = {"head", "script", "style", "object"}
DROPPED_CLASSES = {"navheader", "navfooter", "toc", "index", "indexterm"}
PARAGRAPH_TAGS = {"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "dl", "blockquote", "hr"}
# Hard spaces become spaces; invisible ones and the paragraph signs that link to commits go.
CHARACTERS = str.maketrans({"\u00a0": " ", "\u200b": None, "\u00a7": None})
SHORTEST_PAGE = 200  # characters; shorter ones held little but a table of contents


class PageText(html.parser.HTMLParser):
    """The readable text of one HTML page: feed() it, then text().

    Text is written word by word; before a word stand the line breaks that the tags since the last
    word asked for: two around paragraphs, one between list items, table rows and lines of a cell.
    """

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self._out = []
        self._breaks = 0  # line breaks due before the next word
        self._space = False  # a space is due before the next word
        self._prefix = ""  # as in "- ", due before the next word
        self._held = False  # at the start of a list item or cell: its first paragraph breaks no line
        self._dropped = 0  # depth inside a dropped element
        self._pre = 0  # depth of <pre>
        self._lists = []  # None for <ul>, the last number for <ol>
        self._cells = 0  # of the current table row
        self._row_start = 0  # length of _out at its start
        self._row_breaks = 1

    def handle_starttag(self, tag, attrs):
        if tag in VOID_TAGS:
            if not self._dropped and tag in ("br", "hr"):
                self._break(1 if tag == "br" else 2)
            return
        classes = (dict(attrs).get("class") or "").split()
        if self._dropped or tag in DROPPED_TAGS or DROPPED_CLASSES.intersection(classes):
            self._dropped += 1
            return
        if tag == "pre":
            self._break(2)
            self._pre += 1
        elif tag == "p" and self._cells:
            self._break(1)
        elif tag in PARAGRAPH_TAGS:
            self._break(2)
        if tag == "ul":
            self._lists.append(None)
        elif tag == "ol":
            self._lists.append(0)
        elif tag == "li":
            self._break(1)
            if self._lists and self._lists[-1] is not None:
                self._lists[-1] += 1
                self._prefix = f"{self._lists[-1]}. "
            else:
                self._prefix = "- "
            self._held = True
        elif tag == "dt":
            self._break(2)
        elif tag == "dd":
            self._set_breaks(1)
            self._held = True
        elif tag == "tr":
            self._break(1)
            self._cells = 0
            self._row_start = len(self._out)
            self._row_breaks = 1
        elif tag in ("td", "th"):
            if len(self._out) > self._row_start:
                self._set_breaks(0)
                self._prefix = " | "
                self._held = True
            self._cells += 1

    def handle_startendtag(self, tag, attrs):
        if tag in VOID_TAGS:  # any other is an empty element: nothing to show
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        if tag in VOID_TAGS:
            return
        if self._dropped:
            self._dropped -= 1
            return
        if tag == "pre":
            self._pre = max(self._pre - 1, 0)
            self._break(2)
        elif tag == "p" and self._cells:
            self._break(1)
            self._row_breaks = 2
        elif tag in PARAGRAPH_TAGS:
            self._break(2)
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag in ("li", "dd"):
            self._set_breaks(1)
            self._prefix = ""
        elif tag == "tr":
            self._set_breaks(self._row_breaks)
            self._prefix = ""
            self._cells = 0

    def handle_data(self, data):
        if self._dropped:
            return
        data = data.translate(CHARACTERS)
        if self._pre:
            self._write_code(data)
            return
        for piece in re.split(r"(\s+)", data):
            if piece and piece.isspace():
                self._space = True
            elif piece:
                self._write_word(piece)

    def text(self):
        lines = "".join(self._out).split("\n")
        return "\n".join(line.rstrip() for line in lines).strip("\n")

    def _break(self, count):
        if not self._held:
            self._breaks = max(self._breaks, count)

    def _set_breaks(self, count):
        self._breaks = count
        self._space = False
        self._held = False

    def _write_word(self, word):
        if self._space and not self._breaks and not self._prefix and self._out:
            self._out.append(" ")
        self._write(word)

    def _write_code(self, code):
        if self._breaks:  # the newline behind <pre> belongs to the markup
            code = code.removeprefix("\n")
        if code:
            self._write(code)

    def _write(self, text):
        if self._breaks and self._out:
            self._out.append("\n" * self._breaks)
        self._out.append(self._prefix + text)
        self._prefix = ""
        self._breaks = 0
        self._space = False
        self._held = False


def text_of(page_html):
    page = PageText()
    page.feed(page_html)
    page.close()
    # Newlines at the end of <pre> and the breaks behind it add up.
    return re.sub(r"\n{3,}", "\n\n", page.text())


def fail(what, remedy):
    print(f"error: corpus: {what}; {remedy}", file=sys.stderr)
    sys.exit(1)


def dpkg(*arguments):
    """Lines that dpkg-query prints; none where it knows nothing, or is not there."""
    try:
        answer = subprocess.run(["dpkg-query", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return answer.stdout.splitlines()


def installed_pages(metapackage):
    """The HTML files of what the metapackage stands for on this release, as in postgresql-doc-15."""
    depends = " ".join(dpkg("-W", "-f=${Depends}", metapackage))
    names = re.findall(re.escape(metapackage) + r"-[0-9]+", depends)
    if not names:
        fail(f"the package {metapackage} is not installed", "install it with: ./dev packages corpus")
    listed = [line for name in names for line in dpkg("-L", name) if line.endswith(".html")]
    pages = [pathlib.Path(line) for line in listed if os.path.exists(line)]
    if not pages:
        fail(
            f"{' '.join(names)} is installed without its pages (this system leaves out documentation, as container images do)",
            "install it again, with them: ./dev packages corpus",
        )
    return pages


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path, help='JSONL file to write, {"text": ...} a line')
    parser.add_argument("--package", default="postgresql-doc", help="metapackage of the manual (default: %(default)s)")
    parser.add_argument("--html", type=pathlib.Path, help="take the pages of this folder instead of the package's")
    parser.add_argument("--pages", type=int, default=0, help="stop after this many pages (default: all)")
    parser.add_argument("--check", action="store_true", help="only tell whether the pages are there (exit 1: they are not)")
    options = parser.parse_args()
    if options.html:
        pages = list(options.html.glob("**/*.html"))
        if not pages:
            fail(f"no .html file in {options.html}", "name the folder of the manual's pages")
    else:
        pages = installed_pages(options.package)
    if options.check:
        return
    if not options.output:
        parser.error("--output FILE is missing")

    pages.sort(key=lambda page: (hashlib.sha256(page.name.encode()).hexdigest(), str(page)))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    temporary = options.output.with_name(options.output.name + ".tmp")
    written = characters = 0
    with temporary.open("w", encoding="utf-8") as out:
        for page in pages:
            text = text_of(page.read_text(encoding="utf-8", errors="replace"))
            if len(text) < SHORTEST_PAGE:
                continue
            out.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            written += 1
            characters += len(text)
            if written == options.pages:
                break
    temporary.replace(options.output)
    print(f"{written} pages, {characters / 1e6:.1f} million characters: {options.output}")


if __name__ == "__main__":
    main()
