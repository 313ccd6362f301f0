"""Tests of rules: a file beside a rule has events, and the matches that the rule must find.

``theft.test.toml`` tests the rule in ``theft.sase`` or ``theft.sql``::

    [[case]]
    name = "an item that is not paid for"
    events = '''
    ts,type,tag_id
    1,Shelf,7
    5,Exit,7
    '''
    expect = [{ start = 1, end = 5, values = { item = 7 } }]

``events`` is CSV or JSON Lines, or the path of a file. A match has what ``expect`` says about it:
``start``, ``end``, ``key`` and ``values``, each of them complete if it is given. TOML has no null:
a value that is left out is null. ``options`` are keywords of ``match``, for one case or, at the
top, for all.
"""

from __future__ import annotations
