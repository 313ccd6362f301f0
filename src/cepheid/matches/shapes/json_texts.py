"""Columns as JSON, computed for all rows together."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.events.columns.arrow_arrays import one_array

_TO_ESCAPE = r'["\\\x00-\x1f]'


def json_objects(columns: Mapping[str, pa.Array], count: int) -> pa.Array:
    """A JSON object for each row of columns of this length.

    >>> json_objects({"x": pa.array([1, None]), "s": pa.array(['a "b"', "c"])}, 2).to_pylist()
    ['{"x":1,"s":"a \\\\"b\\\\""}', '{"x":null,"s":"c"}']
    """
    parts: list[pa.Array | pa.Scalar] = []
    for number, (name, array) in enumerate(columns.items()):
        before = "," if number else "{"
        parts += [pa.scalar(f"{before}{json.dumps(name, ensure_ascii=False)}:"), json_texts(array)]
    if not parts:
        return pa.repeat("{}", count)
    return pc.binary_join_element_wise(*parts, pa.scalar("}"), "")


def json_texts(array: pa.Array) -> pa.Array:
    """Each value in JSON, as :func:`~cepheid.matches.shapes.flat.plain` has it; null is ``null``.

    But nothing is lost: decimals keep their digits, infinity is the string ``Infinity``, and bytes
    are in Base64, as Spark reads them.

    >>> json_texts(pa.array([[1.5, None], None, []])).to_pylist()
    ['[1.5,null]', 'null', '[]']
    >>> import datetime
    >>> json_texts(pa.array([datetime.datetime(2024, 5, 1, 9, 30)])).to_pylist()
    ['"2024-05-01T09:30:00"']
    """
    array = one_array(array)
    return _texts(array).cast(pa.string()).fill_null("null")


def _texts(array: pa.Array) -> pa.Array:
    """The values in JSON; what is null may be null."""
    kind = array.type
    if arrow.is_dictionary(kind):
        return _texts(array.dictionary_decode())
    if arrow.is_floating(kind):
        array = array.cast(pa.float64())
        texts = pc.if_else(pc.is_nan(array), None, array.cast(pa.string()))
        return pc.replace_substring_regex(texts, r"^(-?)inf$", r'"\1Infinity"')
    if arrow.is_timestamp(kind):
        return _quoted(_moments(array))
    if arrow.is_duration(kind):
        whole = array.cast(pa.duration("us"), safe=False).cast(pa.int64())
        return _texts(pc.divide(whole.cast(pa.float64()), 1e6))
    if arrow.is_date(kind) or arrow.is_time(kind):
        return _quoted(_without_zeros(array.cast(pa.string())))
    if arrow.is_binary(kind) or arrow.is_large_binary(kind):
        coded = [each and base64.b64encode(each).decode() for each in array.to_pylist()]
        return _quoted(pa.array(coded, pa.string()))
    if arrow.is_string(kind) or arrow.is_large_string(kind) or arrow.is_string_view(kind):
        return _quoted(_escaped(array.cast(pa.string())))
    if arrow.is_struct(kind):
        names = [field.name for field in kind]
        objects = json_objects(dict(zip(names, array.flatten(), strict=True)), len(array))
        return pc.if_else(array.is_valid(), objects, None)
    if arrow.is_map(kind):
        entries = array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
        keys, items = entries.flatten().flatten()
        keys = _quoted(_escaped(keys.cast(pa.string())))
        pairs = pc.binary_join_element_wise(keys, json_texts(items), ":")
        return _bracketed("{", _joined(entries, pairs), "}")
    if arrow.is_list(kind) or arrow.is_large_list(kind):
        return _bracketed("[", _joined(array, json_texts(array.flatten())), "]")
    return array.cast(pa.string())


def _joined(lists: pa.Array, texts: pa.Array) -> pa.Array:
    """The texts of the items of each list, with commas between them."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]).astype(np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), texts), ",")
    return pc.if_else(lists.is_valid(), joined, None)


def _moments(array: pa.Array) -> pa.Array:
    zone = array.type.tz
    times = array.cast(pa.timestamp("us", "UTC" if zone else None), safe=False)
    texts = pc.strftime(times.cast(pa.timestamp("us")), format="%Y-%m-%dT%H:%M:%S")
    texts = _without_zeros(texts)
    return _bracketed("", texts, "+00:00") if zone else texts


def _without_zeros(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(texts, r"\.0+$", "")


def _escaped(texts: pa.Array) -> pa.Array:
    found = pc.match_substring_regex(texts, _TO_ESCAPE)
    if not pc.any(found, min_count=0).as_py():
        return texts
    some = texts.filter(found).to_pylist()
    escaped = [json.dumps(each, ensure_ascii=False)[1:-1] for each in some]
    return pc.replace_with_mask(texts, found.fill_null(False), pa.array(escaped, pa.string()))


def _quoted(texts: pa.Array) -> pa.Array:
    return _bracketed('"', texts, '"')


def _bracketed(before: str, texts: pa.Array, after: str) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(before), texts, pa.scalar(after), "")
