"""Which components an event can belong to, as bits: what its type alone allows."""

from __future__ import annotations

from cepheid.jit.decorators import I64, I64S, array_of, kernel

I32S = array_of("i4")


@kernel(I64(I32S, I64S, I64S))
def mark_types(type_codes, bits_of_type, mask):
    """Set ``mask[i]`` to the bits of the type of event i."""
    for i in range(len(type_codes)):
        mask[i] = bits_of_type[type_codes[i]]
    return 0


@kernel(I64(I32S, I64S, I64S, I64S))
def mark_types_at(type_codes, bits_of_type, places, bits):
    """Set ``bits[p]`` to the bits of the type of the event at place p."""
    for place in range(len(places)):
        bits[place] = bits_of_type[type_codes[places[place]]]
    return 0


@kernel(I64(I32S, I64S, I64S))
def places_of_types(type_codes, is_wanted, places):
    """Where the events of wanted types are, of whose types ``is_wanted`` is 1; how many there are.

    In most streams they are few, and whether the next event is one cannot be predicted: there is no
    branch.
    """
    count = 0
    for i in range(len(type_codes)):
        places[count] = i
        count += is_wanted[type_codes[i]]
    return count


@kernel(I64(I64S, I64S, I64S))
def marked_places(mask, places, bits):
    """Where the events with any bit are, and their bits; how many there are."""
    count = 0
    for i in range(len(mask)):
        places[count] = i
        bits[count] = mask[i]
        count += mask[i] != 0
    return count
