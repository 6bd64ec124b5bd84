"""The table of every method side by side: only where all were run, so that they meet the same answers."""

from claim_cases import both, merged, run, runs

from defero_verma2023.page.methods import HEADER, method_rows


def rows_of(records, experiment="oracles"):
    return list(method_rows({experiment: tuple(records)}))


def test_means_are_over_what_all_methods_have_in_common():
    records = merged(
        both("system_accuracy", lambda x: 0.9 + x / 100, 0.8, settings=(0.0, 1.0, 4.0)),
        runs("two-stage", "system_accuracy", 0.95, settings=(0.0, 4.0), seeds=(0, 1)),
    )
    rows = rows_of(records)[3:]
    assert {row[1] for row in rows} == {"1, 5; 2 seeds"}
    # (0.9 + 0.94) / 2, and seeds 0 and 1 lie a thousandth below and at it
    assert [row[2:5] for row in rows[:3]] == [
        ("OvA", "net", "91.95 +- 0.05"),
        ("softmax", "net", "79.95 +- 0.05"),
        ("two-stage", "net", "**94.95 +- 0.05**"),
    ]


def test_methods_with_more_seeds_come_before_by_themselves_at_the_same_settings():
    records = merged(
        both("system_accuracy", lambda x: 0.9 + x / 100, 0.8, settings=(0.0, 1.0, 4.0)),
        runs("two-stage", "system_accuracy", 0.95, settings=(0.0, 4.0), seeds=(0, 1)),
    )
    assert [row[1:5] for row in rows_of(records)[:3]] == [
        ("1, 5; 3 seeds", "OvA", "net", "**92.00 +- 0.06**"),
        ("1, 5; 3 seeds", "softmax", "net", "80.00 +- 0.06"),
        ("1, 5; 3 seeds", "best expert", "", ""),
    ]
    alone = merged(
        runs("ova", "system_accuracy", 0.9, settings=(0.0,)),
        runs("two-stage", "system_accuracy", 0.95, settings=(0.0,), seeds=(0, 1)),
    )
    assert {row[1] for row in rows_of(alone)} == {"1; 2 seeds"}, "one method alone is compared with nothing"
    apart = merged(
        runs("ova", "system_accuracy", 0.9, settings=(0.0,), seeds=(0, 1)),
        runs("softmax", "system_accuracy", 0.9, settings=(0.0,), seeds=(0, 2)),
        runs("two-stage", "system_accuracy", 0.95, settings=(0.0,), seeds=(0,)),
    )
    assert {row[1] for row in rows_of(apart)} == {"1; 1 seed"}, "they share no more than all do"


def test_bold_is_the_least_error_and_the_most_accuracy_and_ties_are_bold_together():
    records = [
        run("ova", 1.0, measures={"system_accuracy": 0.9, "ece": 0.02, "coverage": 0.5}),
        run("softmax", 1.0, measures={"system_accuracy": 0.900001, "ece": 0.03, "coverage": 0.6}),
        run("moe", 1.0, measures={"system_accuracy": 0.8, "ece": 0.4, "coverage": 0.7}),
    ]
    columns = [HEADER.index(name) for name in ("accuracy, %", "ECE, %", "coverage, %")]
    assert [tuple(row[column] for column in columns) for row in rows_of(records)[:3]] == [
        ("**90.00**", "**2.00**", "50.00"),
        ("**90.00**", "3.00", "60.00"),
        ("80.00", "40.00", "70.00"),
    ]


def test_more_is_better_but_for_errors_and_neither_for_coverage_and_sizes():
    columns = {
        "system_accuracy": ("accuracy, %", "more"),
        "class_accuracy": ("the model alone, %", "more"),
        "coverage": ("coverage, %", None),
        "ece": ("ECE, %", "less"),
        "calibrated.system_accuracy": ("calibrated: accuracy", "more"),
        "calibrated.coverage": ("calibrated: coverage", None),
        "calibrated.ece": ("calibrated: ECE", "less"),
        "sets.missed_share.size": ("experts in the set", None),
        "votes.missed_share_bayes.system_accuracy": ("panel, %", "more"),
    }
    more, less = (
        dict(zip(HEADER, row, strict=True))
        for row in rows_of(
            [
                run("ova", 1.0, measures=dict.fromkeys(columns, 0.6)),
                run("softmax", 1.0, measures=dict.fromkeys(columns, 0.4)),
            ]
        )[:2]
    )
    for name, best in columns.values():
        assert (more[name].startswith("**"), less[name].startswith("**")) == (best == "more", best == "less"), name


def test_one_classifier_stands_beside_every_setting_and_the_best_expert_below():
    records = [
        run("ova", 2.0, measures={"system_accuracy": 0.75, "best_expert": 0.5}),
        run("one classifier", 0.0, measures={"system_accuracy": 0.7, "class_accuracy": 0.7}),
    ]
    rows = rows_of(records, "ham10000")
    assert all(len(row) == len(HEADER) for row in rows)
    assert [row[2:6] for row in rows] == [
        ("OvA", "net", "**75.00**", ""),
        ("one classifier", "net", "70.00", "70.00"),
        ("best expert", "", "50.00", ""),
    ]
    assert {row[:2] for row in rows} == {("ham10000 (fig1-ham10000)", "2; 1 seed")}


def test_every_measure_has_its_column_and_every_method_its_net():
    measures = {
        "system_accuracy": 0.9,
        "class_accuracy": 0.85,
        "coverage": 0.8,
        "ece": 0.07,
        "calibrated.system_accuracy": 0.95,
        "calibrated.coverage": 0.6,
        "calibrated.ece": 0.02,
        "sets.missed_share.size": 4.0,
        "votes.missed_share_bayes.system_accuracy": 0.99,
    }
    records = [
        run("ova", 1.0, net="a net", measures=measures),
        run("moe", 1.0, net="a net, tuned", measures={"system_accuracy": 0.5}),
        run("ova", 1.0, net="a net", protocol="as_written", measures={"system_accuracy": 0.1}),
    ]
    ova, moe, _ = rows_of(records)
    assert dict(zip(HEADER, ova, strict=True)) == {
        "experiment": "oracles (fig3a, fig3c)",
        "settings; seeds": "2; 1 seed",
        "method": "OvA",
        "net": "a net",
        "accuracy, %": "**90.00**",
        "the model alone, %": "85.00",
        "coverage, %": "80.00",
        "ECE, %": "7.00",
        "calibrated: accuracy": "95.00",
        "calibrated: coverage": "60.00",
        "calibrated: ECE": "2.00",
        "experts in the set": "4.00",
        "panel, %": "99.00",
    }
    assert moe[3] == "a net, tuned"


def test_a_run_without_sets_is_left_out_of_them_for_all():
    """A method that defers next to nothing has no sets there; the others are then judged elsewhere too."""
    size = "sets.missed_share.size"
    records = merged(
        both("system_accuracy", 0.9, 0.9, settings=(0.0, 4.0), seeds=(0,)),
        runs("ova", size, lambda x: 1.001 + x, settings=(0.0, 4.0), seeds=(0,)),
        runs("softmax", size, 5.001, settings=(4.0,), seeds=(0,)),
    )
    shown = [row[HEADER.index("experts in the set")] for row in rows_of(records)[:2]]
    assert shown == ["5.00 (1 setting)", "5.00 (1 setting)"]


def test_methods_that_share_no_run_have_no_row():
    records = [
        *runs("ova", "system_accuracy", 0.9, settings=(1.0,)),
        *runs("moe", "system_accuracy", 0.9, settings=(2,)),
    ]
    assert rows_of(records) == []
    assert list(method_rows({})) == []
