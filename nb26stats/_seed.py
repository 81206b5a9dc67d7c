"""``random_state`` to the 64-bit key that the counter-based generator takes."""

from __future__ import annotations

import numbers

from ._check import as_int


def as_seed(random_state: object) -> int:
    """Return an unsigned 64-bit key.

    Parameters
    ----------
    random_state : int, integral float, numpy Generator or RandomState, or None
        A whole number is the key itself, modulo 2**64 (floats, as R sends, count when integral);
        a generator gives one 64-bit draw; None takes fresh bits from the system.

    Returns
    -------
    int
        Key in ``[0, 2**64)``.
    """
    import numpy as np

    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int.from_bytes(random_state.bytes(8), "little")
    if isinstance(random_state, numbers.Real):
        return as_int(random_state, "random_state") % 2**64
    raise TypeError(
        "random_state must be a whole number, a numpy Generator or RandomState, or None, "
        f"got {type(random_state).__name__}"
    )
