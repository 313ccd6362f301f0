"""Which components an event can belong to, as bits: its type, and conditions on it alone."""

from __future__ import annotations

from cepheid.kernels.jit import I64, I64S, array_of, kernel
from cepheid.kernels.pointers import call_predicate


@kernel(I64(array_of("i4"), I64S, I64S, I64S, I64, I64, I64S))
def mark_events(type_codes, bits_of_type, bits, predicates, predicate, context, mask):
    """Set ``mask[i]`` to the bits whose type and predicate the event i satisfies.

    ``bits_of_type`` are the bits that the type alone allows; ``predicates[t]`` is tested for
    ``bits[t]``.
    """
    for i in range(len(type_codes)):
        marked = bits_of_type[type_codes[i]]
        if marked != 0:
            for t in range(len(bits)):
                if (
                    marked & bits[t] != 0
                    and call_predicate(predicate, predicates[t], context, i, 0) == 0
                ):
                    marked &= ~bits[t]
        mask[i] = marked
    return 0
