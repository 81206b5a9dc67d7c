"""Arrays that arrive at odd addresses."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._workers import aligned, on_arrival


def odd(values: Any) -> NDArray[np.float64]:
    """Return an array one byte off any multiple of eight."""
    flat = np.asarray(values, dtype=np.float64)
    room = np.empty(flat.nbytes + 16, dtype=np.uint8)
    start = 8 - room.ctypes.data % 8 + 1
    out = np.frombuffer(room.data, dtype=np.float64, count=flat.size, offset=start)
    out = out.reshape(flat.shape)
    out[...] = flat
    assert not out.flags.aligned
    return out


@dataclass(frozen=True, eq=False)
class Parcel:
    x: NDArray[np.float64]
    name: str = "parcel"
    more: dict[str, Any] = field(default_factory=dict)


def total(x: NDArray[np.float64], parcel: Parcel, *, scale: NDArray[np.float64]) -> float:
    assert x.flags.aligned
    assert parcel.x.flags.aligned
    assert parcel.more["rows"][0].flags.aligned
    assert scale.flags.aligned
    return float(x.sum() + parcel.x.sum() + parcel.more["rows"][0].sum() + scale.sum())


def test_everything_in_a_parcel_is_aligned() -> None:
    parcel = Parcel(odd([1.0, 2]), more={"rows": (odd([[3.0]]), "text")})
    call = pickle.loads(pickle.dumps(on_arrival(total)))
    assert call(odd([4.0, 5]), parcel, scale=odd([6.0])) == 21.0
    # what was sent stays as it was
    assert not parcel.x.flags.aligned


def test_what_is_aligned_stays_the_same_object() -> None:
    parcel = Parcel(np.ones(2), more={"rows": [np.ones(1), 1]})
    for value in (parcel, parcel.x, parcel.more, (np.ones(1), "a"), None, "text", 3, Parcel):
        assert aligned(value) is value


def test_keys_and_kinds_are_kept() -> None:
    value = {"b": [odd([1.0])], "a": (odd([2.0]), 3)}
    out = aligned(value)
    assert list(out) == ["b", "a"]
    assert type(out["a"]) is tuple
    assert type(out["b"]) is list
    np.testing.assert_array_equal(out["a"][0], [2.0])
