"""The two negation methods of [Kolchinsky17 §4.4], which test all negations at the same stage.

The main path chooses for each negation instead (``engines/lazy/negation.py``).
"""

from __future__ import annotations

from cepheid.engines.base.options import FIRST_CHANCE, POST_PROCESSING

TESTS_EARLY = {FIRST_CHANCE: True, POST_PROCESSING: False}
"""Whether a method tests a negation as soon as the components around it are bound."""
