"""The layer diagram holds: a folder includes only itself and the folders that its CMakeLists.txt links to, directly or through them."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"


def rooms():
    """Folders in the order in which the top CMakeLists.txt adds them: lower floors first."""
    return re.findall(r"add_subdirectory\(src/(\w+)\)", (ROOT / "CMakeLists.txt").read_text())


def linked(room):
    """Rooms that a room links to, by its own list."""
    text = (SOURCE / room / "CMakeLists.txt").read_text()
    found = set(re.findall(r"trireme_(\w+)", " ".join(re.findall(r"target_link_libraries\(.*?\)", text, re.S))))
    for words in re.findall(r"\b(?:LINKS|TEST_LINKS)\b([\s\w]*?)(?=\b[A-Z_]{4,}\b|\))", text):
        found |= set(words.split())
    return found & set(rooms())


def reachable(room):
    found, new = {room}, {room}
    while new:
        new = set().union(*(linked(one) for one in new)) - found
        found |= new
    return found


class Layers(unittest.TestCase):
    def test_links_go_downward(self):
        order = rooms()
        for room in order:
            for other in linked(room) - {room}:
                self.assertLess(order.index(other), order.index(room), f"src/{room} links to {other}")

    def test_includes_follow_the_links(self):
        for room in rooms():
            allowed = reachable(room)
            for file in sorted((SOURCE / room).rglob("*")):
                if file.suffix not in (".h", ".cpp"):
                    continue
                for other in re.findall(r'^\s*#include "(\w+)/', file.read_text(), re.M):
                    self.assertIn(other, allowed, f"{file.relative_to(ROOT)} includes {other}/, which src/{room} does not link to")

    def test_every_folder_is_in_the_diagram(self):
        folders = {path.parent.name for path in SOURCE.glob("*/CMakeLists.txt")}
        self.assertEqual(folders, set(rooms()))


if __name__ == "__main__":
    unittest.main()
