"""Start of the estimate and of its replicates from the first rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from nb26stats._blas import one_blas_thread
from nb26stats._dispatch import core

from ._schedule import begin
from ._sparse import start
from ._sparse_pilot import CentredRows, centred_rows, leading_directions
from ._state import (
    EPOCH,
    EPOCH_SQUARES,
    State,
    check_variance,
    fill_spare,
    lanes_to_replicates,
    put_replicate,
)

F64 = NDArray[np.float64]
RANK_TOL = 1e-12
# rows of a pilot up to which native code, eight replicates at a time, beats LAPACK's one by one
MOST_SIDE_BY_SIDE = 400
PILOT_LANES = 8
# one native call: cubed rows, times groups of eight, and the memory of its coefficients, as a part
# of the replicates' own size or in bytes
PILOT_WORK = 4e8
PILOT_SHARE = 0.1
PILOT_BYTES = 2**18


def pilot_rows(state: State) -> NDArray[Any] | CentredRows:
    """Return the centred rows of a pilot that is being collected or has just been filled."""
    if state.sparse is not None:
        return centred_rows(state.sparse.rows, center=state.settings.center)
    assert state.pilot is not None
    return state.pilot[: state.n_seen]


def pilot_directions(
    rows: NDArray[Any] | CentredRows, n: int, room: NDArray[Any] | None = None
) -> tuple[NDArray[Any], F64]:
    """Return the leading right singular vectors of ``rows`` and the eigenvalues of their scatter.

    Parameters
    ----------
    rows : ndarray (t, d) or CentredRows
        Centred rows.
    n : int
        How many; at most min(t, d).
    room : ndarray or None
        Memory that may be overwritten, so that rows are not copied once more: ``rows`` itself when
        they are not needed any more.

    Returns
    -------
    tuple
        Directions (n, d) and eigenvalues (n,), divisor t.
    """
    with one_blas_thread():
        if isinstance(rows, CentredRows):
            directions, squares = leading_directions(rows, n)
            return directions, squares / len(rows)
        room = np.empty(0) if room is None else room.reshape(-1).view(np.float64)
        own, room = _part(room, rows.shape)
        if own.ctypes.data != rows.ctypes.data:
            own[...] = rows
        m = min(rows.shape)
        return _singular_rows(own, n, _part(room, (m, m))[0])


def _part(room: F64, shape: tuple[int, int]) -> tuple[F64, F64]:
    """Return an array at the start of ``room`` and the rest; a new array where it does not fit."""
    size = shape[0] * shape[1]
    if len(room) < size:
        return np.empty(shape), room
    return room[:size].reshape(shape), room[size:]


def _singular_rows(a: F64, n: int, small: F64) -> tuple[NDArray[Any], F64]:
    """Return what ``pilot_directions`` does; ``a`` (t, d) and ``small`` (m, m) are used up.

    A QR factorisation first, and the singular vectors of its small factor: LAPACK's own would hold
    several copies of the rows.
    """
    t, d = a.shape
    if t >= d:
        factors, _, _, info = lapack.dgeqrf(np.asfortranarray(a), overwrite_a=1)
        _check_lapack("dgeqrf", info)
        _, s, vt = np.linalg.svd(_upper(factors, small))
        return vt[:n].copy(), s[:n] ** 2 / t
    factors, tau, _, info = lapack.dgeqrf(a.T, overwrite_a=1)
    _check_lapack("dgeqrf", info)
    u, s, _ = np.linalg.svd(_upper(factors, small))
    directions = np.zeros((d, n), order="F")
    directions[:t] = u[:, :n]
    directions, _, info = lapack.dormqr(
        "L", "N", factors, tau, directions, lwork=64 * n, overwrite_c=1
    )
    _check_lapack("dormqr", info)
    return np.ascontiguousarray(directions.T), s[:n] ** 2 / t


def _upper(factors: F64, out: F64) -> F64:
    out[...] = factors[: len(out)]
    for i in range(1, len(out)):
        out[i, :i] = 0
    return out


def _check_lapack(name: str, info: int) -> None:
    if info != 0:
        raise np.linalg.LinAlgError(f"LAPACK's {name} failed with info={info}")


def _leading(matrix: F64, k: int) -> F64 | None:
    """Return the k leading eigenvectors as columns; None where the rank is below k."""
    n = len(matrix)
    if n < k:
        return None
    # scipy.linalg.eigh would spend more on its checks than on these small matrices
    values, vectors, _, _, info = lapack.dsyevr(matrix, range="I", il=n - k + 1, iu=n, lower=1)
    _check_lapack("dsyevr", info)
    if not values[0] > RANK_TOL * values[k - 1]:
        return None
    return np.asarray(vectors[:, k - 1 :: -1])


def weighted_directions(
    rows: F64 | CentredRows,
    gram: F64 | None,
    weights: F64,
    k: int,
) -> F64 | None:
    """Return k rows spanning the leading directions of diag(sqrt(weights)) rows, or None.

    ``gram`` is rows rows'; without it the work is done in the space of the columns.
    """
    if gram is None:
        assert not isinstance(rows, CentredRows)
        vectors = _leading((rows * weights[:, None]).T @ rows, k)
        return None if vectors is None else vectors.T
    used = np.flatnonzero(weights)
    root = np.sqrt(weights[used])
    vectors = _leading(gram[np.ix_(used, used)] * root[:, None] * root, k)
    return None if vectors is None else (vectors * root[:, None]).T @ rows[used]


def _start_one(state: State, b: int, rows: F64 | CentredRows, gram: F64 | None) -> None:
    """Start replicate ``b`` by LAPACK."""
    s = state.settings
    assert state.replicates is not None
    weights = core().oja_multipliers(s.pilot_weights, b, 1, 1, len(rows))[0]
    made = weighted_directions(rows, gram, weights, s.n_components)
    if made is None:
        made = state.directions[: s.n_components, : s.n_features]
    else:
        # lengths do not matter to what follows, but float32 has little room for them
        made /= np.linalg.norm(made, axis=1, keepdims=True)
    put_replicate(state.replicates, b, made)


def _start_side_by_side(state: State, rows: F64 | CentredRows, gram: F64, n_threads: int) -> None:
    """Start all replicates natively, several in the lanes of a vector."""
    s = state.settings
    assert state.replicates is not None
    n, k = len(rows), s.n_components
    groups, _, _, lanes = state.replicates.shape
    each = lanes // PILOT_LANES
    bytes_of_group = 8 * lanes * n * k
    room = max(PILOT_SHARE * state.replicates.nbytes, PILOT_BYTES) / bytes_of_group
    step = max(1, min(groups, int(room), int(PILOT_WORK / (each * n**3))))
    for a in range(0, groups, step):
        part = state.replicates[a : a + step]
        coefficients, ends = core().oja_pilot_vectors(
            s.pilot_weights, gram, k, a * lanes, len(part) * each, n_threads
        )
        if not isinstance(rows, CentredRows):
            core().oja_pilot_start(s.sizes, rows, coefficients, part, n_threads)
        for i, end in enumerate(ends.ravel()[: s.n_bootstrap - a * lanes]):
            if end:
                _start_one(state, a * lanes + i, rows, gram)
            elif isinstance(rows, CentredRows):
                group, lane = divmod(i, PILOT_LANES)
                own = np.ascontiguousarray(coefficients[group, :, :, lane].T)
                put_replicate(state.replicates, a * lanes + i, own @ rows)
        del coefficients  # before the next are made


def start_replicates(state: State, rows: F64 | CentredRows, n_threads: int) -> None:
    """Start every replicate from the pilot with its own weights."""
    s = state.settings
    assert state.replicates is not None
    n, d = rows.shape
    with one_blas_thread():
        gram: F64 | None = None
        if isinstance(rows, CentredRows):
            gram = rows.gram()
        elif n <= 2 * d:
            gram = rows @ rows.T
        if gram is not None and s.n_components <= n <= MOST_SIDE_BY_SIDE:
            _start_side_by_side(state, rows, gram, n_threads)
        else:
            for b in range(s.n_bootstrap):
                _start_one(state, b, rows, gram)
    fill_spare(state.replicates, s.n_bootstrap)
    core().oja_orthonormalise(s.sizes, state.replicates, n_threads)


def finish_pilot(state: State, n_threads: int) -> None:
    """Turn a full pilot into the start of the estimate, of the replicates and of the schedule."""
    s = state.settings
    check_variance(state)
    rows = pilot_rows(state)
    if not isinstance(rows, CentredRows):
        rows = rows.astype(np.float64, copy=False)
    # the replicates do not exist yet, but their memory does
    room = rows if isinstance(rows, np.ndarray) and not s.n_bootstrap else state.replicates
    directions, values = pilot_directions(rows, s.n_tracked, room)
    if state.replicates is not None:
        state.replicates[:, s.n_features :] = 0
    state.directions[:, : s.n_features] = directions
    state.pilot_values = values
    if s.n_bootstrap:
        start_replicates(state, rows, n_threads)
    # the refresh rule takes the pilot's eigenvalues as an epoch of one row
    state.tracked[EPOCH_SQUARES] = values
    state.counts[EPOCH] = 1
    limit, c, kappa, center, _, _ = s.rule
    rule = (limit, c, kappa, center, s.gap is None, s.schedule == "auto")
    core().oja_refresh(s.sizes, rule, state.tracked, state.counts, state.sums)
    begin(state)
    state.pilot = None
    if state.sparse is not None:
        start(state)


def start_without_pilot(state: State, rows: F64 | None) -> None:
    """Start from random directions or from the rows given, before the first row of data."""
    s = state.settings
    if rows is None:
        generator = np.random.Generator(np.random.Philox(key=s.seed))
        normals = generator.standard_normal((s.n_tracked, s.n_features))
        with one_blas_thread():
            q, r = np.linalg.qr(normals.T)
        rows = (q * np.sign(np.diagonal(r))).T
    state.directions[:, : s.n_features] = rows
    if state.replicates is not None:
        first = state.directions[: s.n_components, : s.n_features]
        state.replicates[:, : s.n_features] = first.T[:, :, None]
    begin(state)


def replicates_of(state: State, lanes: NDArray[Any]) -> NDArray[Any]:
    """Return replicates (B, k, d) from a native array of this state's layout."""
    return lanes_to_replicates(lanes, state.settings.n_bootstrap, state.settings.n_features)
