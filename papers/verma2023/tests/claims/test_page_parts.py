"""Parts of the page beside the claims: promises with intervals, the words of before, longer training."""

import json

import pytest
from claim_cases import ORACLES, both, merged, ours

from defero_verma2023.claims.catalogue import AllRecords, promises, read_all_records, verdicts
from defero_verma2023.claims.promises import NAIVE, REGULARIZED, promise_rows
from defero_verma2023.claims.verdict import CONFIRMED, CONTRADICTED, INCONCLUSIVE, Verdict
from defero_verma2023.figures.published import paper_folder
from defero_verma2023.page.changes import (
    TABLE,
    EarlierVerdict,
    change_rows,
    count_rows,
    direction_now,
    read_earlier,
)
from defero_verma2023.page.longer_ham import longer_ham_in_words, longer_ham_rows, read_longer_ham
from defero_verma2023.page.longer_training import SOURCE, longer_in_words, longer_rows, read_longer
from defero_verma2023.page.promises import promise_cells, promises_in_short
from defero_verma2023.page.readme import Links, read_beside, readme_page

MISSED, ALL_RIGHT = "sets.regularized_as_run.missed_share", "sets.naive_as_run.all_correct"


def share_at(setting):
    """Broken with one and two oracles, kept with more."""
    return 0.3 if setting < 2 else 0.1


def test_a_promise_is_kept_broken_or_open_setting_by_setting():
    records = merged(
        both(MISSED, share_at, 0.11, settings=ORACLES),
        both(ALL_RIGHT, 0.9, 0.89, settings=ORACLES, scatter=0.02),
    )
    rows = {(row.promise, row.loss): row for row in promise_rows(ours(records), settings=ORACLES)}
    assert len(rows) == 4
    broken = rows[REGULARIZED, "OvA"]
    assert broken.where(CONTRADICTED) == (0.0, 1.0)
    assert broken.where(CONFIRMED) == ORACLES[2:]
    assert (broken.is_broken, broken.is_kept) == (True, False)
    assert rows[REGULARIZED, "softmax"].is_kept
    wide = rows[NAIVE, "OvA"]
    assert (wide.where(INCONCLUSIVE), wide.is_broken, wide.is_kept) == (ORACLES, False, False)
    assert wide.missed[0].mean == pytest.approx(0.1)


def test_the_table_of_promises_counts_oracles_and_gives_intervals():
    kept = AllRecords({"oracles": tuple(both(MISSED, share_at, 0.1, settings=ORACLES))})
    rows = list(promises(kept))
    ova, softmax = promise_cells(rows)
    assert ova[:5] == ("Fig. 3a, oracles, OvA", REGULARIZED, "3, 4, 5, 6, 8, 10", "**1, 2**", "")
    assert ova[5].startswith("1: 0.30 [0.30, 0.30]; 2: 0.30")
    assert softmax[3] == ""
    assert promises_in_short(rows).endswith("regularized sets, OvA, Fig. 3a (2 of 8 settings).")
    assert "### Promises of the sets" in readme_page(kept, (), Links("errata", "sets", ()))


def verdict(claim, direction):
    return Verdict(claim, "Fig. 2a", "", None, None, None, direction, "")


def test_a_split_claim_is_counted_once_and_an_unchanged_word_has_no_row():
    earlier = (
        EarlierVerdict("one", "Fig. 2a", "confirmed", ("one",), ""),
        EarlierVerdict("two", "Fig. 2a", "depends", ("first", "second"), "Two claims."),
    )
    now = [verdict("one", CONFIRMED), verdict("first", CONFIRMED), verdict("second", CONFIRMED)]
    assert list(count_rows(earlier, now)) == [
        ("confirmed", "1", "1", "0", "0", "0"),
        ("depends", "1", "1", "0", "0", "0"),
        ("all, now", "3", "3", "0", "0", "0"),
    ]
    assert list(change_rows(earlier, now)) == [("first / second", "Fig. 2a", "depends", "confirmed", "Two claims.")]
    now[2] = verdict("second", INCONCLUSIVE)
    assert direction_now(earlier[1], now) == "confirmed and inconclusive"
    assert direction_now(earlier[1], []) == ""


def test_every_verdict_of_before_has_one_now_and_every_change_its_line():
    home = paper_folder()
    if home is None:
        pytest.skip("the runs come with the sources alone")
    earlier, now = read_earlier(home / TABLE), verdicts(read_all_records(home))
    assert len(earlier) == 59
    assert all(direction_now(one, now) for one in earlier)
    claims = {(claim, one.where) for one in earlier for claim in one.now}
    assert claims == {(one.claim, one.where) for one in now}
    assert all(row[-1].endswith(".") for row in change_rows(earlier, now))


def run(method, n_experts, epochs, seed, team, alone=0.9):
    return {
        "method": method,
        "n_experts": n_experts,
        "seed": seed,
        "settings": {"epochs": epochs},
        "class_accuracy": alone,
        "system_accuracy": team,
    }


def test_longer_training_is_compared_seed_by_seed(tmp_path):
    runs = [
        run(method, 4, epochs, seed, team)
        for epochs, seed, ova, softmax in ((18, 0, 0.90, 0.92), (18, 1, 0.91, 0.92), (72, 0, 0.94, 0.93))
        for method, team in (("ova", ova), ("softmax", softmax))
    ]
    runs += [run("ova", 4, 36, 0, 0.99), run("heads", 20, 18, 0, 0.99)]  # no softmax beside it
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in runs), encoding="utf-8")
    rows = list(longer_rows(read_longer(path)))
    assert [row[:4] for row in rows] == [
        ("4", "18", "90.00 / 90.50", "90.00 / 92.00"),
        ("4", "72", "90.00 / 94.00", "90.00 / 93.00"),
    ]
    assert rows[0][4].startswith("-1.50 [")
    assert rows[1][4] == "+1.00, 1 seed"
    assert "from -1.50 points after 18 epochs to +1.00 after 72 with 4 experts" in longer_in_words(runs)
    assert "less than half of it stays" in longer_in_words(runs)
    for epochs, ova in ((18, 0.90), (72, 0.91)):
        runs += [run("ova", 12, epochs, 0, ova), run("softmax", 12, epochs, 0, 0.92)]
    assert "less than half of it stays" in longer_in_words(runs)
    runs[-2]["system_accuracy"] = 0.905
    assert "at least half of it stays with 12 experts" in longer_in_words(runs)
    assert read_longer(tmp_path / "none.jsonl") == ()
    assert "yet" in longer_in_words(())


def test_who_is_ahead_after_the_longest_training_is_said_by_the_intervals():
    runs = [
        run(method, n_experts, epochs, seed, team + 0.001 * seed)
        for n_experts, epochs, gap in ((4, 18, 0.0), (4, 72, 0.02), (20, 18, 0.0), (20, 72, -0.02))
        for seed in (0, 1, 2)
        for method, team in (("ova", 0.9 + gap + 0.0001 * (seed == 1)), ("softmax", 0.9))
    ]
    said = longer_in_words(runs)
    assert "At our longest, OvA's team is ahead with 4 experts; softmax's team is ahead with 20 experts." in said
    runs += [run(method, n, epochs, 0, 0.9) for method in ("ova", "softmax") for n in (8, 12) for epochs in (18, 72)]
    assert "one seed leaves open who is ahead with 8 and 12 experts" in longer_in_words(runs)
    runs += [run("ova", 8, 72, 1, 0.92), run("softmax", 8, 72, 1, 0.9)]
    assert "the interval leaves open who is ahead with 8 experts" in longer_in_words(runs)


def test_ham_is_shown_where_it_has_several_lengths(tmp_path):
    runs = [
        run(method, n_experts, epochs, seed, team)
        for n_experts, epochs in ((2, 8), (3, 8), (2, 24))
        for seed in (0, 1)
        for method, team in (("ova", 0.8 + epochs / 1000), ("softmax", 0.8))
    ]
    runs += [run("moe", 2, 24, 0, 0.7), run("one classifier", 0, 24, 0, 0.85)]
    assert list(longer_ham_rows(runs)) == [
        ("2", "8", "90.00 / 80.80", "90.00 / 80.00", "", "+0.80 [+0.80, +0.80], 2 seeds", ""),
        (
            "2",
            "24",
            "90.00 / 82.40",
            "90.00 / 80.00",
            "90.00 / 70.00",
            "+2.40 [+2.40, +2.40], 2 seeds",
            "+12.40, 1 seed",
        ),
    ]
    assert "have 8 epochs; some were made with 24 as well" in longer_ham_in_words(runs)
    assert "One classifier reaches 90.00 % after 24 epochs." in longer_ham_in_words(runs)
    assert "yet" in longer_ham_in_words(())
    assert read_longer_ham(tmp_path) == ()


def test_the_page_reads_what_lies_beside_the_runs():
    home = paper_folder()
    if home is None:
        pytest.skip("the runs come with the sources alone")
    assert (home.parents[1] / SOURCE).is_file()
    beside = read_beside(home)
    assert beside.earlier
    assert beside.longer
