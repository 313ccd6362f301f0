"""What a warm Python worker leaves out of garbage collection.

Spark's worker daemon collects all garbage after every task. With cepheid's modules loaded this
takes longer than a small task. What is loaded stays, so it need not be looked at.
"""

from __future__ import annotations

import gc
import sys

_loaded = 0


def freeze_loaded() -> None:
    """Leave everything that is loaded out of later garbage collections; call it after a task.

    It does so again only if modules were loaded since, so that a worker does it a few times in its
    life, however many tasks it runs. Garbage is collected before: what is frozen is never garbage.

    >>> freeze_loaded(); frozen = gc.get_freeze_count()
    >>> freeze_loaded(); gc.get_freeze_count() <= frozen
    True
    >>> gc.unfreeze()
    """
    global _loaded
    loaded = len(sys.modules)
    if loaded > _loaded:
        _loaded = loaded
        gc.collect()
        gc.freeze()
