"""Threads of boosting: one for few items, where several would only wait for each other."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from defero.estimators import boosting
from defero.estimators.boosting import TreeSize, boost


def _openmp_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}


@pytest.mark.parametrize("few", [True, False])
def test_few_items_are_boosted_by_one_thread(few, monkeypatch):
    threads: list[set[int]] = []
    fit = HistGradientBoostingClassifier.fit

    def watched(self, *arguments, **options):
        threads.append(_openmp_threads())
        return fit(self, *arguments, **options)

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", watched)
    monkeypatch.setattr(boosting, "FEW_ITEMS", 1_000 if few else 0)
    columns = np.random.default_rng(0).normal(size=(200, 2))
    target_idx = (columns[:, 0] > 0).astype(int)
    with threadpool_limits(2, user_api="openmp"):
        boost(columns, target_idx, None, TreeSize(2, 4, 20), n_targets=2, n_categories=0, bags=(np.arange(2),))
        assert 2 in _openmp_threads()
    assert threads == [{1}] if few else 2 in threads[0]
