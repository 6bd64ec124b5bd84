"""The table of every method side by side: only where all were run, so that they meet the same answers."""

from claim_cases import both, merged, run, runs

from defero.papers.verma2023.page_methods import HEADER, method_rows


def rows_of(records, experiment="oracles"):
    return list(method_rows({experiment: tuple(records)}))


def test_means_are_over_what_all_methods_have_in_common():
    records = merged(
        both("system_accuracy", lambda x: 0.9 + x / 100, 0.8, settings=(0.0, 1.0, 4.0)),
        runs("two-stage", "system_accuracy", 0.95, settings=(0.0, 4.0), seeds=(0, 1)),
    )
    rows = rows_of(records)
    assert {row[1] for row in rows} == {"1, 5; 2 seeds"}
    # (0.9 + 0.94) / 2, and seeds 0 and 1 lie a thousandth below and at it
    assert [row[2:5] for row in rows[:3]] == [
        ("OvA", "net", "91.95 +- 0.05"),
        ("softmax", "net", "79.95 +- 0.05"),
        ("two-stage", "net", "94.95 +- 0.05"),
    ]


def test_one_classifier_stands_beside_every_setting_and_the_best_expert_below():
    records = [
        run("ova", 2.0, measures={"system_accuracy": 0.75, "ece": 0.01, "calibrated.ece": 0.005, "best_expert": 0.5}),
        run("one classifier", 0.0, measures={"system_accuracy": 0.7}),
    ]
    rows = rows_of(records, "ham10000")
    assert all(len(row) == len(HEADER) for row in rows)
    assert [row[1:] for row in rows] == [
        ("2; 1 seed", "OvA", "net", "75.00", "", "1.00", "0.50", "", ""),
        ("2; 1 seed", "one classifier", "net", "70.00", "", "", "", "", ""),
        ("2; 1 seed", "best expert", "", "50.00", "", "", "", "", ""),
    ]


def test_methods_that_share_no_run_have_no_row():
    records = [
        *runs("ova", "system_accuracy", 0.9, settings=(1.0,)),
        *runs("moe", "system_accuracy", 0.9, settings=(2,)),
    ]
    assert rows_of(records) == []
    assert list(method_rows({})) == []
