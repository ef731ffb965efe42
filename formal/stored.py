"""Reads a TLC dump and prints its distinct stored states, sorted.

A line is "ver=2 mark=1 log=a,b view=a": the record's version and marker, its
log in order, and the view, in order when it is one object (ProjectedWriter),
sorted when it is rows (ProjectedWriterPartial).
"""

import re
import sys

RECORD = re.compile(r"/\\ record = \[version \|-> (\d+), marker \|-> (\d+), log \|-> <<(.*)>>\]$")
OBJECT = re.compile(r"/\\ view = <<(.*)>>$")
ROWS = re.compile(r"/\\ view = \((.*)\)$")


def ids(sequence):
    return sequence.replace(" ", "")


def written(rows):
    """The ids of the rows, each as often as it was written."""
    return ",".join(row for row, times in re.findall(r"(\w+) :> (\d+)", rows) for _ in range(int(times)))


def main():
    stored = set()
    record = view = None
    for line in sys.stdin:
        if line.startswith("State "):
            record = view = None
        elif found := RECORD.match(line):
            record = "ver=%s mark=%s log=%s" % (found[1], found[2], ids(found[3]))
        elif found := OBJECT.match(line):
            view = ids(found[1])
        elif found := ROWS.match(line):
            view = written(found[1])
        elif line == "\n":
            stored.add("%s view=%s" % (record, view))
    if not stored or any("None" in line for line in stored):
        sys.exit("stored.py: not a dump of the specifications' states")
    print("\n".join(sorted(stored)))


main()
