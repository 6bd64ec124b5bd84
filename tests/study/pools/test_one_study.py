"""A study of scores does what a study of labels does: groups, splits, folders, keys of rows, newcomers."""

import numpy as np
import pandas as pd
import pytest
from scored import fitted

from defero import InputError, Study, Team, Terms, read_cases

NAMES = ["small", "large"]


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": [f"q{seed}-{i}" for i in range(n)], "words": rng.uniform(5, 90, n)})
    frame["author"] = rng.integers(0, 40, n)
    frame["small"] = (rng.random(n) < np.where(frame["words"] < 50, 0.9, 0.3)).astype(float)
    return frame.assign(large=(rng.random(n) < 0.85).astype(float), price=0.02 * frame["words"])


@pytest.fixture(scope="module")
def study():
    fees = {"small": 0.1, "large": "@price"}
    return fitted(table(), expert_names=NAMES, key="id", groups="author", fees=fees, error_cost=5.0)


def test_cases_have_scores_and_no_labels():
    cases = read_cases(table(), expert_names=NAMES, scores=True, key="id")
    assert (len(cases), cases.table.n_classes, cases.table.labels) == (300, 0, None)
    assert cases.table.scores.shape == (300, 2)
    for words in ({"label": "small"}, {"majority_label": True}, {"answers": table()}, {"expert_names": None}):
        with pytest.raises(InputError, match=next(iter(words))):
            read_cases(table(), **{"expert_names": NAMES, "scores": True, **words})


def test_no_group_is_in_two_parts_and_prices_are_no_features(study):
    train, _, _, test = (part.features for part in study.parts)
    author = table()["author"]
    assert not set(author[train.index]) & set(author[test.index])
    assert list(train) == ["words"]
    assert study.team.facts.fees == {"small": 0.1, "large": "@price"}


def test_a_column_says_which_items_are_for_the_test():
    frame = table().assign(split=["test" if i % 5 == 0 else "train" for i in range(300)])
    study = fitted(frame, expert_names=NAMES, key="id", split="split")
    assert [len(part) for part in study.parts] == [240, 0, 0, 60]
    assert study.parts[3].features.index.tolist() == list(range(0, 300, 5))


def test_what_is_for_labels_is_refused_by_its_name(study):
    cases = read_cases(table(), expert_names=NAMES, scores=True, key="id")
    for words in ({"net": "linear"}, {"alpha": 0.2}, {"answer_weights": "label"}):
        with pytest.raises(InputError, match=next(iter(words))):
            Study(cases).fit(**words)
    for words in ({"ask": "panel"}, {"by": ["author"]}, {"against": ["other"]}):
        with pytest.raises(InputError, match=next(iter(words))):
            study.evaluate(table(seed=1), **words)


def test_a_folder_is_routed_file_by_file(study, tmp_path):
    (tmp_path / "in").mkdir()
    new = table(n=80, seed=1)
    for i, part in enumerate((new[:50], new[50:])):
        part.to_parquet(tmp_path / "in" / f"{i}.parquet", index=False)
    whole, parts = study.route(new), study.route_folder(tmp_path / "in", tmp_path / "out")
    together = pd.concat([pd.read_parquet(tmp_path / "out" / f"{i}.parquet") for i in (0, 1)], ignore_index=True)
    assert together["route"].tolist() == whole.to_frame()["route"].tolist()
    assert (parts.rows, parts.load) == (80, whole.load)
    assert parts.spent == pytest.approx(whole.spent)


def test_rows_are_forgotten_in_the_folder_alone(study, tmp_path):
    study.save(tmp_path / "kept")
    study.save(tmp_path / "forgot", forget_rows=True)
    assert Study.load(tmp_path / "kept").evaluate(table()).seen_by_fit == len(study.parts[0])
    with pytest.raises(InputError, match="all_rows_new"):
        Study.load(tmp_path / "forgot").evaluate(table())
    assert isinstance(Team.load(tmp_path / "kept"), Team)


def test_decisions_are_those_of_the_team(study):
    new, terms = table(n=50, seed=2), Terms(fees={"small": 0.1, "large": 1.0}, error_cost=3.0)
    frame, decision = study.route(new, terms=terms).to_frame(), study.team.decide(new, terms=terms)
    assert frame["route"].tolist() == decision.name.tolist()
    np.testing.assert_allclose(frame["p_right"], decision.p_right, atol=1e-6)
    np.testing.assert_allclose(frame["fee"], decision.fee)
    np.testing.assert_allclose(frame["expected_cost"], decision.expected_cost, atol=1e-5)


def test_a_newcomer_has_few_scores(study, tmp_path):
    few = table(n=40, seed=3).drop(columns=NAMES).assign(late=1.0)
    again = Study(team=study.team.copy())
    told = again.add_expert("late", few)
    assert (told.answers, told.right, again.team.expert_names) == (40, 40, ("small", "large", "late"))
    assert "standard deviation" not in told.summary()
    assert again.evaluate(table(n=60, seed=4)).record.pool.quality > 0.5
