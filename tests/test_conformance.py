"""Scikit-learn's own conformance suite over every estimator of the package."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import nb26stats

# checks that call fit(X, y) with one matrix
OF_ONE_MATRIX = [
    "check_complex_data",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_empty_data_messages",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit1d",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
]
# check -> why it cannot hold, by estimator
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    **{
        name: dict.fromkeys(OF_ONE_MATRIX, "fit takes a list of sources")
        for name in ("DiscretePID", "GaussianPID")
    },
    "DNNLearningRule": {
        **dict.fromkeys(
            [check for check in OF_ONE_MATRIX if check != "check_fit1d"],
            "fit needs the rewards or the correct sides of the trials",
        ),
        "check_methods_sample_order_invariance": "trials are a sequence: their order matters",
        "check_methods_subset_invariance": "trials are a sequence: later ones need the earlier",
    },
    **{
        name: dict.fromkeys(
            [*OF_ONE_MATRIX, "check_requires_y_none"], "fit needs the treatment of every row"
        )
        for name in ("NonparametricC2G", "SemiparametricC2G")
    },
    "TimeResolvedPID": dict.fromkeys(OF_ONE_MATRIX, "fit takes areas by name, and times"),
}
# other settings that the suite should see, by estimator
ALSO: dict[str, list[dict[str, Any]]] = {
    "DiscretePID": [{"measure": "imin", "bias": "qe", "random_state": 0}],
    "OjaPCA": [
        {"n_bootstrap": 3, "pilot_size": 8, "multiplier": "exponential", "random_state": 0},
        {"missing": "drop", "learning_rate": "constant", "eta0": 0.01, "init": "random"},
    ],
}


def _estimators() -> list[BaseEstimator]:
    found = [getattr(nb26stats, name) for name in nb26stats.__all__]
    classes = [c for c in found if inspect.isclass(c) and issubclass(c, BaseEstimator)]
    return [c(**kw) for c in classes for kw in [{}, *ALSO.get(c.__name__, [])]]


def test_there_are_estimators() -> None:
    names = {type(e).__name__ for e in _estimators()}
    assert {"DiscretePID", "OjaPCA"} <= names


# the suite's data have fewer rows than the default pilot, which is what this warning says
@pytest.mark.filterwarnings("ignore:.* rows do not go beyond pilot_size")
@parametrize_with_checks(
    _estimators(),
    expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {}),
)
def test_conformance(estimator: BaseEstimator, check: Callable[[Any], None]) -> None:
    assert check(estimator) is None


TAKE_SPARSE = [e for e in _estimators() if get_tags(e).input_tags.sparse]


# scikit-learn's own checks of sparse rows use double precision only
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("estimator", TAKE_SPARSE, ids=repr)
def test_sparse_rows_of_single_precision(estimator: BaseEstimator, kind: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random((120, 7)) < 0.4, rng.normal(size=(120, 7)), 0)
    rows = kind(x.astype(np.float32))
    before = rows.copy()
    est = clone(estimator).set_params(random_state=0)
    scores = est.fit_transform(rows)
    assert scores.dtype == np.float32
    assert not sparse.issparse(scores)
    np.testing.assert_array_equal(scores, est.transform(rows))
    np.testing.assert_array_equal(rows.toarray(), before.toarray())
    wide = clone(estimator).set_params(random_state=0).fit_transform(kind(x))
    assert wide.dtype == np.float64
    np.testing.assert_allclose(scores, wide, atol=1e-4)
    with pytest.raises(ValueError, match="expecting 7 features"):
        est.transform(rows[:, :5])
