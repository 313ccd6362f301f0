"""Functions of strings over columns, where Arrow computes what Python does."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

_OF_ASCII = {"lower": pc.ascii_lower, "upper": pc.ascii_upper}
TESTS: dict[str, Callable[[pa.Array, str], pa.Array]] = {
    "contains": pc.match_substring,
    "starts_with": pc.starts_with,
    "ends_with": pc.ends_with,
}
"""Tests whether a part of each string is another string."""


def in_case(function: str, strings: pa.Array) -> pa.Array:
    """Each string in lower or upper case.

    Arrow's functions map one letter to one letter, but the capital of ß has two. So Python maps the
    strings that have other letters than those of ASCII.

    >>> in_case("upper", pa.array(["ab", None, "ß"])).to_pylist()
    ['AB', None, 'SS']
    """
    results = _OF_ASCII[function](strings)
    other = pc.invert(pc.string_is_ascii(strings)).fill_null(False)
    if not pc.any(other).as_py():
        return results
    encoded = strings.filter(other).dictionary_encode()
    change = getattr(str, function)
    changed = pa.array([change(each) for each in encoded.dictionary.to_pylist()], strings.type)
    return pc.replace_with_mask(results, other, changed.take(encoded.indices))
