"""Changes of a set of rules: the set after them, and the changes that cannot be made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepheid.errors import CepheidError, OptionError, RuleFault, did_you_mean
from cepheid.rule_sets.reading import rule_of
from cepheid.rule_sets.rule_set import CompiledRule, RuleSet

Changes = RuleSet | Mapping[str, Any]


def changed_rules(
    current: RuleSet, changes: Changes
) -> tuple[dict[str, CompiledRule], list[RuleFault]]:
    """The rules after changes, and the faults of changes; a rule with a fault stays as it is.

    >>> import cepheid as cep
    >>> now = cep.rules({"p": "PATTERN A a", "q": "PATTERN B b"})
    >>> after, faults = changed_rules(now, {"p": None, "q": {"severity": "low"}, "r": {"tags": []}})
    >>> list(after), after["q"].rule.severity
    (['q'], 'low')
    >>> print(faults[0])
    rule r:
      there is no rule of this name to change; a new rule needs a query
    """
    if isinstance(changes, RuleSet):
        kept = {fault.rule for fault in changes.faults} - {*changes}
        after = {name: each for name, each in current.compiled.items() if name in kept}
        return {**after, **changes.compiled}, list(changes.faults)
    if not isinstance(changes, Mapping):
        raise OptionError(
            "changes are a set of rules, or a mapping of names to rules, to fields of rules that "
            f"change, or to None, not {type(changes).__name__}"
        )
    after, faults = dict(current.compiled), []
    for name, change in changes.items():
        try:
            if change is None:
                _known(name, current)
                del after[name]
            else:
                after[name] = _changed(name, change, current)
        except CepheidError as error:
            faults.append(RuleFault.of(str(name), error))
    return after, faults


def _known(name: object, current: RuleSet) -> None:
    if name not in current:
        raise OptionError(
            "there is no rule of this name to change; a new rule needs a query"
            + did_you_mean(str(name), current)
        )


def _changed(name: Any, change: Any, current: RuleSet) -> CompiledRule:
    """A rule after a change of its fields, or a new rule."""
    if isinstance(change, Mapping) and "query" not in change:
        _known(name, current)
        given: Mapping[str, Any] = change
    else:
        made = rule_of(name, change)
        if isinstance(made, RuleFault):
            raise made.error or OptionError(made.message)
        if name not in current or not isinstance(change, str):
            return CompiledRule.of(made, current.limits)
        given = {"query": made.query}
    return CompiledRule.of(current[name].with_fields(given), current.limits)
