"""The page of a pool: parts of the promises without repeated rows."""

import re

import numpy as np
import pandas as pd
from report_trials import provenance

from defero import ExpertPool
from defero.report.page import score_page
from defero.team.judge_scores import judge_scores


def pool_of_two():
    """Return the record of a pool whose members know one kind of items each, and the kinds."""
    rng = np.random.default_rng(0)
    task = np.repeat(["law", "maths"], 200)
    right = np.column_stack([np.where(task == "law", 0.9, 0.4), np.full(400, 0.6)])
    scores = (rng.random(right.shape) < right).astype(float)
    table = pd.DataFrame({"task": task})
    team = ExpertPool().fit(table, scores, prices=[1.0, 1.0]).team_
    return judge_scores(team, table, scores), {"task": task.tolist()}


def test_equal_promises_are_one_row_of_the_table():
    record, kinds = pool_of_two()
    page = score_page(record, provenance(), kinds=kinds)
    promises = page[page.index("Are promises kept?") :]
    ranges = re.findall(r"\d\.\d{4} to \d\.\d{4}(?!\))", promises)
    assert len(ranges) == len(set(ranges)) == 2
    assert "All members cost the same" in page
