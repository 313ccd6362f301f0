"""Which components an event can belong to, as bits: what its type alone allows."""

from __future__ import annotations

from cepheid.kernels.jit import I64, I64S, array_of, kernel


@kernel(I64(array_of("i4"), I64S, I64S))
def mark_types(type_codes, bits_of_type, mask):
    """Set ``mask[i]`` to the bits of the type of event i."""
    for i in range(len(type_codes)):
        mask[i] = bits_of_type[type_codes[i]]
    return 0
