"""A stream's state as a flat dict of arrays and scalars, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nb26stats._check import as_choice, as_int
from nb26stats._dispatch import core

from ._csr import CsrRows
from ._pilot import replicates_of
from ._settings import MULTIPLIERS, SCHEDULES, Settings
from ._sparse import check_parts
from ._state import VERSION, State, fill_spare, new_state, put_replicate

if TYPE_CHECKING:
    from ._oja import OjaPCA

_TRIMMED = ("directions", "open_rows", "last_row")  # stored without the padding of their rows
_PLAIN = ("mean", "open_steps", "tracked", "counts", "sums", "pilot_values")
_HISTORY = ("history_rows", "history_errors")
_SPARSE = ("total", "base", "projected", "moments")
_SPARSE_ROWS = ("values", "columns", "starts")
_FINITE = ("directions", "mean", "open_rows", "last_row", "pilot", "replicates")
_SCALARS = {"constant_step": float, "n_skipped": int, "told_few": bool}


def _put(out: dict[str, Any], prefix: str, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if callable(value):
            raise TypeError(
                f"{name} is a function, which has no plain form; pickle the estimator instead"
            )
        if value is not None:
            out[prefix + name] = value.copy() if isinstance(value, np.ndarray) else value


def dump(est: OjaPCA) -> dict[str, Any]:
    """Return what ``load`` needs; every value is an array, a number, a bool or text."""
    state = est._state
    s = state.settings
    out: dict[str, Any] = {"version": VERSION}
    params = est.get_params(deep=False)
    params["random_state"] = s.seed
    for name, value in params.items():
        if isinstance(value, (list, tuple)):
            params[name] = np.asarray(value)
    _put(out, "param_", params)
    settings = dataclasses.asdict(s)
    settings["seed"] = np.uint64(s.seed)
    _put(out, "setting_", settings)
    out["param_random_state"] = np.uint64(s.seed)
    arrays: dict[str, Any] = {name: getattr(state, name) for name in _PLAIN}
    arrays |= {name: getattr(state, name)[:, : s.n_features] for name in _TRIMMED[:2]}
    arrays["last_row"] = state.last_row[: s.n_features]
    if state.sparse is not None:
        arrays |= {"sparse_started": state.sparse.started}
        arrays |= {f"sparse_{name}": getattr(state.sparse, name) for name in _SPARSE}
        arrays |= {f"sparse_{name}": getattr(state.sparse.rows, name) for name in _SPARSE_ROWS}
    if state.pilot is not None:
        arrays["pilot"] = state.pilot[: state.n_seen]
    if state.replicates is not None:
        arrays["replicates"] = replicates_of(state, state.replicates)
    _put(out, "state_", arrays)
    _put(out, "state_", {name: getattr(state, name) for name in (*_SCALARS, *_HISTORY)})
    if len(state.part_seeds):
        out["state_part_seeds"] = state.part_seeds.copy()
    names = getattr(est, "feature_names_in_", None)
    if names is not None:
        out["feature_names"] = np.char.encode(np.asarray(names, dtype=str), "utf-8")
    return out


def _plain(value: Any) -> Any:
    """Undo what npz and HDF5 do to scalars and text."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic):
        value = value.item()
    return value.decode("utf-8") if isinstance(value, bytes) else value


def _whole(value: float, name: str) -> int:
    """Return a whole number that a trip through R has made a double."""
    if abs(value) >= 2.0**53:
        raise ValueError(
            f"setting_{name} came back as the double {value:.17g}, which has lost digits; set a "
            "random_state below 2**53, or save the estimator itself"
        )
    return as_int(value, f"setting_{name}")


def _plain_text(name: Any) -> str:
    return name.decode("utf-8") if isinstance(name, bytes) else str(name)


def _settings(known: Mapping[str, Any]) -> Settings:
    kinds: dict[str, Any] = {"int": int, "float": (int, float), "bool": bool, "str": str}
    values: dict[str, Any] = {}
    for f in dataclasses.fields(Settings):
        value = values[f.name] = known.get(f.name)
        kind, _, rest = str(f.type).partition(" ")
        if f.name == "rate" or (value is None and rest == "| None"):
            continue
        if kind == "int" and isinstance(value, float):
            value = values[f.name] = _whole(value, f.name)
        if not isinstance(value, kinds[kind]) or (kind == "int" and value is True):
            raise ValueError(f"setting_{f.name} must be {f.type}, got {value!r}")
    as_int(values["n_bootstrap"], "setting_n_bootstrap", minimum=0)
    as_choice(values["dtype"], "setting_dtype", ("float32", "float64"))
    as_choice(values["schedule"], "setting_schedule", SCHEDULES)
    as_choice(values["init"], "setting_init", ("pilot", "random", "array"))
    as_choice(values["multiplier"], "setting_multiplier", MULTIPLIERS)
    return Settings(**values)


def _fill(into: NDArray[Any], held: Mapping[str, Any], name: str) -> None:
    value = np.asarray(held[name])
    if value.shape != into.shape or value.dtype.kind not in "iuf":
        raise ValueError(
            f"state_{name} must hold numbers in shape {into.shape}, got {value.dtype} in "
            f"{value.shape}"
        )
    if name in _FINITE and not np.isfinite(value).all():
        raise ValueError(f"state_{name} must hold finite numbers only")
    into[...] = value


def _load_sparse(state: State, held: Mapping[str, Any]) -> None:
    parts = state.sparse
    assert parts is not None
    for name in _SPARSE:
        _fill(getattr(parts, name), held, f"sparse_{name}")
    parts.started = bool(held["sparse_started"])
    values, columns, starts = (np.asarray(held[f"sparse_{name}"]) for name in _SPARSE_ROWS)
    if any(a.dtype.kind not in "iuf" for a in (values, columns, starts)):
        raise ValueError("state_sparse rows must hold numbers")
    parts.rows = CsrRows(values, columns, starts, state.settings.n_features)
    parts.rows = parts.rows.native(state.settings.dtype)
    check_parts(state)


def load(est: OjaPCA, stored: Mapping[str, Any]) -> None:
    """Put the state of ``dump`` into an estimator."""
    if not isinstance(stored, Mapping):
        raise TypeError(f"state must be what get_state returned, got {type(stored).__name__}")
    version = _plain(stored["version"]) if "version" in stored else None
    if version != VERSION:
        raise ValueError(f"state has version {version!r}, this nb26stats reads {VERSION}")
    try:
        _load(est, stored)
    except (LookupError, TypeError, ValueError, RuntimeError, MemoryError) as err:
        what = f"it lacks {err}" if isinstance(err, KeyError) else err
        raise ValueError(f"state is incomplete or damaged: {what}") from err


def _load(est: OjaPCA, stored: Mapping[str, Any]) -> None:
    def part(prefix: str) -> dict[str, Any]:
        return {
            name.removeprefix(prefix): _plain(stored[name])
            for name in stored
            if name.startswith(prefix)
        }

    est.set_params(**part("param_"))
    as_choice(est.device, "param_device", ("auto", "cpu", "cuda"))
    as_choice(est.missing, "param_missing", ("raise", "drop"))
    settings = _settings(part("setting_"))
    state = new_state(settings)
    held = part("state_")
    d = settings.n_features
    for name in _PLAIN:
        _fill(getattr(state, name), held, name)
    _fill(state.directions[:, :d], held, "directions")
    if not settings.sparse:
        _fill(state.open_rows[:, :d], held, "open_rows")
        _fill(state.last_row[:d], held, "last_row")
    for name, kind in _SCALARS.items():
        setattr(state, name, kind(held[name]))
    n_noted = len(np.atleast_1d(held["history_rows"]))
    state.history_rows = np.empty(n_noted, np.int64)
    state.history_errors = np.empty((n_noted, settings.n_bootstrap))
    for name in _HISTORY:
        _fill(getattr(state, name), held, name)
    if np.any(np.diff(state.history_rows, prepend=0, append=state.n_seen + 1) <= 0):
        raise ValueError("state_history_rows must ascend from 1 to the rows seen")
    seeds = np.atleast_1d(held.get("part_seeds", state.part_seeds))
    if seeds.ndim != 1 or seeds.dtype.kind not in "iu":
        raise ValueError(f"state_part_seeds must hold whole numbers, got {seeds.dtype}")
    state.part_seeds = seeds.astype(np.uint64)
    # calls without rows, for the checks that native code makes
    if settings.sparse:
        _load_sparse(state, held)
    else:
        none = np.empty((0, d), settings.dtype)
        core().oja_center(settings.sizes, settings.rule, state.arrays, none, none)
    core().oja_multipliers(settings.weights, 0, 0, 1, 0)
    if "pilot" in held and state.pilot is not None:
        _fill(state.pilot[: state.n_seen], held, "pilot")
    else:
        state.pilot = None
    if state.replicates is not None:
        shape = (settings.n_bootstrap, settings.n_components, d)
        replicates = np.empty(shape, settings.dtype)
        _fill(replicates, held, "replicates")
        for b, rows in enumerate(replicates):
            put_replicate(state.replicates, b, rows)
        fill_spare(state.replicates, settings.n_bootstrap)
    est._state = state
    est.n_features_in_ = d
    if "feature_names" in stored:
        names = np.atleast_1d(np.asarray(stored["feature_names"])).tolist()
        est.feature_names_in_ = np.array([_plain_text(n) for n in names], dtype=object)
