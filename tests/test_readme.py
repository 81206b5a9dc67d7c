"""What the README shows works as written."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from sklearn.exceptions import ConvergenceWarning

from nb26stats import NB26StatsWarning

TEXT = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_there_are_examples_to_run() -> None:
    assert len(BLOCKS) >= 2


def test_blocks_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    whole = "\n".join(BLOCKS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(whole, "README.md", "exec"), space)
    # the text announces both
    assert [w.category for w in caught] == [NB26StatsWarning, ConvergenceWarning]
    assert "70 of 412 events have no time" in str(caught[0].message)
    assert "of 3 fits, 1 have a parameter on a bound" in str(caught[1].message)
    plt.close("all")
    assert space["counts"].counts["Thalamus"].sum() == 10670  # type: ignore[attr-defined]
    assert space["pca"].bootstrap_components_.shape == (199, 3, 64)  # type: ignore[attr-defined]
    assert (tmp_path / "with_rates.nwb").exists()


@pytest.mark.parametrize("command", ["command 1", "command 2"])
def test_commands_stand_where_automation_looks(command: str) -> None:
    block = re.search(rf"<!-- {command} -->\n```bash\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    assert block[1].startswith("pip install ")
