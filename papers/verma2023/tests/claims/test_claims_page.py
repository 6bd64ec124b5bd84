"""The page of verdicts, and what stands on it: published numbers, best systems, runs, pictures."""

import csv
import math
from dataclasses import replace

import pytest
from claim_cases import (
    FIG1,
    P_IN,
    SEEDS,
    accuracies,
    alone,
    both,
    experts,
    merged,
    ours,
    run,
    runs,
)
from typer.testing import CliRunner

from defero.cli.main import app
from defero_verma2023 import reproduction
from defero_verma2023.claims import accuracy, calibration
from defero_verma2023.claims.best_systems import best_systems, systems_at
from defero_verma2023.claims.catalogue import CLAIMS, FROM_TWO, AllRecords, evidence_on, read_all_records, verdicts
from defero_verma2023.claims.cells import cells
from defero_verma2023.claims.judge import Evidence
from defero_verma2023.claims.verdict import CANNOT_DECIDE, CONFIRMED, NOT_RUN, Estimate
from defero_verma2023.experiments import EXPERIMENTS
from defero_verma2023.figures.catalogue import FIGURES
from defero_verma2023.figures.comparison import HEADER as COLUMNS
from defero_verma2023.figures.comparison import compare
from defero_verma2023.figures.published import (
    PUBLISHED,
    PublishedPoint,
    paper_folder,
    published_points,
    published_records,
    read_published,
)
from defero_verma2023.methods import BEST_EXPERT, ONE_CLASSIFIER
from defero_verma2023.page.markdown import table
from defero_verma2023.page.readme import Links, read_beside, readme_page
from defero_verma2023.page.runs import made_rows, missing_lines, total_minutes
from defero_verma2023.page.terms import TERMS
from defero_verma2023.page.verdict_rows import HEADER, NOT_RUN_HEADER, not_run_cells, verdict_cells
from defero_verma2023.runs.record import append_record, read_records


def point(**said):
    plain = {"figure": "fig1-ham10000", "method": "ova", "run": "", "x_name": "experts", "x": 10.0, "unit": "percent"}
    said = {"metric": "system_accuracy", "mean": 89.0, "standard_error": 1.0, "note": "", **said}
    return PublishedPoint(**{**plain, **said})


def test_published_numbers_are_judged_by_the_same_functions():
    points = [
        point(figure="fig2a", method=method, x=x, metric="ece", mean=mean)
        for method, mean in (("ova", 2.0), ("softmax", 4.5))
        for x in (4.0, 8.0)
    ]
    theirs = published_records(FIGURES.values(), points, experiment="sim1")
    found = calibration.softmax_s_error_is_about_double(Evidence((), (), theirs))
    assert found.published.mean == pytest.approx(2.25)
    assert (found.published_words, found.direction) == ("+2.25", NOT_RUN)


def test_a_published_number_has_the_name_of_ours_and_of_its_run():
    points = (
        point(figure="fig2b", run="naive", x=4.0, metric="votes.top_expert.system_accuracy", mean=88.0),
        point(figure="fig2b", x=8.0, note="listed, not drawn"),
        point(method=BEST_EXPERT),
    )
    (found,) = published_records(FIGURES.values(), points, experiment="sim1")
    name = "votes.top_expert.system_accuracy"
    assert found.measures == pytest.approx({name: 0.88, f"naive:{name}": 0.88, "system_accuracy": 0.88})
    assert cells([found], "ova", name, run="naive") == {(4.0, 0): pytest.approx(0.88)}
    (best,) = published_records(FIGURES.values(), points, experiment="ham10000")
    assert best.measures["best_expert"] == pytest.approx(0.89)
    oracles = published_records(FIGURES.values(), [point(figure="fig3a", x=1.0)], experiment="oracles")
    assert oracles[0].setting == 0.0


def test_the_list_runs_once_for_each_net():
    records = both("ece", 0.01, 0.04, settings=FROM_TWO)
    kept = AllRecords({"ham10000": (*records, *(replace(one, net="other") for one in records))})
    assert [one.place for one in evidence_on("ham10000", kept)] == [" (net)", " (other)"]
    assert [one.place for one in evidence_on("sim1", kept)] == [""]
    found = verdicts(kept)
    n_others = sum(len(claims) for name, claims in CLAIMS.items() if name != "ham10000")
    assert len(found) == n_others + 2 * len(CLAIMS["ham10000"])
    written = AllRecords({"ham10000": tuple(replace(one, protocol="as_written") for one in records)})
    assert [one.place for one in evidence_on("ham10000", written)] == [" (net, experts as written)"]


FIGURE = FIGURES["fig1-ham10000"]


def test_the_best_systems_are_compared_where_the_published_one_is():
    records = merged(
        runs("ova", "system_accuracy", lambda j: j / 12, settings=FROM_TWO),
        runs("ova", "calibrated.system_accuracy", lambda j: 0.9, settings=FROM_TWO),
        [run("moe", 2.0, 0, measures={"system_accuracy": 0.99})],  # one seed among three: not chosen
    )
    points = (point(mean=89.0), point(x=2.0, mean=91.0, method="moe"), point(method=BEST_EXPERT, mean=99.0))
    found = best_systems(FIGURE, records, points)
    assert (found.published.x, found.ours.metric, found.reached) == (2.0, "calibrated.system_accuracy", False)
    assert (found.n_reached, found.n_settings) == (1, 2)
    assert found.ours.accuracy.mean == pytest.approx(90.0)
    assert best_systems(FIGURE, records, (point(mean=89.0),)).reached is True
    assert best_systems(FIGURE, (), (point(mean=89.0),)).reached is None
    assert best_systems(FIGURE, records, ()).published is None


def test_what_stands_in_the_way_is_said_in_numbers():
    records = merged(accuracies(0.8, 0.8), experts(0.75), alone(0.78))
    points = (
        point(),
        point(method=ONE_CLASSIFIER, x=math.nan, mean=80.0),
        point(method=BEST_EXPERT, mean=79.5),
    )
    said = best_systems(FIGURE, records, points).obstacle
    assert said == "Our parts there: one classifier 78.0 % (published 80.0), best expert 75.0 % (published 79.5)."


def test_panels_are_told_from_one_decider():
    records = both("votes.any_correct_bayes.system_accuracy", 0.9, 0.8, settings=(2.0,))
    found = list(systems_at(records, 2.0))
    assert [one.is_panel for one in found] == [True, True]
    assert found[0].name == "ova, Bayes vote of the any-correct set"


def test_runs_and_what_is_missing_are_counted():
    made = [run("ova", 1.0, seed, machine={"gpu": "big"}, recipe={"first_step_seconds": 30.0}) for seed in SEEDS]
    shared = run(ONE_CLASSIFIER, 0.0, machine={"gpu": "big"})
    there = {"sim1": (*made, shared), "sim2": (shared, run("ova", 0.2, machine={"cores": 2}))}
    rows = list(made_rows(there))
    assert rows[0] == ("sim1", "net", "ova 3, one classifier 1", "1", "0, 1, 2", "4.0 + 1.5", "big")
    assert [row[-1] for row in rows] == ["big", "big", "CPU, 2 cores"]
    assert total_minutes(there, gpu=True) == pytest.approx(3 * 1.5 + 1.0)
    assert total_minutes(there, gpu=False) == pytest.approx(1.0)
    lines = dict(line.split(": ", 1) for line in missing_lines(there))
    assert "ova 15 of 18" in lines["sim1"]
    assert "one classifier 2 of 3" in lines["sim1"]
    written = tuple(replace(one, protocol="as_written") for one in made)
    assert "ova 18 of 18" in next(line for line in missing_lines({"sim1": written}) if line.startswith("sim1"))
    assert "hatespeech with text-cnn" in lines
    assert "decoupled" not in lines["hatespeech with text-cnn"]


@pytest.mark.parametrize(("experiment", "tuned"), [("sim1", False), ("oracles", True)])
def test_a_run_that_starts_otherwise_than_planned_leaves_the_planned_one_missing(experiment, tuned):
    planned, other = ("net, tuned", "net") if tuned else ("net", "net, tuned")
    setting = EXPERIMENTS[experiment].settings[0]

    def left(method, net):
        runs = (replace(run(method, setting), net=net),)
        return next(line for line in missing_lines({experiment: runs}) if line.startswith(f"{experiment}:"))

    n = 3 * len(EXPERIMENTS[experiment].settings)
    assert f"ova {n} of {n}" in left("ova", other)
    assert f"ova {n - 1} of {n}" in left("ova", planned)
    assert ("moe 5 of 6" if tuned else "moe 17 of 18") in left("moe", "net, tuned")


def test_the_page_has_a_row_for_each_verdict():
    kept = AllRecords({"ham10000": tuple(both("ece", 0.01, 0.04, settings=FROM_TWO))})
    page = readme_page(kept, (), Links("errata", "sets", (("fig", "fig.svg"),)))
    rows = verdicts(kept)
    judged, left = ([one for one in rows if (one.direction == NOT_RUN) == waits] for waits in (False, True))
    assert table(HEADER, map(verdict_cells, judged)) in page
    assert page.rstrip().endswith(table(NOT_RUN_HEADER, map(not_run_cells, left)))
    assert (len(judged), len(left)) == (1, len(rows) - 1)
    n_claims = len(rows)  # as no network is named yet, each has one verdict
    assert f"So far 1 of 11 figures have runs of ours, and 1 of {n_claims} claims" in " ".join(page.split())
    assert "[missed-share](./explanation/panels.md)" in page
    assert "![fig](fig.svg)" in page
    counts = f"1 confirmed, 0 contradicted, 0 inconclusive, 0 cannot be decided, {len(rows) - 1} not run yet"
    assert f"{len(rows)} verdicts on {n_claims} claims: {counts}." in " ".join(page.split())
    assert "{" not in page


def test_the_page_says_when_all_claims_are_judged():
    home = paper_folder()
    if home is None:
        pytest.skip("the runs come with the sources alone")
    kept = read_all_records(home)
    found = verdicts(kept)
    n = len(found) - sum("(text-cnn)" in one.where for one in found)  # HateSpeech's are judged with two networks
    page = " ".join(readme_page(kept, (), Links("errata", "sets", ())).split())
    assert f"All 11 figures have runs of ours, and all {n} claims a verdict." in page
    assert f"{len(found)} verdicts on {n} claims: " in page
    assert "; those on HateSpeech are judged with two networks." in page
    assert "without runs yet" not in page


def test_the_words_lead_to_pages_that_there_are():
    home = paper_folder()
    if home is None:
        pytest.skip("docs come with the sources alone")
    assert all((home.parents[1] / "docs" / page).exists() for _, page, _ in TERMS)


def test_the_share_beyond_the_floor_decides_nothing():
    """With ten experts who are right on 60 %, weights have an error of 50 points whatever they are."""
    measures = {"ece": 0.8, "expert_accuracy": [0.6] * 10}
    records = [run("moe", j, seed, measures=measures) for j in FROM_TWO for seed in SEEDS]
    verdict = calibration.the_objective_is_to_blame(ours(records), **FIG1)
    assert (verdict.ours.mean, verdict.direction, verdict.size) == (pytest.approx(100 * 0.3 / 0.8), CANNOT_DECIDE, "")
    assert "Of an error of 80.0 % at least 50.0 points" in verdict.why
    assert "38 % of it" in verdict.why
    assert "the figure cannot decide it" in verdict.why


def test_a_stable_error_of_another_level_is_told_and_not_judged():
    settings = (4.0, 8.0, 12.0, 16.0, 20.0)
    verdict = calibration.ova_s_error_is_stable(ours(both("ece", 0.2, 0.4, settings=settings)))
    assert verdict.direction == CONFIRMED
    assert "the level, 20.0 % here and about 2 % in the paper" in verdict.why


def test_the_setting_that_is_farthest_apart_is_named():
    found = accuracy.methods_are_comparable(
        ours(accuracies(0.9, lambda j: 0.86 if j == 7 else 0.9)), **FIG1, other="softmax"
    )
    assert found.direction == CONFIRMED
    assert "to +4.00 (at 7)" in found.why


def test_the_classifier_alone_has_the_net_of_the_system():
    records = runs("ova", "system_accuracy", 0.95, settings=FROM_TWO)
    beside = [replace(one, net="other") for one in alone(0.7)]
    found = best_systems(FIGURE, [*records, *beside, *alone(0.8)], (point(),))
    assert (found.classifier.net, found.classifier.accuracy.mean) == ("net", pytest.approx(80.0))
    for net in ("net, frozen", "net, tuned"):
        rests = [replace(one, net=net) for one in records]
        assert best_systems(FIGURE, [*rests, *alone(0.8)], (point(),)).classifier.accuracy.mean == pytest.approx(80.0)
    assert best_systems(FIGURE, records, (point(),)).classifier is None


def test_experts_as_written_do_not_stand_beside_published_numbers():
    records = runs("ova", "system_accuracy", 0.95, settings=FROM_TWO)
    kept = AllRecords({"ham10000": tuple(replace(one, protocol="as_written") for one in records)})
    page = readme_page(kept, (point(),), Links("errata", "sets", ()))
    (row,) = (line for line in page.splitlines() if line.startswith("| fig1-ham10000 |"))
    assert "not run there yet" in row


@pytest.mark.parametrize(
    ("value", "seeds", "said"),
    [
        (0.95, SEEDS, "yes;"),
        (0.8905, SEEDS, "yes on average; the interval reaches below it;"),
        (0.95, (0,), "yes, one seed;"),
        (0.8, SEEDS, "no;"),
    ],
)
def test_the_page_says_how_surely_a_published_system_is_reached(value, seeds, said):
    kept = AllRecords({"ham10000": tuple(runs("ova", "system_accuracy", value, settings=FROM_TWO, seeds=seeds))})
    page = readme_page(kept, (point(),), Links("errata", "sets", ()))
    (row,) = (line for line in page.splitlines() if line.startswith("| fig1-ham10000 |"))
    assert f"| {said} in {int(said != 'no;')} of 1 settings |" in row


def test_an_estimate_without_interval_shows_none():
    assert Estimate(1.0, math.nan, math.nan, 1, 1).words() == "+1.00, 1 seed"
    assert Estimate(-0.001, -1.0, 1.0, 2, 1).words(sign="") == "0.00 [-1.00, 1.00], 2 seeds"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of committed runs of the second simulation."""
    home = tmp_path / "papers" / "verma2023"
    monkeypatch.setattr(reproduction, "paper_folder", lambda: home)
    for record in both("ece", 0.01, 0.04, settings=P_IN):
        append_record(home / "results" / "sim2.jsonl", replace(record, experiment="sim2"))
    monkeypatch.setattr(reproduction, "draw", lambda *_, **__: ())
    return home


def test_the_command_writes_the_page(folder, tmp_path):
    outcome = CliRunner().invoke(app, ["reproduce", "all", "--out", str(folder / "figures")])
    assert outcome.exit_code == 0
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "(figures/fig2c.svg)" in page
    assert "(../../docs/explanation/errata.md)" in page
    assert "**confirmed**" in page
    assert CliRunner().invoke(app, ["reproduce", "all", "--out", str(tmp_path / "o")]).exit_code == 0
    elsewhere = (tmp_path / "o" / "README.md").read_text(encoding="utf-8")
    assert "(fig2c.svg)" in elsewhere
    assert "(../docs/explanation/errata.md)" in elsewhere
    assert CliRunner().invoke(app, ["reproduce", "fig2c", "--out", str(tmp_path / "one")]).exit_code == 0
    assert not (tmp_path / "one" / "README.md").exists()


def test_measures_of_stored_outputs_are_kept_as_records(tmp_path, monkeypatch):
    made = tuple(replace(one, experiment="sim2") for one in both("ece", 0.01, 0.04, settings=P_IN, seeds=(948,)))
    monkeypatch.setattr(reproduction, "stored_records", lambda folder, experiment: iter(made))
    monkeypatch.setattr(reproduction, "draw", lambda *_, **__: ())
    for _ in range(2):  # written anew, not appended to
        figures = [FIGURES["fig2c"], FIGURES["fig2d"]]
        list(reproduction.reproduce_stored(figures, folder=tmp_path, out=tmp_path, keep=tmp_path))
        assert len((tmp_path / "sim2.jsonl").read_text(encoding="utf-8").splitlines()) == len(made)
    assert [one.key for one in read_records(tmp_path / "sim2.jsonl")] == [one.key for one in made]


@pytest.mark.parametrize("name", FIGURES)
def test_the_kept_measures_are_those_of_the_stored_tables(name):
    home = paper_folder()
    if home is None:
        pytest.skip("papers/verma2023 comes with the sources alone")
    figure = FIGURES[name]
    stored = home / "figures" / "stored"
    records = read_records(stored / f"{figure.experiment_name}.jsonl")
    with (stored / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        _, *table_there = csv.reader(lines)
    rows = [row.cells() for row in compare(figure, records, published_points(name))]
    assert [row[:5] for row in rows] == [tuple(row[:5]) for row in table_there]
    place = COLUMNS.index("ours")
    numbers = [[float(row[place] or "nan") for row in some] for some in (rows, table_there)]
    assert numbers[0] == pytest.approx(numbers[1], abs=2e-4, nan_ok=True)


def test_the_committed_pictures_are_those_of_the_runs():
    home = paper_folder()
    if home is None:
        pytest.skip("papers/verma2023 comes with the sources alone")
    wanted = {path.name for path in reproduction.committed_pictures(home / "figures")}
    assert {path.name for path in (home / "figures").glob("*.svg")} == wanted


def test_the_committed_page_says_what_the_runs_say():
    home = paper_folder()
    if home is None or not (home / "README.md").is_file():
        pytest.skip("papers/verma2023/README.md comes with the sources alone")
    written = (home / "README.md").read_text(encoding="utf-8")
    links = Links(
        "../../docs/explanation/errata.md",
        "conformal.md",
        tuple((path.stem, f"figures/{path.name}") for path in reproduction.committed_pictures(home / "figures")),
    )
    page = readme_page(read_all_records(home), read_published(PUBLISHED), links, read_beside(home))
    assert written == page, "run `make pages`, or `defero reproduce all` where pictures change too"
