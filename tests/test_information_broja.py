"""The native BROJA solver: known tables, certificates, bits."""

from __future__ import annotations

import numpy as np
import pytest
from reference.broja import ATOMS, TABLES

from nb26stats.information._atoms import atoms
from nb26stats.information._broja import broja


@pytest.mark.parametrize("name", TABLES)
def test_e1_known_tables(name: str) -> None:
    out = broja(TABLES[name][None], tol=1e-9, max_iter=100, n_threads=1)
    got = np.array(atoms(out.information[0] / np.log(2)))
    assert np.abs(got - ATOMS[name]).max() < 1e-7
    assert out.converged[0]
    assert out.gap[0] < 2e-8
