"""BLAS held at one thread: the bits of a product depend on how many threads share it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@functools.cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  its own BLAS has to be loaded before libraries are listed
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Held:
    """How many callers of this process are inside, and the limit that they share."""

    lock = threading.Lock()
    inside = 0
    limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS and LAPACK to one thread until the last caller of the process has left.

    The limit belongs to the process. Counting the callers keeps a thread that ends early from
    giving the threads back while another one is still computing.
    """
    with _Held.lock:
        if _Held.inside == 0:
            _Held.limit = _libraries().limit(limits=1, user_api="blas")
            _Held.limit.__enter__()
        _Held.inside += 1
    try:
        yield
    finally:
        with _Held.lock:
            _Held.inside -= 1
            if _Held.inside == 0:
                _Held.limit.__exit__(None, None, None)
