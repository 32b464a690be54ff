"""Chrome traces of several ranks (docs/tracing.md)."""

import collections
import json
import re


class Trace:
    """A file: names of its processes by rank, spans by (rank, row), and messages that were sent or received."""

    def __init__(self, file):
        events = json.loads(file.read_text())["traceEvents"]
        self.places = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
        self.spans = collections.defaultdict(list)
        for event in events:
            if event["ph"] == "X":
                self.spans[event["pid"], event["cat"]].append(event["name"])
        begins = {event["id"]: event for event in events if event["ph"] == "b"}
        ends = {event["id"]: event["ts"] for event in events if event["ph"] == "e"}
        self.unfinished = set(begins) ^ set(ends)
        # By sender, receiver and what it is, in the order of the steps.
        self.sends, self.receives = collections.defaultdict(list), collections.defaultdict(list)
        for key, event in sorted(begins.items(), key=lambda item: item[1]["ts"]):
            verb, _, what = event["name"].partition(" ")
            if verb in ("send", "receive"):
                peer = int(re.match(r"rank (\d+)", event["args"]["peer"])[1])
                way = (event["pid"], peer) if verb == "send" else (peer, event["pid"])
                (self.sends if verb == "send" else self.receives)[(*way, what)].append(event["ts"] if verb == "send" else ends[key])

    def hurried(self):
        """Microseconds that the most hurried message was received before it was sent; negative where none was."""
        return max(sent - received for key, times in self.sends.items() for sent, received in zip(times, self.receives[key]))
