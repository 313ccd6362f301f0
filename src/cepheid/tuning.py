"""Sizes and thresholds that change how fast a query runs, and never what it answers.

They are the fields of one frozen object. `tuning()` is the object in force; `tuned()` replaces
fields of it for a while. Tests use small sizes, so that everything that can be full is full soon.

    >>> from cepheid.tuning import tuned, tuning
    >>> with tuned(chunk_events=3):
    ...     tuning().chunk_events
    3
    >>> tuning().chunk_events
    131072
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tuning:
    """The sizes in force. A first size is that of an array that grows when it is full."""

    # Sessions
    chunk_events: int = 131_072  # read per chunk: its temporary arrays stay in cache
    slice_overlap: float = 0.25  # threads read slices of time if this share or less is read twice
    few_events: int = 1_024  # with at most this many retained events, no gaps are made
    few_strings: int = 256  # up to this many strings are never evicted
    few_partitions: int = 16_384  # up to this many partition numbers are kept between batches
    few_stored_partitions: int = 256  # and up to this many in a snapshot
    string_slots: int = 64  # first size of the hash table of strings
    string_bytes: int = 1_024  # first size of the bytes of strings

    # The first runs, before anything is compiled: what the definition may answer
    first_run_events: int = 2_000  # in a run
    first_run_steps: int = 1_200_000  # looks at an event in a process: about a second
    loading_steps: int = 0  # the same where code is compiled, and would only have to be loaded

    # Generated predicates, in characters
    predicate_part: int = 4_000  # a longer function takes longer to compile than its parts do
    predicates_on_event: int = 8_000  # vectorised code tests the other conditions as fast

    # Kernels
    pause_work: int = 1 << 20  # runs or instances looked at before a kernel lets signals in

    # Blocks of matches
    block_matches: int = 1 << 16  # matches with lists in a block
    block_events: int = 1 << 19  # events of a component in a block
    sequence_block_matches: int = 1 << 18  # matches of instance stacks, which have no lists
    narrow_positions: int = 2**31 - 1  # the greatest position that takes four bytes
    batch_matches: int = 65_536  # matches in an Arrow batch of results

    # NFA^b, and its versioned buffer
    first_runs: int = 1_024
    first_nodes: int = 16_384
    final_nodes: int = 1 << 16
    versioned_rows: int = 4_096
    versioned_complete: int = 1 << 14
    output_ids: int = 1 << 20  # positions in a block of the versioned buffer and lazy automata
    output_matches: int = 1 << 17

    # Instance stacks
    first_instances: int = 4_096
    shared_rows: int = 2_048  # rows of the shared construction for each component

    # Lazy automata
    lazy_instances: int = 256
    lazy_nodes: int = 1_024
    lazy_pool: int = 4_096
    lazy_store: int = 1_024
    lazy_few_events: int = 4_096  # up to this many events are kept after they left the window
    plan_events: int = 2_048  # the plan is reconsidered after this many events of a component
    plan_gain: float = 1.5  # a plan is replaced when another is better by this factor
    negation_tests: int = 1_024  # instances tested before an early test may be given up

    # Imprecise times
    signature_ids: int = 1 << 18
    signature_matches: int = 1 << 16
    signature_depth: int = 64
    any_state_runs: int = 1_024
    point_entries: int = 1_024
    rivals: int = 1 << 16
    scored_matches: int = 256  # matches that a kernel without a pause scores in a call
    confidence_rows: int = 256
    confidence_grid: int = 1 << 14
    next_listed: int = 64
    next_times: int = 256
    next_grid: int = 1 << 16

    # Row patterns
    mask_rows: int = 1 << 16  # rows whose conditions are computed together, in the cache
    first_frames: int = 1_024  # of the stack of a search, and of what it writes
    alike_rows: int = 1_000  # which rows are alike is found out for tables of so many
    first_memo_rows: int = 1_024  # rows in the memo of failures; a power of two
    memo_words: int = 1 << 24  # the most words of the memo by rows: 64 states in a word
    memo_entries: int = 1 << 20  # the most entries of the memo by keys; a power of two
    waiting_rows: int = 1_000  # retained rows of a stream from which on rows can be put aside
    few_row_partitions: int = 1_000  # up to this many are kept without asking which are needed
    matched_rows: int = 65_536  # rows of whole partitions that are matched in one call

    # Diagnosis: where it stops counting
    diagnosis_sample: int = 10_000  # partial matches of a stage in a sample
    diagnosis_count: int = 1_000_000  # partial matches
    diagnosis_runs: int = 1 << 18  # runs alive at a time
    diagnosis_batch: int = 4_096  # events before the limits are first checked; then twice as many
    diagnosis_interpreted: int = 20_000  # events that the reference evaluation reads
    diagnosis_rows: int = 5_000  # rows of a clause from which a search begins
    diagnosis_steps: int = 10_000  # steps of such a search

    # Editors
    editor_sample_bytes: int = 16 << 20  # read of a large file to find its columns and types

    # Spark
    slice_events: int = 250_000  # events in a time slice of a heavy key
    file_rows_least: int = 1_000_000  # rows per slice of files: a task takes 0.1 s to start
    file_rows_most: int = 32_000_000  # so that slow and fast tasks balance out
    file_rows_together: int = 8_000_000  # rows of overlapping row groups that are sorted together
    file_rows_untimed: int = 200_000_000  # rows whose times are read if statistics lack them
    files_most: int = 1_000  # footers that are read automatically, at a millisecond each
    reduce_bytes: int = 64 << 20  # a smaller input is not sampled for rare components
    reduce_sample: int = 50_000  # rows of the sample
    reduce_sample_least: int = 1_000  # relevant rows that a sample must have
    reduce_rare: float = 0.03  # the greatest share of relevant rows that is rare
    reduce_kept: float = 0.5  # the greatest share of relevant rows that may remain
    reduce_broadcast: int = 4_000_000  # keys or buckets of rare events that every worker gets
    blob_bytes: int = 1 << 19  # packed rows of a stream
    logged_bucket_bytes: int = 4 << 20  # from here on a bucket's state is logged step by step


_in_force = Tuning()


def tuning() -> Tuning:
    """The sizes in force."""
    return _in_force


@contextmanager
def tuned(**changes: float) -> Iterator[None]:
    """Put other sizes in force, in this process, until the block ends."""
    global _in_force
    before = _in_force
    _in_force = replace(before, **changes)  # type: ignore[arg-type]
    try:
        yield
    finally:
        _in_force = before
