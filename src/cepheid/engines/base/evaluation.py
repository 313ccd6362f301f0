"""What describes an evaluation: its name, what it refuses, what it can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepheid.analysis.model import AnalysedQuery
from cepheid.errors import OptionError

AUTO = "auto"
INSTANCE_STACKS = "instance_stacks"
NFA_B = "nfa_b"
LAZY_CHAIN = "lazy_chain"
LAZY_TREE = "lazy_tree"
IMPRECISE = "imprecise"
REFERENCE = "reference"
OUTPUTS = ("all", "non_overlapping")
COMPRESSED = "compressed"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A way of running a query: ``refusal`` says in one sentence why it cannot, or is None.

    ``has_automaton`` where what runs is the NFA^b of each alternative, which can be shown;
    ``has_session`` where events can come in batches, ``has_compressed`` where matches can be
    had as a structure that is not listed. ``better`` names an evaluation that ``auto`` takes in
    its stead, and says why. ``weighs`` where times are uncertain and matches have a confidence.
    """

    name: str
    summary: str
    refusal: Callable[[AnalysedQuery], str | None]
    has_automaton: bool = False
    has_session: bool = True
    has_compressed: bool = False
    better: Callable[[AnalysedQuery], tuple[str, str] | None] = lambda _query: None
    weighs: bool = False


def refuse_output(output: str) -> None:
    """Refuse an output other than all matches where they have confidences."""
    if output != OUTPUTS[0]:
        raise OptionError(
            f"where times are uncertain there is no output {output!r}: every match that some "
            "possible world has is reported, and min_confidence or top_k leave out the others"
        )
