"""A sample of rows is no pattern of the table."""

import numpy as np

from defero.core.splits import sample_rows


def test_a_table_that_alternates_is_sampled_from_both_halves():
    rows = sample_rows(200_000, 100_000)
    assert len(np.unique(rows)) == 100_000
    assert abs((rows % 2).mean() - 0.5) < 0.01
    assert sample_rows(5, 5).tolist() == [0, 1, 2, 3, 4]
