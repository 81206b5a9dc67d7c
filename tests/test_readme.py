"""What the README shows works as written."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from sklearn.exceptions import ConvergenceWarning

from nb26stats import NB26StatsWarning

TOP = Path(__file__).parent.parent
TEXT = (TOP / "README.md").read_text()
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


def test_the_gallery_draws_the_figures_shown(tmp_path: Path) -> None:
    shown = re.findall(r"!\[[^\]]+\]\((notebooks/gallery/\w+\.png)\)", TEXT)
    assert len(shown) == 4
    script = TOP / "notebooks" / "gallery.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    drawn = {path.name: plt.imread(path).shape for path in tmp_path.glob("*.png")}
    # a change of size by more than a line of text means that the committed figure is of other code
    assert drawn.keys() == {Path(name).name for name in shown}
    for name in shown:
        kept = plt.imread(TOP / name).shape
        assert all(abs(a - b) <= 30 for a, b in zip(kept, drawn[Path(name).name], strict=True))


def test_links_within_the_page_lead_somewhere() -> None:
    heads = re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    links = re.findall(r"\]\(#([^)]+)\)", TEXT)
    assert links
    assert set(links) <= anchors
    files = re.findall(r"`((?:notebooks|data|tests)/[\w/.]+\.\w+)`", TEXT)
    assert [name for name in files if not (TOP / name).exists()] == []
