"""What the variants keep beside the pool and the stacks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.engines.stacks.layout import Rows
from cepheid.events.arrays import no_rows


class VariantState(NamedTuple):
    """The arrays of the variants; all are empty on the default path."""

    others: Rows = no_rows(np.int64, 2)  # Multi-PAIS, by instance: the one below it for each key
    other_stacks: Rows = no_rows(np.int64, 2)  # Multi-PAIS, by key and stack: the top instance
    cells: Rows = no_rows(np.int64)  # basic, by instance: the cell below it in the runtime stack
    links: Rows = no_rows(np.int64, 2)  # basic: work space for linking the stacks
