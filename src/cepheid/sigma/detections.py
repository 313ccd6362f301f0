"""Detections of Sigma as conditions on one event."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.rule import SigmaDetection, SigmaDetections, SigmaRule
from sigma.types import (
    CompareOperators,
    Placeholder,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaString,
    SigmaTimestampPart,
    SigmaType,
    SpecialChars,
)

from cepheid.errors import Refused
from cepheid.functions import find_function
from cepheid.schema import Kind
from cepheid.sigma.logic import Condition, Equality, Joined, Negation, Test, any_of
from cepheid.sigma.mapping import Column, LogMapping

_COMPARED = {
    CompareOperators.LT: "<",
    CompareOperators.LTE: "<=",
    CompareOperators.GT: ">",
    CompareOperators.GTE: ">=",
    CompareOperators.NEQ: "!=",
}
_SPECIAL = re.compile(r"[.*+?^$\[\](){}\\|]")  # re.escape also escapes spaces and dashes
_ANY = SpecialChars.WILDCARD_MULTI
_ONE = SpecialChars.WILDCARD_SINGLE


@dataclass(frozen=True, slots=True)
class Detections:
    """The detections of rules as conditions on an event, which a query calls ``event``."""

    mapping: LogMapping
    event: str = "e"

    def condition(self, rule: SigmaRule) -> Condition:
        """What is true of an event that the rule finds, apart from its type.

        Raises:
            Refused: a part of the rule has no condition.
            SigmaError: the condition of the rule is wrong.
        """
        found = any_of(self._tree(each.parsed) for each in rule.detection.parsed_condition)
        where = self.mapping.source(rule.logsource).where
        return found if where is None else Joined("AND", (self._of_source(where), found))

    def attribute(self, column: Column) -> str:
        """A column of the event."""
        return f"{self.event}.{column.name}"

    def _of_source(self, where: SigmaDetection) -> Condition:
        detections = SigmaDetections({"where": where}, ["where"])
        return self._tree(detections.parsed_condition[0].parsed)

    def _tree(self, node: object) -> Condition:
        match node:
            case ConditionAND():
                return Joined("AND", tuple(map(self._tree, node.args)))
            case ConditionOR():
                return any_of(map(self._tree, node.args))
            case ConditionNOT():
                return Negation(self._tree(node.args[0]))
            case ConditionFieldEqualsValueExpression():
                column = self.mapping.column(node.field)
                return self._field(node.field, column, node.value)
            case ConditionValueExpression():
                return self._keyword(node.value)
            case _:
                raise Refused("it has no condition")

    def _field(self, name: str, column: Column | None, value: SigmaType) -> Condition:
        """The test of a field; no event has the field if there is no column."""
        if isinstance(value, SigmaExpansion):
            return any_of(self._field(name, column, each) for each in value.values)
        if isinstance(value, SigmaNull | SigmaExists):
            is_null = isinstance(value, SigmaNull) or not value.exists
            if column is None:
                return is_null
            return Test(f"{self.attribute(column)} IS {'' if is_null else 'NOT '}NULL")
        if column is None:
            return False
        return self._value(name, column, value)

    def _value(self, name: str, column: Column, value: SigmaType) -> Condition:
        attribute, kind = self.attribute(column), column.kind
        match value:
            case SigmaString():
                if kind in (None, Kind.STRING):
                    return _string_test(attribute, value)
                if _parts(value) == [_ANY]:
                    return Test(f"{attribute} IS NOT NULL")
                return Equality(attribute, (_converted(name, kind, value),), attribute)
            case SigmaBool():
                if kind in (None, Kind.BOOLEAN):
                    return Equality(attribute, (str(value.boolean).upper(),), attribute)
                if kind is Kind.STRING:
                    return _string_test(attribute, SigmaString(str(value.boolean)))
            case SigmaTimestampPart():
                return Test(f"{_part_of_time(value, attribute)} = {value.number}", (attribute,))
            case SigmaNumber():
                if kind is Kind.STRING:
                    return _string_test(attribute, SigmaString(str(value.number)))
                if kind is not Kind.BOOLEAN:
                    return Equality(attribute, (repr(value.number),), attribute)
            case SigmaCompareExpression():
                left = attribute
                if isinstance(value.number, SigmaTimestampPart):
                    left = _part_of_time(value.number, attribute)
                elif kind in (Kind.STRING, Kind.BOOLEAN):
                    raise Refused(f"the field {name!r} is no number, and is compared with one")
                text = f"{left} {_COMPARED[value.op]} {value.number.number!r}"
                return Test(text, (attribute,))
            case SigmaRegularExpression():
                flags = "".join(sorted(value.sigma_to_re_flag[each] for each in value.flags))
                pattern = (f"(?{flags})" if flags else "") + str(value.regexp)
                return Test(f"regexp_like({attribute}, {literal(pattern)})", (attribute,))
            case SigmaCIDRExpression():
                return Test(f"in_network({attribute}, {literal(value.cidr)})", (attribute,))
            case SigmaFieldReference():
                return self._reference(column, value)
        raise Refused(
            f"the field {name!r} is compared with {_shown(value)}"
            + (f", and is declared as {kind.value}" if kind else "")
        )

    def _reference(self, column: Column, value: SigmaFieldReference) -> Condition:
        """The field is equal to another field, or begins, ends with or contains it."""
        other = self.mapping.column(value.field)
        if other is None:
            return False
        nullable = self.attribute(column), self.attribute(other)
        left, right = nullable
        if column.kind in (None, Kind.STRING):
            left, right = f"lower({left})", f"lower({right})"
        match value.starts_with, value.ends_with:
            case True, True:
                return Test(f"contains({left}, {right})", nullable)
            case True, False:
                return Test(f"starts_with({left}, {right})", nullable)
            case False, True:
                return Test(f"ends_with({left}, {right})", nullable)
        return Test(f"{left} = {right}", nullable)

    def _keyword(self, value: SigmaType) -> Condition:
        """A value without a field: it is a part of at least one of the columns for keywords."""
        columns = self.mapping.keywords
        if not columns:
            raise Refused(
                f"the keyword {_shown(value)} has no field: name the columns in which keywords are "
                "looked for (keywords in the mapping)"
            )
        if isinstance(value, SigmaExpansion):
            return any_of(map(self._keyword, value.values))
        if isinstance(value, SigmaNumber):
            value = SigmaString(str(value.number))
        if isinstance(value, SigmaString):
            value = _ANY + value + _ANY
        elif not isinstance(value, SigmaRegularExpression):
            raise Refused(f"{_shown(value)} has no field")
        return any_of(self._value("keywords", each, value) for each in columns)


def literal(string: str) -> str:
    """A string in a query.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + string.replace("'", "''") + "'"


def _parts(value: SigmaString) -> list[str | SpecialChars]:
    """The string between its wildcards, which are not repeated."""
    parts: list[str | SpecialChars] = []
    for each in value.s:
        if isinstance(each, Placeholder):
            raise Refused(
                f"the placeholder %{each.name}% has no value: apply a pipeline of pySigma first"
            )
        if isinstance(each, str) and parts and isinstance(parts[-1], str):
            parts[-1] += each
        elif not (each is _ANY and parts and parts[-1] is _ANY):
            parts.append(each)
    return parts


def _string_test(attribute: str, value: SigmaString) -> Condition:
    """The attribute is the string, in which wildcards may be; case counts only if it is cased."""
    is_cased = isinstance(value, SigmaCasedString)
    subject = attribute if is_cased else f"lower({attribute})"
    parts = [
        each if is_cased or isinstance(each, SpecialChars) else each.lower()
        for each in _parts(value)
    ]
    match parts:
        case []:
            return Equality(subject, ("''",), attribute)
        case [str(text)]:
            return Equality(subject, (literal(text),), attribute)
        case [SpecialChars.WILDCARD_MULTI]:
            return Test(f"{attribute} IS NOT NULL")
        case [str(text), SpecialChars.WILDCARD_MULTI]:
            call = f"starts_with({subject}, {literal(text)})"
        case [SpecialChars.WILDCARD_MULTI, str(text)]:
            call = f"ends_with({subject}, {literal(text)})"
        case [SpecialChars.WILDCARD_MULTI, str(text), SpecialChars.WILDCARD_MULTI]:
            call = f"contains({subject}, {literal(text)})"
        case _:
            call = f"regexp_like({subject}, {literal(_expression(parts))})"
    return Test(call, (attribute,))


def _expression(parts: list[str | SpecialChars]) -> str:
    """A regular expression for a string with wildcards.

    >>> _expression(["a.", SpecialChars.WILDCARD_SINGLE, SpecialChars.WILDCARD_MULTI])
    '(?s)\\\\Aa\\\\..'
    """
    begin = "" if parts[0] is _ANY else r"\A"
    end = "" if parts[-1] is _ANY else r"\z"
    wildcards = {_ANY: ".*", _ONE: "."}
    inside = parts[begin == "" : len(parts) - (end == "")]
    return (
        "(?s)"
        + begin
        + "".join(
            _SPECIAL.sub(r"\\\g<0>", each) if isinstance(each, str) else wildcards[each]
            for each in inside
        )
        + end
    )


def _converted(name: str, kind: Kind | None, value: SigmaString) -> str:
    """A string as a literal of the kind that its field is declared with."""
    text = str(value)
    if kind is Kind.BOOLEAN and text.lower() in ("true", "false"):
        return text.upper()
    if kind in (Kind.INTEGER, Kind.FLOAT) and re.fullmatch(r"-?\d+(\.\d+)?", text):
        return text
    assert kind is not None
    raise Refused(f"the field {name!r} is declared as {kind.value}, and is compared with {text!r}")


def _part_of_time(value: SigmaTimestampPart, attribute: str) -> str:
    function = value.timestamp_part.name.lower()
    if find_function(function) is None:
        raise Refused(f"there is no function for the {function} of a time")
    return f"{function}({attribute})"


def _shown(value: SigmaType) -> str:
    return repr(str(value)) if isinstance(value, SigmaString) else type(value).__name__
