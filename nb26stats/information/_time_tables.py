"""Tables of a fitted TimeResolvedPID, and its result object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._latency import interval
from ._nulls import TERMS
from ._time_result import TimeResolvedPIDResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class TimeTables:
    """What a fitted TimeResolvedPID shows of its arrays."""

    def _labels(self: Any) -> dict[str, list[str]]:
        index = [(p, t, a) for p in self.pairs_ for t in self.targets_ for a in TERMS]
        return {
            name: [entry[i] for entry in index] for i, name in enumerate(("pair", "target", "atom"))
        }

    def to_frame(self: Any) -> pd.DataFrame:
        """Return one row per pair, target, atom and bin.

        Returns
        -------
        pandas.DataFrame
            Columns ``pair``, ``target``, ``atom``, ``time``, ``value``, ``null_mean``, ``null_sd``,
            ``z``, ``p_max`` and ``significant``; NaN and False where the null tests nothing.
        """
        import pandas as pd

        check_is_fitted(self)
        n_bins = len(self.times_)
        labels = {k: np.repeat(np.array(v, object), n_bins) for k, v in self._labels().items()}
        return pd.DataFrame(
            {
                **labels,
                "time": np.tile(self.times_, self.values_.size // n_bins),
                "value": self.values_.ravel(),
                "null_mean": np.repeat(self.null_mean_.ravel(), n_bins),
                "null_sd": np.repeat(self.null_sd_.ravel(), n_bins),
                "z": self.z_.ravel(),
                "p_max": self.p_max_.ravel(),
                "significant": self.significant_.ravel(),
            }
        )

    @property
    def latencies_(self: Any) -> pd.DataFrame:
        """Onset, offset and peak of every pair, target and atom.

        Columns ``pair``, ``target``, ``atom``, ``onset``, ``offset``, ``ci_low``, ``ci_high`` (of
        the onset), ``peak``, ``peak_time`` and ``no_onset_fraction`` (of the resamples).
        """
        import pandas as pd

        check_is_fitted(self)
        draws = self.resampled_onsets_.reshape(-1, self.onsets_.size)
        bounds = [interval(column, self._settings["level"]) for column in draws.T]
        low, high = np.array(bounds).T
        top = self.values_.argmax(axis=-1).ravel()
        return pd.DataFrame(
            {
                **self._labels(),
                "onset": self.onsets_.ravel(),
                "offset": self.offsets_.ravel(),
                "ci_low": low,
                "ci_high": high,
                "peak": self.values_.max(axis=-1).ravel(),
                "peak_time": self.times_[top],
                "no_onset_fraction": (
                    np.isnan(draws).mean(axis=0) if len(draws) else np.full(draws.shape[1], np.nan)
                ),
            }
        )

    def latency_difference(
        self: Any, first: Sequence[str], second: Sequence[str]
    ) -> pd.Series[float]:
        """Return how much later one onset is than another, with an interval.

        Both onsets come from the same resamples, so what they share cancels.

        Parameters
        ----------
        first, second : sequence of str
            Pair, target and atom, as the tables name them; the target may be left out where there
            is one.

        Returns
        -------
        pandas.Series
            ``difference`` (onset of ``second`` minus onset of ``first``), ``ci_low``, ``ci_high``
            and ``missing_fraction``, the part of the resamples in which either has no onset.

        Raises
        ------
        ValueError
            If there is no such pair, target or atom.

        Examples
        --------
        >>> from nb26stats import GaussianPID, TimeResolvedPID, datasets
        >>> data = datasets.simulate_two_areas(n_trials=300, n_units=2)
        >>> pid = TimeResolvedPID(
        ...     GaussianPID(n_bootstrap=9), n_permutations=99, n_bootstrap=50, random_state=0
        ... )
        >>> pid = pid.fit(data.areas, data.target, data.times)
        >>> (pair,) = pid.pairs_
        >>> later = pid.latency_difference((pair, "mi_1"), (pair, "mi_2"))
        >>> later.index.tolist()
        ['difference', 'ci_low', 'ci_high', 'missing_fraction']
        """
        import pandas as pd

        check_is_fitted(self)
        a, b = self._place(first, "first"), self._place(second, "second")
        draws = self.resampled_onsets_[:, *b] - self.resampled_onsets_[:, *a]
        low, high = interval(draws, self._settings["level"])
        return pd.Series(
            {
                "difference": float(self.onsets_[b] - self.onsets_[a]),
                "ci_low": low,
                "ci_high": high,
                "missing_fraction": float(np.isnan(draws).mean()) if draws.size else np.nan,
            }
        )

    def _place(self: Any, key: Sequence[str], name: str) -> tuple[int, int, int]:
        parts = [key] if isinstance(key, str) else list(key)
        if len(parts) == 2 and len(self.targets_) == 1:
            parts.insert(1, self.targets_[0])
        if len(parts) != 3:
            raise ValueError(f"{name} must be (pair, target, atom), got {key!r}")
        out = []
        for what, part, known in zip(
            ("pair", "target", "atom"), parts, (self.pairs_, self.targets_, TERMS), strict=True
        ):
            if part not in known:
                raise ValueError(f"{name}: no {what} {part!r}; there are {', '.join(known)}")
            out.append(list(known).index(part))
        return out[0], out[1], out[2]

    def result(self: Any) -> TimeResolvedPIDResult:
        """Return tables of all bins, latencies and thresholds as a result object.

        Returns
        -------
        TimeResolvedPIDResult
            Draws, prints and tabulates itself.
        """
        import pandas as pd

        check_is_fitted(self)
        threshold = self.thresholds_.ravel()
        return TimeResolvedPIDResult(
            table=self.to_frame(),
            latencies=self.latencies_,
            thresholds=pd.DataFrame(
                {
                    **self._labels(),
                    "threshold": threshold,
                    "value": self.null_mean_.ravel() + threshold * self.null_sd_.ravel(),
                }
            ),
            base=self.base_,
            seed=self.seed_,
            measure=self.measure_,
            null=self._settings["null"],
            correction=self._settings["correction"],
            alpha=self._settings["alpha"],
            n_samples=self.n_samples_,
            n_permutations=self._settings["n_permutations"],
        )

    def summary(self: Any) -> str:
        """Return onsets, offsets and peaks as a text table.

        Returns
        -------
        str
            Lines of text, to be printed.
        """
        text: str = self.result().summary()
        return text

    def plot(self: Any, ax: Axes | None = None, **style: Any) -> Any:
        """Draw the atoms over time with their null, significant bins and onsets.

        Parameters
        ----------
        ax : matplotlib axes or sequence of axes, optional
            Where to draw. A new figure by default.
        **style
            Passed to ``nb26stats.plotting.plot_atoms``, such as ``pair`` and ``target``.

        Returns
        -------
        Axes or ndarray of Axes
            What was drawn on.
        """
        return self.result().plot(ax, **style)
