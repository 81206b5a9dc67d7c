"""A small file with the layout of the TVSD's time courses, as MATLAB v7.3 writes it."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

N_TRIALS = 6


def order(seed: int = 3) -> np.ndarray:
    """The rows of the file in the order of the arrays, counted from 1."""
    return np.random.default_rng(seed).permutation(1024) + 1


def value(electrode: np.ndarray, trial: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """What the electrode at this place of the arrays shows; exact in float32 also as a mean."""
    return np.asarray(electrode + 2048.0 * trial + 0.25 * sample)


def matlab_array(n_trials: int = N_TRIALS) -> np.ndarray:
    """ALLMUA with MATLAB's axes: rows of the recording system, trials, milliseconds."""
    e, t, s = np.ogrid[:1024, :n_trials, :300]
    in_order = value(e, t, s).astype(np.float32)
    out = np.empty_like(in_order)
    out[order() - 1] = in_order
    return out


def matlab_table(n_trials: int = N_TRIALS, columns: int = 7) -> np.ndarray:
    """ALLMAT: every third trial shows a test image."""
    t = np.arange(n_trials)
    test = t % 3 == 2
    table = [t + 1, np.where(test, 0, 100 + t), np.where(test, 1 + t, 0), t * 0 + 1, t % 4 + 1]
    table += [t * 0 + 1] if columns == 7 else []
    return np.column_stack([*table, 1 + t // 4]).astype(float)


def write(
    path: Path,
    *,
    columns: int = 7,
    axes: tuple[int, int, int] = (2, 1, 0),
    chunks: bool = False,
    with_order: bool = True,
    leave_out: tuple[str, ...] = (),
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    variables = {
        "ALLMUA": matlab_array().transpose(axes),
        "ALLMAT": matlab_table(columns=columns).T,
        "tb": np.arange(-100.0, 200.0)[:, None],
    }
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, data in variables.items():
            if name not in leave_out:
                tiles = (100, 2, 64) if chunks and name == "ALLMUA" else None
                file.create_dataset(name, data=data, chunks=tiles)
    if with_order:
        logs = path.parent / "_logs"
        logs.mkdir(exist_ok=True)
        with h5py.File(logs / "1024chns_mapping_20220105.mat", "w") as file:
            file["mapping"] = order()[:, None].astype(float)
    return path
