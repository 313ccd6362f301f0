"""What the output of a query is: its mode, and how often it reports."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.patterns import why_no_timeouts
from cepheid.errors import OptionError
from cepheid.language import syntax as ast
from cepheid.matches.modes.mode import ALL, OutputMode
from cepheid.matches.modes.registry import output_mode


@dataclass(frozen=True, slots=True)
class OutputRule:
    """Which matches of a query are reported.

    ``least_gap`` is the duration of AT MOST ONCE PER, in ticks. With ``timed_out``, partial
    matches whose window has passed are reported too.

    >>> OutputRule("leftmost").needs_whole_partitions, OutputRule("first").needs_whole_partitions
    (True, False)
    """

    output: str = ALL.name
    least_gap: int | None = None
    timed_out: bool = False

    @property
    def mode(self) -> OutputMode:
        """The output mode."""
        return output_mode(self.output)

    @property
    def chooses(self) -> bool:
        """Whether some matches are not reported."""
        return self.mode.chooses or self.least_gap is not None

    @property
    def needs_whole_partitions(self) -> bool:
        """Whether one session has to see all events of a partition."""
        return self.mode.needs_whole_partitions or self.least_gap is not None

    def waits_for_end(self, query: ast.Query) -> bool:
        """Whether nothing is certain before the end of a stream."""
        any_match = query.strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH
        return self.mode.waits and any_match and query.window is None

    def refuse_stream(self, query: ast.Query) -> None:
        """Refuse a stream in which nothing would be certain before its end."""
        if self.waits_for_end(query):
            raise OptionError(
                f"a stream has no {self.output} output for this query: under skip_till_any_match "
                "every later event can be in a longer match; add WITHIN"
            )

    def refuse_query(self, query: AnalysedQuery) -> None:
        """Refuse a query that has no such output."""
        refusal = self.mode.refusal(query)
        if refusal is not None:
            raise OptionError(f"there is no {self.output} output for this query: {refusal}")
        if self.timed_out and (reason := why_no_timeouts(query.query)):
            raise OptionError(f"timed_out {reason}")


EVERY_MATCH = OutputRule()


def refuse_output(rule: OutputRule) -> None:
    """Refuse an output other than all matches if matches have confidences."""
    if rule.chooses or rule.timed_out:
        shown = "AT MOST ONCE PER" if rule.least_gap is not None else "WITH TIMED OUT"
        shown = f"output {rule.output!r}" if rule.mode.chooses else shown
        raise OptionError(
            f"where times are uncertain there is no {shown}: every match that some "
            "possible world has is reported, and min_confidence or top_k leave out the others"
        )
