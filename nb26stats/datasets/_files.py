"""Finding and opening the data files of the package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from nb26stats.nwb import Session

_NWB_FILES = (
    "A2929-200711_neurosuite.nwb",
    "A8604-211122_phy.nwb",
    "sub-anm369963_ses-20170228.nwb",
    "sub_anm00239123_ses_20170627T093549_ecephys_and_ogen.nwb",
)
_RAT = "rat_W053_trials.csv.gz"
_NHEFS = "nhefs_complete.csv.gz"
_FILES = (*_NWB_FILES, _RAT, _NHEFS)


def list_nwb() -> list[str]:
    """Return the names of the NWB files that come with the package.

    Returns
    -------
    list of str
        File names, in alphabetical order; each can be given to ``load_nwb`` and ``path``.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> len(datasets.list_nwb())
    4
    """
    return list(_NWB_FILES)


def path(name: str | os.PathLike[str]) -> Path:
    """Return where a data file of the package lies on this machine.

    Parameters
    ----------
    name : str or path
        File name, with or without its ending: an entry of ``list_nwb``, or ``"rat_W053_trials"``.

    Returns
    -------
    pathlib.Path
        Absolute path of an existing file. Treat the file as read-only.

    Raises
    ------
    ValueError
        If no data file has this name; the message lists the names.
    TypeError
        If ``name`` is not text or a path.
    FileNotFoundError
        If the package was installed without its data files.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> datasets.path("A8604-211122_phy").name
    'A8604-211122_phy.nwb'
    """
    file_name = _resolve(name, _FILES)
    for folder in _folders():
        found = folder / file_name
        if found.is_file():
            return found
    looked = " and ".join(str(folder) for folder in _folders())
    raise FileNotFoundError(
        f"the data file {file_name} is not installed (looked in {looked}); reinstall nb26stats"
    )


def load_nwb(name: str | os.PathLike[str]) -> Session:
    """Open one of the NWB files that come with the package.

    Parameters
    ----------
    name : str or path
        An entry of ``list_nwb``; the ending ``.nwb`` may be left out.

    Returns
    -------
    nb26stats.nwb.Session
        The opened file; close it with ``close()`` or use it in a ``with`` block.

    Raises
    ------
    ValueError
        If no NWB file has this name; the message lists the names.
    TypeError
        If ``name`` is not text or a path.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> with datasets.load_nwb("sub-anm369963_ses-20170228") as session:
    ...     len(session.trials())
    178
    """
    # the one step up from data to its reader, and only when a file is opened
    from nb26stats import nwb

    return nwb.open(path(_resolve(name, _NWB_FILES)))


def load_rat() -> pd.DataFrame:
    """Load 20,000 trials of one rat in an auditory parametric working-memory task.

    The rat hears two sounds and reports which one was louder: ``answer`` is 2 (right) where
    ``s1 > s2``, else 1 (left).

    Returns
    -------
    pandas.DataFrame
        One row per trial in order of time, 80 sessions: ``session`` (from 1), ``s1`` and ``s2``
        (loudness of the two sounds, standardised), ``choice`` and ``answer`` (1 left, 2 right),
        ``correct`` (0/1).

    Notes
    -----
    Example data of the Python package psytrack (MIT licence); see ``LICENCES.md``.

    Examples
    --------
    >>> from nb26stats import datasets
    >>> rat = datasets.load_rat()
    >>> rat.shape
    (20000, 6)
    >>> bool((rat["answer"] == 1 + (rat["s1"] > rat["s2"])).all())
    True
    """
    import pandas as pd

    return pd.read_csv(path(_RAT))


def load_nhefs() -> pd.DataFrame:
    """Load 1,566 smokers who were followed from 1971 to 1982, and whether they stopped.

    The National Health and Nutrition Examination Survey I Epidemiologic Follow-up Study, those
    with complete data. The treatment is ``qsmk`` (1: stopped smoking between 1971 and 1982; 403 of
    1,566), the outcome ``wt82_71``, the gain of weight over that time in kg. Usual covariates, none
    of them missing: ``sex`` (1 female), ``age`` (years), ``race`` (1 other than white), ``school``
    (years), ``smokeintensity`` (cigarettes a day in 1971), ``smokeyrs`` (years of smoking),
    ``wt71`` (weight in kg), ``active`` and ``exercise`` (0 much to 2 little).

    Returns
    -------
    pandas.DataFrame
        One row per person, 67 columns under their names in the survey, all of them numbers; some
        of the other columns have missing values.

    Notes
    -----
    From the Python package causaldata (MIT licence); see ``LICENCES.md``. Used throughout Hernán
    and Robins, "Causal Inference: What If" (2020).

    Examples
    --------
    >>> from nb26stats import datasets
    >>> people = datasets.load_nhefs()
    >>> people.shape
    (1566, 67)
    >>> people.groupby("qsmk")["wt82_71"].mean().round(2).to_list()
    [1.98, 4.53]
    """
    import pandas as pd

    return pd.read_csv(path(_NHEFS))


def _folders() -> tuple[Path, Path]:
    """Return where the data may lie: installed as ``nb26stats.data``, or in a source tree."""
    package = Path(__file__).resolve().parents[1]
    return package / "data", package.parent / "data"


def _resolve(name: object, names: tuple[str, ...]) -> str:
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"name must be the name of a data file, got {type(name).__name__}")
    text = os.fspath(name)
    if isinstance(text, str):
        for known in names:
            if text in (known, known.removesuffix(".nwb").removesuffix(".csv.gz")):
                return known
    raise ValueError(f"no data file named {text!r}; there are: {', '.join(names)}")
