"""When a negation is tested: early, on partial matches, or late, on complete ones.

An early test drops partial matches as soon as the components around the negated one are bound.
The filter of complete matches is faster, and it is enough where little could be dropped early.
"""

from __future__ import annotations

from cepheid.analysis.model import Alternative, NegatedComponent
from cepheid.engines.lazy.layout import Rows
from cepheid.engines.lazy.variants.negation import TESTS_EARLY
from cepheid.tuning import tuning

_REFUSED = 0.05
"""A negation that refuses a smaller part of the instances is no longer tested early."""


def is_tested_early(alternative: Alternative, negated: NegatedComponent, method: str) -> bool:
    """Whether a negation is tested as soon as the components that it needs are bound.

    If it needs all components, an early test could save nothing. If it extends to the end of the
    window, it can only be tested then. ``method`` is the option ``negation``.
    """
    if not negated.after or not negated.before:
        return False
    if method in TESTS_EARLY:
        return TESTS_EARLY[method]
    return len(needed_by(alternative, negated)) < len(alternative.components)


def needed_by(alternative: Alternative, negated: NegatedComponent) -> frozenset[int]:
    """The components around a negated one and those that its conditions name."""
    named = {name for clause in negated.clauses for name in clause.variables}
    parts = enumerate(alternative.components)
    return negated.after | negated.before | {ix for ix, part in parts if part.variable in named}


def leave_rare_to_filter(negations: Rows) -> None:
    """Leave negations that refuse hardly any instance to the filter of complete matches."""
    rarely = negations["refused"] < _REFUSED * negations["tested"]
    negations["is_late"] |= (negations["tested"] > tuning().negation_tests) & rarely
