"""What a newcomer passes by mistake gets a clear error or a caution that names the remedy."""

import pandas as pd
import pytest
from clinic import DOCTORS, lesions, run

from defero import InputError, Study, read_cases
from defero.decide.terms import Terms

ASK = {"label": "truth", "expert_names": DOCTORS, "key": "case"}


def patients(n, *, prefix="p", seed=5):
    return lesions(n, seed=seed).assign(patient=[f"{prefix}{i // 3}" for i in range(n)])


@pytest.fixture(scope="module")
def study():
    one = Study(read_cases(patients(150), **ASK), groups="patient")
    one.fit("linear", loss="ova")
    return one


@pytest.fixture(scope="module")
def folder(tmp_path_factory, study):
    path = tmp_path_factory.mktemp("first")
    study.team.save(path / "team")
    patients(30, prefix="q", seed=8).to_csv(path / "new.csv", index=False)
    return path


def too_dear(sentences):
    return [one for one in sentences if "no question can pay" in one]


def test_fees_above_every_error_are_told_by_route_and_evaluate(study):
    new = patients(30, prefix="q", seed=8)
    (caution,) = too_dear(study.route(new, terms=Terms(fees={"all": 12})).notes)
    for fact in ("A question costs 12 and an error 1", "--error-cost", "error_cost"):
        assert fact in caution
    assert too_dear(study.evaluate(terms=Terms(fees=12)).cautions) == [caution]
    assert too_dear(study.evaluate(new, terms=Terms(fees=[12.0, 12.0, 12.0])).cautions) == [caution]
    assert not too_dear(study.evaluate(terms=Terms(fees=12, error_cost=400)).cautions)
    assert not too_dear(study.route(new, terms=Terms(fees={"dr_a": 12.0})).notes)  # the others are free
    (dearer,) = too_dear(study.evaluate(terms=Terms(fees={"all": 50, "dr_a": 40}, error_cost=30)).cautions)
    assert "costs at least 40 and an error 30" in dearer
    assert "lower the fees" in dearer


def test_fees_above_every_error_are_told_by_fit():
    one = Study(read_cases(patients(150), **ASK))
    one.fit("linear", loss="ova", terms=Terms(fees=12))
    assert too_dear(one.notes)


def test_fees_above_every_error_are_told_on_the_page(study, tmp_path):
    study.report(tmp_path / "page.html", terms=Terms(fees=12))
    assert "no question can pay" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_cases_of_one_group_are_told_with_the_number_of_groups(study):
    judged = study.evaluate()
    (caution,) = [one for one in judged.cautions if "patient" in one]
    n_groups = judged.columns["patient"].nunique()
    assert f"The {len(judged.cases)} cases have {n_groups} values of patient" in caution
    assert "independent" in caution
    alone = patients(30, prefix="q", seed=8).drop_duplicates("patient")
    assert not [one for one in study.evaluate(alone).cautions if "patient" in one]


@pytest.mark.parametrize("table", ["clinic.csv", pd.DataFrame({"a": [1]})], ids=["path", "frame"])
def test_a_study_of_a_table_that_was_not_read_names_read_cases(table):
    with pytest.raises(InputError, match=r"cases must be what read_cases returned, got .*; pass") as caught:
        Study(table)
    assert caught.value.argument == "cases"


def test_one_number_is_everybodys_fee(study):
    new = patients(30, prefix="q", seed=8)
    one, all_of_them = (study.route(new, terms=Terms(fees=fees)).to_frame() for fees in (0.1, {"all": 0.1}))
    pd.testing.assert_frame_equal(one, all_of_them)
    with pytest.raises(InputError, match=r"fees must be a number, .*got True"):
        study.route(new, terms=Terms(fees=True))


def test_one_name_is_no_list_of_names(study):
    with pytest.raises(InputError, match=r"absent must be a list of names; pass absent=\['dr_a'\]"):
        study.evaluate(terms=Terms(absent="dr_a"))
    with pytest.raises(InputError, match=r"by must be a list of columns; pass by=\['site'\]"):
        study.evaluate(by="site")


def test_one_row_is_too_few(tmp_path):
    with pytest.raises(InputError, match="1 case is too few; expected at least 20"):
        Study(read_cases(lesions(1).assign(dr_a=None, dr_b=None, dr_c=None), **ASK))


@pytest.mark.parametrize(
    ("entry", "fact"),
    [
        ("12 euro", "--fee 12 euro: expected NAME=MONEY with a number, such as dr_a=0.05, or all=0.05 for everybody"),
        ("dr_a=12 euro", "such as dr_a=0.05,"),
        ("all=-5", "--fee all=-5: a fee must not be negative"),
    ],
)
def test_a_wrong_fee_is_told_as_it_was_given(folder, entry, fact):
    outcome = run("route", folder / "team", folder / "new.csv", "--fee", entry, "--out", folder / "out.csv")
    assert outcome.code == 2
    assert fact in outcome.err


def test_one_decision_is_not_decisions(folder):
    patients(1, prefix="q", seed=8).to_csv(folder / "single.csv", index=False)
    outcome = run("route", folder / "team", folder / "single.csv", "--out", folder / "single_out.csv")
    assert "1 decision in " in outcome.out


def test_single_days_are_no_groups(study):
    days = pd.date_range("2025-01-01", periods=30)
    new = patients(30, prefix="q", seed=8)
    for written in (days.strftime("%Y-%m-%d"), days.strftime("%d.%m.%Y"), days):
        with pytest.raises(InputError, match=r"by=\['day'\]: holds 30 different dates.*month") as caught:
            study.evaluate(new.assign(day=written), by=["day"])
        assert "quarter" in str(caught.value)
    assert study.evaluate(new.assign(day=days.strftime("%Y-%m")), by=["day"]).groups


def test_the_page_says_that_the_panels_promise_does_not_hold_under_other_fees(study, tmp_path):
    assert study.team.panel is not None
    study.report(tmp_path / "page.html", terms=Terms(fees=0.1))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The panels were found under other fees or costs of errors in fit: their promise does not hold here." in page


def test_with_money_the_reason_compares_expected_costs(study):
    decisions = study.route(patients(30, prefix="q", seed=8), terms=Terms(fees=2, error_cost=300)).to_frame()
    assert not decisions["reason"].str.contains(">").any()
    for reason, route, cost in decisions[["reason", "route", "expected_cost"]].itertuples(index=False):
        start = f"ask {route}: " if route != "model" else "model: "
        assert reason.startswith(f"{start}{cost:.2f} expected, ")
    assert {"model"} < set(decisions["route"])
