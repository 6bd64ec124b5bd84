"""From records to numbers and pictures: means over seeds, the published points beside them. No stored data needed."""

import math

import numpy as np
import pytest

from defero import InputError
from defero_verma2023.figures.catalogue import FIGURES, figures_by_name
from defero_verma2023.figures.comparison import compare
from defero_verma2023.figures.curves import Point, points_of, published_curve, value_of
from defero_verma2023.figures.pictures import (
    LOOKS,
    nets_in_words,
    note_in_words,
    seeds_in_words,
    with_gaps,
)
from defero_verma2023.figures.published import PublishedPoint, published_points, read_published
from defero_verma2023.measures.measure import measure
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.methods import BEST_EXPERT, ONE_CLASSIFIER
from defero_verma2023.reproduction import reproduce_records
from defero_verma2023.runs.record import RunRecord, by_net
from defero_verma2023.stored.outputs import published_measures
from defero_verma2023.stored.records import weight_figures


def record(method="ova", setting=2.0, seed=0, *, experiment="ham10000", net="net", protocol="as_published", **measures):
    return RunRecord(experiment, method, setting, seed, protocol, net, measures, 0.0)


def point(**said):
    plain = {"figure": "fig1-ham10000", "method": "ova", "run": "", "x_name": "experts", "x": 2.0, "metric": "ece"}
    return PublishedPoint(**{**plain, "mean": 30.0, "standard_error": 1.0, "unit": "percent", "note": "", **said})


def test_points_are_means_with_standard_errors_over_seeds():
    runs = [record(seed=seed, ece=value) for seed, value in enumerate((0.1, 0.2, 0.6))]
    (found,) = points_of(FIGURES["fig1-ham10000"], runs, method="ova", metric="ece")
    assert (found.x, found.n_seeds) == (2.0, 3)
    assert found.mean == pytest.approx(0.3)
    assert found.standard_error == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / math.sqrt(3))
    (alone,) = points_of(FIGURES["fig1-ham10000"], runs[:1], method="ova", metric="ece")
    assert math.isnan(alone.standard_error)


def test_oracles_are_counted_from_one_and_other_settings_are_left_out():
    runs = [record(experiment="oracles", setting=k, ece=0.1) for k in (9.0, 0.0, 6.0)]
    assert [one.x for one in points_of(FIGURES["fig3a"], runs, method="ova", metric="ece")] == [1.0, 10.0]


def test_the_best_expert_is_counted_once_for_a_seed():
    runs = [record(method, best_expert=0.8) for method in ("ova", "softmax")] + [record(seed=1, best_expert=0.6)]
    (found,) = points_of(FIGURES["fig1-ham10000"], runs, method=BEST_EXPERT, metric="best_expert")
    assert (found.n_seeds, found.mean) == (2, pytest.approx(0.7))


def test_one_classifier_has_no_place_on_the_axis():
    runs = [record(ONE_CLASSIFIER, 0.0, seed, system_accuracy=0.8) for seed in (0, 1)]
    (found,) = points_of(FIGURES["fig1-ham10000"], runs, method=ONE_CLASSIFIER, metric="system_accuracy")
    assert math.isnan(found.x)
    rows = compare(
        FIGURES["fig1-ham10000"],
        runs,
        [point(method=ONE_CLASSIFIER, x=math.nan, metric="system_accuracy", mean=79.0)],
    )
    assert [(row.method, row.ours, row.n_seeds) for row in rows] == [(ONE_CLASSIFIER, 80.0, 2)]
    assert rows[0].difference == pytest.approx(1.0)


def test_a_nan_is_no_value():
    assert points_of(FIGURES["fig1-ham10000"], [record(ece=math.nan)], method="ova", metric="ece") == ()
    assert math.isnan(value_of({"ece_by_expert": []}, "ece_by_expert.0"))


def test_a_number_is_compared_with_what_was_published_for_the_same_runs():
    stored = RunRecord(
        "ham10000", "ova", 2.0, 0, "as_published", "net", {"ece": 0.25}, 0.0, recipe={"published": {"ece": 0.2}}
    )
    (row,) = (row for row in compare(FIGURES["fig1-ham10000"], [stored], [point()]) if row.metric == "ece")
    assert (row.published, row.same_seeds, row.ours) == (30.0, 20.0, 25.0)
    assert row.difference == pytest.approx(5.0)
    (ours,) = (row for row in compare(FIGURES["fig1-ham10000"], [record(ece=0.25)], [point()]) if row.metric == "ece")
    assert math.isnan(ours.same_seeds)
    assert ours.difference == pytest.approx(-5.0)
    assert ours.cells()[6:] == ("30.0000", "1.0000", "", "25.0000", "", "1", "-5.0000")


def test_a_number_without_a_published_one_is_told_as_well():
    rows = compare(FIGURES["fig1-ham10000"], [record("two-stage", **{"calibrated.ece": 0.5})], [])
    assert [(row.method, row.metric, row.ours) for row in rows] == [("two-stage", "calibrated.ece", 50.0)]
    assert math.isnan(rows[0].difference)


def test_published_points_that_are_not_drawn_stay_away():
    series = FIGURES["fig3b"].panels[0].series[0]
    drawn = point(figure="fig3b", run="naive", metric=series.published, x=2.0)
    other = point(figure="fig3b", run="naive", metric=series.published, x=1.0, note="in the result files, not drawn")
    another = point(figure="fig3b", run="regularized", metric=series.published)
    assert published_curve(series, [drawn, other, another]) == (drawn,)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_reads_measures_that_there_are(name):
    figure = FIGURES[name]
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=200)
    outputs = TeamOutputs(
        "ova", rng.normal(size=(200, 3)), rng.normal(size=(200, 2)), labels[:, None] + [[0, 0]], labels
    )
    known = measure(outputs, calibration=outputs)
    assert figure.claim.endswith(".")
    for series in figure.series:
        assert series.method in LOOKS
        assert not math.isnan(value_of(known, series.metric)), series
    drawn = {
        (one.method, one.metric, one.run) for one in published_points(name) if one.drawn and one.method != BEST_EXPERT
    }
    shown = {(one.method, one.published, one.run) for one in figure.series if one.published}
    assert {(method, metric) for method, metric, _ in drawn} <= {(method, metric) for method, metric, _ in shown}
    assert {one.x for one in published_points(name) if not math.isnan(one.x)} <= {
        setting + figure.first_x for setting in figure.experiment.settings
    }


def test_a_typing_error_is_met_with_a_guess():
    with pytest.raises(InputError, match=r"there is no figure 'fig2e'; did you mean fig2\w"):
        figures_by_name("fig2e")
    with pytest.raises(InputError, match="did you mean fig1-hatespeech"):
        figures_by_name("hatespeech")
    with pytest.raises(InputError, match=r"there are fig1-hatespeech, .*, and all"):
        figures_by_name("quux")


def test_each_net_of_ova_has_a_picture_and_what_is_learned_of_its_features_joins():
    cnn = [record("ova", net="cnn"), record("softmax", net="cnn"), record("two-stage", net="cnn, frozen")]
    again = record("softmax", net="cnn, frozen")
    tfidf = [record("ova", net="tfidf"), record("softmax", net="tfidf"), record("two-stage", net="tfidf")]
    groups = by_net([*cnn, *tfidf, again])
    assert groups == {"cnn": tuple(cnn), "tfidf": tuple(tfidf)}
    tuned = [record("ova", net="cnn, tuned"), record("one classifier", net="cnn"), cnn[2]]
    assert by_net(tuned) == {"cnn, tuned": tuple(tuned)}
    assert by_net(tfidf[2:]) == {"": (tfidf[2],)}
    assert by_net([]) == {}


def test_nets_are_told_where_they_differ():
    assert nets_in_words([record(), record("softmax")]) == " Net: net."
    unlike = [record(), record("softmax"), record("moe", net="frozen"), record("two-stage", net="frozen")]
    assert nets_in_words(unlike) == " Nets: net (OvA, softmax); frozen (mixture of experts, two-stage)."


def test_a_setting_that_was_not_run_leaves_a_gap():
    def found(figure, *places, method="ova"):
        points = with_gaps(FIGURES[figure], method, [Point(x, 0.1, math.nan, 1) for x in places])
        return [(point.x, math.isnan(point.mean)) for point in points]

    assert found("fig1-ham10000", 2.0, 4.0) == [(2.0, False), (3.0, True), (4.0, False)]
    assert found("fig1-ham10000", 2.0, 3.0) == [(2.0, False), (3.0, False)]
    assert found("fig3a", 1.0, 5.0)[1:4] == [(2.0, True), (3.0, True), (4.0, True)]
    # The other methods have few settings by plan: what is not planned is not missing.
    assert found("fig3a", 1.0, 5.0, method="moe") == [(1.0, False), (5.0, False)]
    assert found("fig3a") == []


@pytest.mark.parametrize("name", FIGURES)
def test_reproduction_and_additions_have_panels_of_their_own(name):
    """What has published points shares no panel with methods or measures that the paper does not have."""
    for panel in FIGURES[name].panels:
        published = [one for one in panel.series if one.published]
        others = [one for one in panel.series if not one.published]
        assert panel.title.startswith("added") != ("the paper" in panel.title), panel.title
        if published:
            assert not panel.title.startswith("added")
            assert all(one.method == ONE_CLASSIFIER for one in others)


@pytest.mark.parametrize("name", ["fig3a", "fig3b", "overlap"])
def test_sizes_of_sets_come_with_what_they_leave_out_and_what_was_promised(name):
    shares = [panel for panel in FIGURES[name].panels if panel.reference is not None]
    assert [panel.reference[0] for panel in shares] == [10.0, 10.0]
    metrics = {series.metric for panel in shares for series in panel.series}
    assert {"sets.regularized_as_run.missed_share", "sets.naive_as_run.missed_share"} < metrics


def test_seeds_are_counted():
    assert seeds_in_words([record(), record("softmax")]) == "1 seed"
    two = [record(seed=0), record(seed=1)]
    assert seeds_in_words(two) == "2 seeds"
    assert seeds_in_words([*two, record("moe")]) == "2 seeds (OvA), 1 seed (mixture of experts)"
    assert seeds_in_words([*two, record(setting=3.0)]) == "1 to 2 seeds"


def test_the_note_speaks_of_what_is_drawn_alone():
    def note(records):
        return note_in_words(FIGURES["fig2c"], records, [], source="ours")

    there = [record(), record("softmax"), record("one classifier", net="alone")]
    assert note(there) == "filled: ours, 1 seed. Bars: standard errors over seeds. Net: net."
    there += [record("two-stage", seed=seed, net="net, frozen") for seed in (0, 1, 2)]
    assert "ours, 1 seed (OvA, softmax), 3 seeds (two-stage)." in note(there)
    assert "One seed has none, and is provisional." in note(there)


def test_each_protocol_has_its_table_and_pictures(tmp_path):
    runs = [
        record(experiment="sim2", setting=x, protocol=p, ece=x)
        for x in (0.2, 0.4)
        for p in ("as_published", "as_written")
    ]
    made = list(reproduce_records(FIGURES["fig2c"], runs, out=tmp_path / "new", source="trained"))
    assert [path.name for one in made for path in one.files] == [
        f"fig2c{protocol}.{ending}" for protocol in ("", "_as_written") for ending in ("csv", "svg", "png")
    ]
    assert all(path.is_file() for one in made for path in one.files)
    marked = ["experts as written" in one.files[1].read_text(encoding="utf-8") for one in made]
    assert marked == [False, True]


def test_a_published_number_that_is_none_is_named(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(
        "figure,method,run,x_name,x,metric,mean,standard_error,unit,note\nfig2a,ova,,experts,1,ece,?,,percent,\n"
    )
    with pytest.raises(InputError, match=r"line 2 is no published number: ValueError"):
        read_published(path)


def test_what_was_published_of_a_run_has_our_names():
    raw = {
        "published_eval": {"coverage": "8460 out of9216", "system_accuracy": 87.5, "alone_classifier": 86.0},
        "published_conformal": {
            "naive": {
                "system_accuracy": {"standard": 0.8, "voting": 0.7, "ensemble": 0.6, "last": 0.1},
                "avg_set_size": {"voting": 9.5},
                "coverage_test": 0.9,
            }
        },
    }
    assert published_measures(raw) == {
        "coverage": 8460 / 9216,
        "system_accuracy": 0.875,
        "class_accuracy": 0.86,
        "naive:sets.naive_as_run.size": 9.5,
        "naive:coverage": 0.9,
        "naive:votes.naive_as_run.system_accuracy": 0.7,
        "naive:votes.top_expert.system_accuracy": 0.8,
        "naive:votes.top5.system_accuracy": 0.6,
    }
    assert published_measures({}) == {}


def test_weights_are_taken_for_probabilities():
    weights = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2]])
    found = weight_figures(weights, np.array([[1, 0], [1, 0], [1, 0]]), np.array([1, 0, 0]))
    assert found["coverage"] == pytest.approx(1 / 3)
    assert (found["expert_accuracy"], found["best_expert"]) == ([1 / 3, 2 / 3], 2 / 3)
    gaps = [(0.5 + 0.1 + 0.2) / 3, (0.25 + 0.9 + 0.4) / 3]
    np.testing.assert_allclose(found["ece_by_expert"], gaps)
    assert found["ece"] == pytest.approx(np.mean(gaps))
    assert "system_accuracy" not in found
