"""Active instance stacks as an SVG drawing [Wu06 §4.1, Figure 5].

A stack is a column that grows upwards. The stacks of a partition are side by side, in the order of
their components. An arrow leads from an instance to its RIP: the most recent instance of the
previous stack when the event arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.explain.canvas import LETTER, LINE, MARGIN, MARKER, WIDTH, Canvas, px
from cepheid.explain.formula import text_width

CELL = 30
GAP = 50
BETWEEN = 90
"""The space between the stacks of two partitions."""
MOST_MATCHES = 12
"""The number of matches that are written out."""

_STYLE = """\
.stacks rect.instance { fill: #f8fafc; stroke: #1f2937; stroke-width: 1.4 }
.stacks rect.matched { fill: #dbeafe; stroke: #1d4ed8; stroke-width: 1.8 }
.stacks rect.last { stroke-dasharray: 5 3 }
.stacks .wall { stroke: #9ca3af; stroke-width: 2 }
.stacks .rip { stroke: #6b7280 }
.stacks .matched-rip { stroke: #1d4ed8 }"""

_MARKERS = "\n".join(
    MARKER.format(name, colour)
    for name, colour in (("stacks-rip", "#6b7280"), ("stacks-matched-rip", "#1d4ed8"))
)


@dataclass(frozen=True, slots=True)
class Instance:
    """An event on the stack of a component; ``rip`` is the index of another in the same list."""

    label: str
    component: int
    rip: int | None
    is_matched: bool


@dataclass(frozen=True, slots=True)
class PartitionStacks:
    """The instances on the stacks of one partition, from bottom to top."""

    key: str
    instances: Sequence[Instance]


@dataclass(frozen=True, slots=True)
class SequenceStacks:
    """The stacks of one alternative of a query, and the matches that the last event completes."""

    pattern: str
    components: Sequence[str]
    partitions: Sequence[PartitionStacks]
    matches: Sequence[str]


def draw_stacks(
    pattern: str, said: str, read: Sequence[str], alternatives: Sequence[SequenceStacks]
) -> str:
    """The stacks of each alternative after these events, one below the other."""
    canvas = Canvas("stacks", _STYLE, _MARKERS)
    canvas.paragraph(pattern, "heading")
    if said:
        canvas.paragraph(said, "note")
    canvas.paragraph(f"read: {' '.join(read)}", "")
    for number, alternative in enumerate(alternatives, start=1):
        if len(alternatives) > 1:
            canvas.rule()
            canvas.paragraph(f"alternative {number}: {alternative.pattern}", "heading")
        _Stacks(alternative, canvas).draw(read[-1] if read else "")
    return canvas.document(f"Instance stacks of {pattern}")


class _Stacks:
    """The stacks of one alternative on a canvas."""

    def __init__(self, stacks: SequenceStacks, canvas: Canvas) -> None:
        self._stacks = stacks
        self._canvas = canvas
        labels = [each.label for part in stacks.partitions for each in part.instances]
        widest = max(map(text_width, (*labels, *stacks.components)))
        self._cell = widest * LETTER + 20
        self._width = len(stacks.components) * (self._cell + GAP) - GAP

    def draw(self, last: str) -> None:
        across = max(int((WIDTH - 2 * MARGIN + BETWEEN) // (self._width + BETWEEN)), 1)
        partitions = self._stacks.partitions
        for low in range(0, len(partitions), across):
            row = partitions[low : low + across]
            depth = max(1, *map(self._depth, row))
            for place, partition in enumerate(row):
                self._partition(partition, MARGIN + place * (self._width + BETWEEN), depth)
            self._canvas.y += self._above(row) + depth * CELL + LINE + 24
        matches = self._stacks.matches
        if matches:
            counted = "a match" if len(matches) == 1 else f"{len(matches)} matches"
            shown = ", ".join(matches[:MOST_MATCHES]) + ", …" * (len(matches) > MOST_MATCHES)
            self._canvas.paragraph(f"{last} completes {counted}: {shown}", "")

    def _depth(self, partition: PartitionStacks) -> int:
        """The height of the highest stack."""
        counts = [0] * len(self._stacks.components)
        for instance in partition.instances:
            counts[instance.component] += 1
        return max(counts)

    def _above(self, partitions: Sequence[PartitionStacks]) -> int:
        return 12 + (LINE + 4 if any(each.key for each in partitions) else 0)

    def _partition(self, partition: PartitionStacks, x: float, depth: int) -> None:
        top = self._canvas.y + self._above([partition])
        if partition.key:
            self._canvas.text(x, top - 14, partition.key, "note")
        foot = top + depth * CELL + 6
        lefts = [x + ix * (self._cell + GAP) for ix in range(len(self._stacks.components))]
        for left, component in zip(lefts, self._stacks.components, strict=True):
            wall = f"M{px(left - 4)},{px(top)} V{px(foot)} h{px(self._cell + 8)} V{px(top)}"
            self._canvas.path(wall, "wall")
            self._canvas.text(left + self._cell / 2, foot + LINE, component, "heading middle")
        self._canvas.reach(lefts[-1] + self._cell + 4)
        heights = [0] * len(lefts)
        middles: list[float] = []
        for instance in partition.instances:
            heights[instance.component] += 1
            y = foot - 3 - heights[instance.component] * CELL
            middles.append(y + CELL / 2)
            self._instance(instance, lefts[instance.component], y)
        for instance, y in zip(partition.instances, middles, strict=True):
            if instance.rip is None:
                continue
            start, end = lefts[instance.component] - 1, lefts[instance.component - 1] + self._cell
            is_path = instance.is_matched and partition.instances[instance.rip].is_matched
            style = "matched-rip" if is_path else "rip"
            self._canvas.path(
                f"M{px(start)},{px(y)} L{px(end + 3)},{px(middles[instance.rip])}",
                style,
                f"stacks-{style}",
            )

    def _instance(self, instance: Instance, left: float, y: float) -> None:
        is_last = instance.component == len(self._stacks.components) - 1
        style = "instance" + " matched" * instance.is_matched + " last" * is_last
        self._canvas.shape(
            f'<rect class="{style}" x="{px(left)}" y="{px(y + 2)}" width="{px(self._cell)}"'
            f' height="{CELL - 4}" rx="4"/>'
        )
        self._canvas.text(left + self._cell / 2, y + CELL / 2 + 5, instance.label, "middle")
