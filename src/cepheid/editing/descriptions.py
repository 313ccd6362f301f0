"""What the words of the languages mean, in a sentence or two, for hover texts and completion."""

from __future__ import annotations

from cepheid.aggregates import AGGREGATES, COUNT_DISTINCT
from cepheid.functions import Function, find_function
from cepheid.schema import Kind

STRATEGIES = {
    "skip_till_any_match": "Every combination of events that satisfies the conditions is a match: "
    "a run may skip any event, also one that it could select. The default.",
    "skip_till_next_match": "A run selects the next event that satisfies the conditions, and skips "
    "only events that do not.",
    "partition_contiguity": "The selected events follow each other directly in their partition: "
    "among the events that agree on the tests in brackets, such as `[id]`.",
    "strict_contiguity": "The selected events follow each other directly in the stream.",
}

SASE_WORDS = {
    "PATTERN": "The events to find: `SEQ(A a, B+ b[], ~(C c))`.",
    "EVENT": "The same as PATTERN; usual for one component.",
    "FROM": "The name of the stream.",
    "WHERE": "The conditions on the events, and the selection strategy.",
    "WITHIN": "The time of the last event minus that of the first is **less than** this. After a "
    "negation inside SEQ: how long the event must not occur.",
    "RETURN": "What is computed for each match: `a.x, avg(b[].x) AS mean`, or a composite event, "
    "`Alert(id = a.id)`.",
    "OUTPUT": "Which matches are reported: a mode, `AT MOST ONCE PER` a duration, or "
    "`WITH TIMED OUT`.",
    "SEQ": "All parts in order: every event of a part is before every event of the next.",
    "AND": "In a pattern: all parts, in any order. In a condition: both are true.",
    "OR": "In a pattern: one of the parts. In a condition: one of them is true.",
    "NOT": "In a pattern: no such event at this place. In a condition: not true.",
    "ANY": "One event of any of these types.",
    "WITHOUT": "No such event between the first and the last event of the list.",
    "IN": "Equal to one of the values.",
    "BETWEEN": "From the first value to the second, both included.",
    "LIKE": "`%` matches any string, `_` any one character.",
    "IS": "`IS NULL` or `IS NOT NULL`.",
    "NULL": "A value that is not there. A comparison with it is unknown.",
    "TRUE": "The truth value.",
    "FALSE": "The truth value.",
    "AS": "The name of an item.",
    "EVENTS": "The window counts positions in the stream.",
    "PER": "`EVENTS PER PARTITION`, or `AT MOST ONCE PER` a duration.",
    "PARTITION": "The window counts the events that agree on the tests in brackets.",
    "WITH CONFIDENCE": "With uncertain times: only matches with at least this confidence.",
    "WITH TIMED OUT": "Also the furthest partial match of each first event that begins no match, "
    "when its window has passed.",
    "AT MOST ONCE PER": "Leaves out matches that end less than this after the last one reported in "
    "their partition.",
    "CASE": "The value of the first condition that is true.",
    "WHEN": "A condition of CASE.",
    "THEN": "The value if the condition of CASE is true.",
    "ELSE": "The value of CASE if no condition is true.",
    "END": "The end of CASE.",
    "DISTINCT": "Counts different values.",
    "ALL": "All matches. The default.",
    "FIRST": "Of the matches with the same first event, the one that completes first.",
    "LONGEST": "Of the matches with the same first event, the one with the most events.",
    "LEFTMOST": "In each partition, the longest match of the earliest first event, and then those "
    "that start after its last event.",
    "NON_OVERLAPPING": "In each partition, each match that starts after the last one reported has "
    "ended, in the order in which they complete.",
}

ROW_WORDS = {
    "MATCH_RECOGNIZE": "SQL's row pattern recognition over the rows of a table.",
    "SELECT": "The columns of the result.",
    "PARTITION BY": "Rows with equal values of these columns are searched separately.",
    "ORDER BY": "The order of the rows of a partition.",
    "MEASURES": "The columns that are computed for each match.",
    "ONE ROW PER MATCH": "One row for each match. The default.",
    "ALL ROWS PER MATCH": "A row for each row of a match.",
    "SHOW EMPTY MATCHES": "Also a row for an empty match. The default.",
    "OMIT EMPTY MATCHES": "No row for an empty match.",
    "WITH UNMATCHED ROWS": "Also the rows that are in no match.",
    "AFTER MATCH SKIP": "Where the search continues after a match.",
    "PAST LAST ROW": "The search continues after the last row of the match. The default.",
    "TO NEXT ROW": "The search continues at the second row of the match.",
    "PATTERN": "A regular expression over variables: `A B+ (C | D)*?`.",
    "WITHIN": "The time of the last row of a match minus that of the first is less than this.",
    "SUBSET": "A variable for the rows of several others.",
    "DEFINE": "The condition that a row of a variable satisfies.",
    "PERMUTE": "The variables in any order.",
    "RUNNING": "Over the rows of the match up to this one.",
    "FINAL": "Over all rows of the match.",
    "INTERVAL": "A duration: `INTERVAL '5' MINUTE`.",
}

ROW_FUNCTIONS = {
    "FIRST": "FIRST(x, n): the value in the first row, or n rows after it.",
    "LAST": "LAST(x, n): the value in the last row, or n rows before it.",
    "PREV": "PREV(x, n): the value n rows before, by default 1.",
    "NEXT": "NEXT(x, n): the value n rows after, by default 1.",
    "CLASSIFIER": "CLASSIFIER(): the variable that the row matched.",
    "MATCH_NUMBER": "MATCH_NUMBER(): the number of the match in its partition.",
}

PSEUDO = {
    "LEN": "The number of events of the list.",
    "INDEX": "The number of the event in the stream, from 0.",
    "PARTITION_INDEX": "The number of the event in its partition; only in the difference of two.",
}

_AGGREGATES = {
    "min": "the smallest value", "max": "the largest value", "sum": "the sum", "avg": "the mean",
    "count": "the number of values, or of events for `count(a[])`",
    "variance": "the variance of a sample", "stddev": "the standard deviation of a sample",
    "median": "the value in the middle", "first": "the value of the first event",
    "last": "the value of the last event",
}  # fmt: skip


def describe_function(name: str) -> str | None:
    """The signature of a function or an aggregate.

    >>> describe_function("round"), describe_function("nothing")
    ('`round(number, number?) → float`', None)
    """
    if name.lower() in AGGREGATES and name.lower() != COUNT_DISTINCT:
        meaning = _AGGREGATES.get(name.lower(), "an aggregate")
        return f"`{name.lower()}(a[].x)`: {meaning}, over the events of a list"
    function = find_function(name)
    return None if function is None else f"`{_signature(function)}`"


def _signature(function: Function) -> str:
    least, most = function.least_arguments, function.most_arguments
    parts = [
        _kind(function.parameter(number)) + ("" if number < least else "?")
        for number in range(least if most is None else most)
    ]
    parts += ["…"] if most is None else []
    result = "the same" if function.result is None else function.result.value
    return f"{function.name}({', '.join(parts)}) → {result}"


def _kind(kind: Kind) -> str:
    names = {Kind.FLOAT: "number", Kind.UNKNOWN: "value", Kind.TIMESTAMP: "time"}
    return names.get(kind, kind.value)
