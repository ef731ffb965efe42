"""Reads a TLC dump and prints its distinct stored states, sorted.

A line is "ver=2 mark=1 log=a,b view=a": the record's version and marker, its
log in order, and the view, in order when it is one object (ProjectedWriter),
sorted when it is rows (ProjectedWriterPartial).
"""

import re
import sys


def stored(state):
    """The line of one state, given TLC's text of each variable."""
    # TLC prints the fields of a record in no order to rely on.
    version = re.search(r"version \|-> (\d+)", state["record"])[1]
    marker = re.search(r"marker \|-> (\d+)", state["record"])[1]
    log = re.search(r"log \|-> <<(.*?)>>", state["record"])[1]
    return f"ver={version} mark={marker} log={ids(log)} view={view(state['view'])}"


def ids(sequence):
    return sequence.replace(" ", "")


def view(text):
    """A sequence of ids, or how often each id's row was written."""
    if text.startswith("<<"):
        return ids(text[2:-2])
    rows = re.findall(r"(\w+) :> (\d+)", text)
    return ",".join(row for row, times in sorted(rows) for _ in range(int(times)))


def states(dump):
    """Each state's variables that fit on one line; record and view do."""
    state = {}
    for line in dump:
        if line.startswith("State "):
            state = {}
        elif variable := re.match(r"/\\ (\w+) = (.*)", line):
            state[variable[1]] = variable[2]
        elif line == "\n":
            yield state


def main():
    lines = sorted({stored(state) for state in states(sys.stdin)})
    if not lines:
        sys.exit("stored.py: no state in the dump")
    print("\n".join(lines))


main()
