"""Opening a session beside pynwb alone, a small file and one of 130 MB; its page in a report.

The claim of opening is a difference, not a ratio: at most 0.05 s on top of what pynwb takes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from measure import Row, alone, alternate, compare, table
from nwb_files import big_spikes
from nwb_pieces import reading

import nb26stats.nwb as nbn
from nb26stats import datasets
from nb26stats.report import build_report

SMALL = "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb"
UNITS = "A2929-200711_neurosuite.nwb"


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        big = big_spikes(Path(folder) / "big.nwb")
        small = Path(str(datasets.path(SMALL)))
        rows = [_open("small file", small), _open("file of 130 MB", big), _page(big)]
    print(table(rows))


def _open(what: str, path: Path) -> Row:
    def theirs() -> None:
        with reading(path) as io:
            io.read()

    def ours() -> None:
        with nbn.open(path):
            pass

    times = alternate({"ours": ours, "pynwb": theirs}, rounds=6)
    extra = min(times["ours"]) - min(times["pynwb"])
    return compare(
        f"open, {what}", times, "ours", "pynwb", target="+0.05 s", rate=f"{extra:+.3f} s"
    )


def _page(path: Path) -> Row:
    build_report(datasets.path(UNITS))  # compiles what is compiled at the first call
    start = time.process_time()
    build_report(path)
    return alone("report, CPU seconds", time.process_time() - start, target="< 20 s")


if __name__ == "__main__":
    main()
