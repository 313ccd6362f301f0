"""Aggregates over all matches of a buffer, computed without building a match.

They are exact, however many matches there are: integers that do not fit into 64 bits are computed
modulo several primes, and put together by the Chinese remainder theorem. A float is an integer
times a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import OptionError
from cepheid.events.arrays import Int64s, int64s, zeros
from cepheid.jit.drive import Drive
from cepheid.matches.kernels.chain_totals import AT_FIELDS, Totalling, Values, total_finals
from cepheid.matches.layout import NEVER, NO_LEAST, TOTAL, Chains

AGGREGATIONS = ("sum", "min", "max", "avg", "count")

_FIELDS = ["chains", "values", "sum", "least", "most"]
_WORD = 62.0
"""Numbers of fewer bits are computed as they are."""
_PRIME_BITS = 30.9
"""Primes are just below 2 ** 31: the product of two remainders fits into 64 bits."""


class AttributeValues:
    """The values of an attribute as kernels read them.

    A number is a mantissa times 2 ** (shift + scale).
    """

    def __init__(self, column: pa.ChunkedArray | None, function: str, shown: str) -> None:
        self._sorted: pa.Array | None = None
        self._mantissas: npt.NDArray[Any] = int64s(0)
        self._shifts = int64s(0)
        self._scale = 0
        self._are_floats = False
        self._counts_matches = column is None
        self.ranks = int64s(0)
        if column is None:
            return
        array = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
        if pa.types.is_floating(array.type):
            array = pc.if_else(pc.is_nan(array), None, array)
        self.ranks = np.where(array.is_valid().to_numpy(zero_copy_only=False), 0, -1)
        is_infinite = pa.types.is_floating(array.type) and pc.any(pc.is_inf(array)).as_py()
        if function in ("min", "max") or is_infinite:
            self._rank(array, f"{function}({shown}) needs values that have an order")
        if function in ("sum", "avg"):
            self._measure(array, f"{function}({shown}) needs numbers, and {shown!r} has others")

    def _rank(self, array: pa.Array, fault: str) -> None:
        """Number the distinct values in their order."""
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        values = encoded.dictionary
        sortable = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
        try:
            order = pc.array_sort_indices(sortable).to_numpy()
        except pa.ArrowNotImplementedError:
            raise OptionError(fault) from None
        ranks = int64s(len(values))
        ranks[order] = np.arange(len(values))
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        self.ranks = np.where(self.ranks < 0, -1, ranks[codes] if len(ranks) else -1)
        self._sorted = values.take(pa.array(order))

    def _measure(self, array: pa.Array, fault: str) -> None:
        """Take the values as mantissas and shifts."""
        kind = array.type
        if pa.types.is_floating(kind):
            values = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
            self._are_floats = True
            fractions, exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))
            mantissas = (fractions * 2.0**53).astype(np.int64)
            lowest = np.where(mantissas == 0, 1, mantissas & -mantissas)
            zeros_below = np.frexp(lowest.astype(np.float64))[1].astype(np.int64) - 1
            shifts = exponents.astype(np.int64) - 53 + zeros_below
            shifts = np.where(mantissas == 0, shifts.max(initial=0), shifts)
            self._scale = int(shifts.min(initial=0)) if len(shifts) else 0
            self._mantissas, self._shifts = mantissas >> zeros_below, shifts - self._scale
        elif pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
            integers = array if pa.types.is_uint64(kind) else array.cast(pa.int64())
            self._mantissas = integers.fill_null(0).to_numpy(zero_copy_only=False)
            self._shifts = int64s(len(array))
        else:
            raise OptionError(fault)

    @classmethod
    def none(cls) -> AttributeValues:
        """No values: only matches are counted."""
        return cls(None, "count", "*")

    @property
    def bits(self) -> float:
        """At least as many bits as any number has."""
        sizes = np.abs(self._mantissas.astype(np.float64))
        return float(np.max(np.log2(sizes + 1.0) + self._shifts, initial=0.0)) + 1.0

    def modulo(self, modulus: int) -> Values:
        """The numbers modulo a prime; as they are where it is 0."""
        if not len(self._mantissas):
            return Values(self.ranks, int64s(len(self.ranks)))
        if modulus == 0:
            return Values(self.ranks, self._mantissas.astype(np.int64) << self._shifts)
        powers = np.array(
            [pow(2, shift, modulus) for shift in range(int(self._shifts.max()) + 1)], np.int64
        )
        remainders = np.mod(self._mantissas, self._mantissas.dtype.type(modulus)).astype(np.int64)
        return Values(self.ranks, remainders * powers[self._shifts] % modulus)

    def result(self, function: str, totals: Totals) -> Any:
        """The value of an aggregate; None if there are no values."""
        if function == "count":
            return totals.matches if self._counts_matches else totals.values
        if not totals.values:
            return None
        if function in ("min", "max"):
            return self._value(totals.least if function == "min" else totals.most)
        ends = set() if self._sorted is None else {*map(self._value, (totals.least, totals.most))}
        infinite = [end for end in ends if math.isinf(end)]
        if infinite:
            return sum(infinite)
        total = totals.sum * Fraction(2) ** self._scale
        if function == "sum" and not self._are_floats:
            return totals.sum
        return _as_float(total if function == "sum" else total / totals.values)

    def _value(self, rank: int) -> Any:
        assert self._sorted is not None
        return self._sorted[rank].as_py()


@dataclass(frozen=True, slots=True)
class Totals:
    """What the events of a variable have in some matches.

    ``values`` is the number of values that are not null, each counted once for every match.
    ``least`` and ``most`` are ranks of values.
    """

    matches: int = 0
    values: int = 0
    sum: int = 0
    least: int = NO_LEAST
    most: int = -1

    def __add__(self, other: Totals) -> Totals:
        """The totals of these matches and of others."""
        return Totals(
            self.matches + other.matches,
            self.values + other.values,
            self.sum + other.sum,
            min(self.least, other.least),
            max(self.most, other.most),
        )


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What is aggregated: the values of a variable, over each group of finals.

    The nodes of the buffer are all there. Matches are counted for every variable, and for -1.
    """

    chains: Chains
    variable: int
    values: AttributeValues
    group_of: Int64s
    groups: int

    def totals(self, count: float) -> list[Totals]:
        """The totals of each group, given the number of all matches as a float."""
        chains, values = self.chains, self.values
        if math.isfinite(count):
            bits = math.log2(count + 1.0) + 1
        else:
            bits = self._modulo(1)["bits"].max(initial=0) + math.log2(len(chains.finals) + 1)
        bits += math.log2(chains.longest + 1) + values.bits
        if bits < _WORD:
            return [Totals(*row) for row in self._modulo(0)[_FIELDS].tolist()]
        primes = list(_primes(math.ceil((bits + 2) / _PRIME_BITS)))
        found = [self._modulo(each) for each in primes]
        combine = _Combining(primes)
        counts, sizes, sums = (
            np.column_stack([rows[name] for rows in found]).tolist() for name in _FIELDS[:3]
        )
        return [
            Totals(
                combine(counts[group]),
                combine(sizes[group]),
                combine(sums[group], signed=True),
                int(found[0]["least"][group]),
                int(found[0]["most"][group]),
            )
            for group in range(self.groups)
        ]

    def _modulo(self, modulus: int) -> npt.NDArray[np.void]:
        """The totals of each group modulo a number."""
        count, drive = len(self.chains.nodes), Drive()
        totals, groups = zeros(2 * count + 3, TOTAL), zeros(self.groups, TOTAL)
        for each in (totals, groups):
            each["after"], each["least"], each["most"] = NEVER, NO_LEAST, -1
        totals[2 * count]["chains"] = 1
        memory = Totalling(
            totals, groups, self.group_of, int64s(count + 1), int64s(AT_FIELDS), drive.pace
        )
        numbers = self.values.modulo(modulus)
        drive.run(lambda: total_finals(self.chains, numbers, memory, self.variable, modulus), {})
        return groups


def _primes(count: int) -> Iterator[int]:
    """The largest primes below 2 ** 31."""
    number = 1 << 31
    while count:
        number -= 1
        if number % 2 and _is_prime(number):
            count -= 1
            yield number


def _is_prime(number: int) -> bool:
    """Whether an odd number below 2 ** 31 is a prime, by Miller and Rabin's test."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        if not any((power := power * power % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True


class _Combining:
    """An integer from its remainders modulo some primes."""

    def __init__(self, primes: Sequence[int]) -> None:
        self._steps: list[tuple[int, int, int]] = []
        self._product = 1
        for prime in primes:
            self._steps.append((prime, self._product, pow(self._product, -1, prime)))
            self._product *= prime

    def __call__(self, remainders: Sequence[int], signed: bool = False) -> int:
        """The number that is smaller than half the product of the primes.

        >>> _Combining([5, 7])([3, 1]), _Combining([5, 7])([3, 5], signed=True)
        (8, -2)
        """
        number = 0
        for remainder, (prime, product, inverse) in zip(remainders, self._steps, strict=True):
            number += (remainder - number) * inverse % prime * product
        return number - self._product if signed and 2 * number > self._product else number


def _as_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
