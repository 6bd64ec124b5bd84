"""Pools on the command line: fit --scores, evaluate, report, route, and what they refuse."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from defero.cli.main import app

RUN = CliRunner()
MEMBERS = ["small", "large", "odd"]


def write_table(path, n=400, seed=0):
    rng = np.random.default_rng(seed)
    task = rng.choice(["maths", "poems"], n)
    right = {"small": np.where(task == "maths", 0.8, 0.3), "large": 0.85, "odd": np.where(task == "maths", 0.2, 0.95)}
    table = pd.DataFrame({"id": np.arange(n) + seed * 10_000, "task": task, "length": rng.uniform(5, 10_000, n)})
    for name in MEMBERS:
        table[name] = (rng.random(n) < right[name]).astype(int)
    table["large_price"] = table["length"] * 0.01
    table.loc[rng.random(n) < 0.1, "small"] = np.nan
    table.to_csv(path, index=False)
    return table


def call(*arguments, code=0):
    result = RUN.invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pool")
    write_table(folder / "past.csv")
    write_table(folder / "new.csv", n=200, seed=1)
    fees = ["--fee", "large=@large_price", "--fee", "all=1"]
    fitted = call(
        "fit", folder / "past.csv", "--scores", "--experts", ",".join(MEMBERS), "--key", "id", *fees,
        "--out", folder / "pool", "--json",
    )  # fmt: skip
    return folder, json.loads(fitted.stdout)


def test_fit_tells_quality_cost_and_area(pool):
    values = pool[1]
    record = values["test"]["pool"]
    assert values["rows"]["train"] + values["rows"]["test"] == 400
    assert 0.7 < record["quality"] <= 1
    assert record["cost"] > 0
    assert record["area"] > 0
    assert abs(values["test"]["promised"] - values["test"]["kept"]) < 0.12


def test_evaluate_leaves_out_rows_of_fit(pool):
    folder, _ = pool
    new = json.loads(call("evaluate", folder / "pool", folder / "new.csv", "--json").stdout)
    assert (new["rows"], new["seen_by_fit"]) == (200, 0)
    assert set(new["test"]["pool"]) >= {"quality", "cost", "area", "frontier", "members"}
    old = json.loads(call("evaluate", folder / "pool", folder / "past.csv", "--json").stdout)
    assert old["seen_by_fit"] == pool[1]["rows"]["train"]
    cheap = json.loads(call("evaluate", folder / "pool", folder / "new.csv", "--json", "--error-cost", "0.01").stdout)
    assert cheap["test"]["pool"]["cost"] < new["test"]["pool"]["cost"]
    assert "promised" in call("evaluate", folder / "pool", folder / "new.csv").stdout


def test_route_writes_decisions_with_prices_of_each_case(pool, tmp_path):
    folder, _ = pool
    out = tmp_path / "decisions.csv"
    call("route", folder / "pool", folder / "new.csv", "--out", out, "--error-cost", "20")
    decisions, new = pd.read_csv(out), pd.read_csv(folder / "new.csv")
    assert decisions["case"].tolist() == new["id"].tolist()
    large = decisions["route"] == "large"
    np.testing.assert_allclose(decisions["fee"][large], new["large_price"][large])
    assert {"p_small", "p_large", "p_odd", "reason"} <= set(decisions)
    total = json.loads(
        call("route", folder / "pool", folder / "new.csv", "--out", out, "--budget", "400", "--json").stdout
    )
    assert total["price"] <= 400
    floor = call("route", folder / "pool", folder / "new.csv", "--out", out, "--quality-floor", "0.75")
    assert "small" in floor.stdout
    limited = call("route", folder / "pool", folder / "new.csv", "--out", out, "--capacity", "odd=7", "--json")
    assert json.loads(limited.stdout)["load"]["odd"] == 7
    call("route", folder / "pool", folder / "new.csv", "--out", out, "--absent", "odd")
    assert "odd" not in set(pd.read_csv(out)["route"])


@pytest.mark.parametrize("limit", ["--budget", "--quality-floor"])
def test_the_worth_of_quality_and_a_limit_are_two_rules(pool, tmp_path, limit):
    folder, _ = pool
    message = refused(
        "route", folder / "pool", folder / "new.csv", "--out", tmp_path / "d.csv", "--error-cost", "20", limit, "0.9"
    )
    assert "--error-cost" in message
    assert limit in message
    assert not (tmp_path / "d.csv").exists()


def test_prices_that_new_prompts_do_not_have_are_expected(pool, tmp_path):
    folder, _ = pool
    pd.read_csv(folder / "new.csv")[["id", "task", "length"]].to_csv(tmp_path / "bare.csv", index=False)
    result = call("route", folder / "pool", tmp_path / "bare.csv", "--out", tmp_path / "d.csv", "--error-cost", "20")
    assert "expected prices" in result.output
    assert pd.read_csv(tmp_path / "d.csv")["fee"].notna().all()


def test_the_page_shows_the_frontier_and_who_gets_what(pool, tmp_path):
    folder, _ = pool
    call("report", folder / "pool", folder / "new.csv", "--out", tmp_path / "pool.html")
    page = (tmp_path / "pool.html").read_text()
    for words in ("zero router", "oracle", "poems", "promised", "best single member", "<svg"):
        assert words in page
    assert "<script" not in page


def test_an_error_cost_shows_the_net_value(pool, tmp_path):
    folder, _ = pool
    judge = ["evaluate", folder / "pool", folder / "new.csv"]
    shown = call(*judge, "--error-cost", "20").stdout
    record = json.loads(call(*judge, "--error-cost", "20", "--json").stdout)["test"]
    way, best = record["pool"], record["ways"]["best_single"]
    assert way["net_value"] == pytest.approx(20 * way["quality"] - way["cost"], abs=1e-4)
    gain = way["net_value"] - (20 * best["quality"] - best["cost"])
    assert way["net_gain"]["difference"] == pytest.approx(gain, abs=1e-4)
    assert way["net_gain"]["low"] < way["net_gain"]["difference"] < way["net_gain"]["high"]
    assert "net value\n" in shown
    assert "20.0 times the score, minus the price" in shown
    call("report", folder / "pool", folder / "new.csv", "--error-cost", "20", "--out", tmp_path / "net.html")
    assert "net value" in (tmp_path / "net.html").read_text()


def test_without_an_error_cost_it_says_what_is_missing(pool, tmp_path):
    folder, _ = pool
    told = call("evaluate", folder / "pool", folder / "new.csv")
    assert "net value" not in told.stdout
    assert "no net value: pass --error-cost" in told.stderr
    values = json.loads(call("evaluate", folder / "pool", folder / "new.csv", "--json").stdout)
    assert values["test"]["pool"]["net_value"] is None


def test_a_value_that_means_none_is_blank_for_pools_too(pool, tmp_path):
    folder, _ = pool
    past = pd.read_csv(folder / "past.csv").astype({"length": object, "small": object})
    past.loc[past.index[4:12], "length"] = None
    past.to_csv(tmp_path / "meant.csv", index=False)
    past.fillna({"length": "n/a", "small": "n/a"}).to_csv(tmp_path / "past.csv", index=False)
    fit = ["--scores", "--experts", ",".join(MEMBERS), "--key", "id", "--features", "task,length", "--out"]
    first = json.loads(call("fit", tmp_path / "past.csv", *fit, tmp_path / "a", "--blank", "n/a", "--json").stdout)
    second = json.loads(call("fit", tmp_path / "meant.csv", *fit, tmp_path / "b", "--json").stdout)
    assert first["test"] == second["test"]
    for name in ("past", "meant"):
        call("route", tmp_path / "a", tmp_path / f"{name}.csv", "--out", tmp_path / f"{name}_decisions.csv")
    assert (tmp_path / "past_decisions.csv").read_text() == (tmp_path / "meant_decisions.csv").read_text()
    judged = [call("evaluate", tmp_path / "a", tmp_path / f"{name}.csv", "--json").stdout for name in ("past", "meant")]
    assert json.loads(judged[0])["test"] == json.loads(judged[1])["test"]


def refused(*arguments):
    from defero.core.errors import InputError

    result = RUN.invoke(app, [str(one) for one in arguments])
    assert isinstance(result.exception, InputError), (result.output, result.exception)
    from defero.cli.options import spelling

    return result.exception.message(spelling(str(arguments[0])))


@pytest.mark.parametrize(
    ("cells", "words"),
    [(["2", "0"], "'2' is no score"), (["yes", "0"], "'yes' is no score"), (["-1", "0"], "'-1' is no score")],
)
def test_scores_outside_their_range_name_row_and_column(tmp_path, cells, words):
    pd.DataFrame({"x": [1.5, 2.5, 3], "a": [*cells, "1"], "b": [1, 0, 1]}).to_csv(tmp_path / "t.csv", index=False)
    message = refused("fit", tmp_path / "t.csv", "--scores", "--experts", "a,b", "--out", tmp_path / "m")
    assert f"column a: {words}; a score is a number from 0 to 1" in message
    assert "row 2" in message


def test_all_bad_scores_and_prices_are_named_at_once(tmp_path):
    table = pd.DataFrame({"x": range(4), "a": ["right", "rigth", "wrong", ""], "b": ["n/a", "Wrong", "1", "n/a"]})
    table.assign(price=["1", "0,5", "-1", "2"]).to_csv(tmp_path / "t.csv", index=False)
    options = ["--scores", "--experts", "a,b", "--fee", "a=@price", "--fee", "b=1", "--out", tmp_path / "m"]
    message = refused("fit", tmp_path / "t.csv", *options)
    for fact in ("3 bad cells in 3 rows", "column a: 'rigth'", "first in row 3", "column b: 'n/a' (2 cells)"):
        assert fact in message
    table.assign(a=1, b=[1, 0, 1, 1], price=["1", "0,5", "-1", "2"]).to_csv(tmp_path / "t.csv", index=False)
    message = refused("fit", tmp_path / "t.csv", *options)
    assert "2 bad cells" in message
    assert "'0,5', '-1' is not a price" in message
    assert "--bad-rows" not in message  # fit has no such option


def test_right_and_wrong_are_scores(tmp_path):
    table = write_table(tmp_path / "past.csv", n=60)
    options = ["--scores", "--experts", ",".join(MEMBERS), "--key", "id", "--features", "task,length", "--json"]
    table[MEMBERS] = table[MEMBERS].replace({1: "Right", 0: "wrong"})
    table.to_csv(tmp_path / "words.csv", index=False)
    by_number, by_word = (
        json.loads(call("fit", tmp_path / f"{name}.csv", *options, "--out", tmp_path / name).stdout)["test"]
        for name in ("past", "words")
    )
    assert by_number == by_word


def test_a_typo_in_a_member_s_name_is_told_as_one(pool, tmp_path):
    options = ["--scores", "--experts", "smal,large,odd", "--fee", "small=1", "--fee", "all=2", "--out", tmp_path / "m"]
    message = refused("fit", pool[0] / "past.csv", *options)
    assert "no column 'smal'" in message
    assert "did you mean 'small'" in message


def test_prices_without_the_worth_of_quality_do_not_count_and_fit_says_so(pool):
    assert any("Pass --error-cost" in note for note in pool[1]["notes"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fee", "small=-1", "--fee", "all=1"], "must not be negative"),
        (["--fee", "small=1"], "no price for large, odd"),
        (["--fee", "smal=1", "--fee", "all=1"], "did you mean 'small'"),
        (["--fee", "small=@nowhere", "--fee", "all=1"], "nowhere"),
        (["--label", "task"], "--label"),
        (["--net", "forest"], "--net"),
        (["--test-share", "2"], "--test-share"),
        (["--error-cost", "5"], "--error-cost is weighed against what a call costs; name the prices with --fee"),
    ],
)
def test_fit_refuses_in_one_sentence(pool, tmp_path, options, words):
    table = pool[0] / "past.csv"
    message = refused("fit", table, "--scores", "--experts", "small,large,odd", "--out", tmp_path / "m", *options)
    assert words in message
    assert "\n" not in message
    assert not (tmp_path / "m").exists()


def test_right_or_wrong_without_scores_is_pointed_to_the_option(pool, tmp_path):
    message = refused("fit", pool[0] / "past.csv", "--experts", "small,large,odd", "--out", tmp_path / "m")
    assert "--scores" in message


def test_what_needs_labels_is_refused(pool, tmp_path):
    folder, _ = pool
    judge = ["evaluate", folder / "pool", folder / "new.csv"]
    for option, value in (
        ("--against", folder / "pool"),
        ("--ask", "panel"),
        ("--by", "task"),
        ("--capacity", "odd=2"),
    ):
        assert option in refused(*judge, option, value)
    for options in (["--ask", "sequential"], ["--uncertainty"], ["--unusual", "ask"], ["--cost-matrix", "costs.csv"]):
        assert options[0] in refused(
            "route", folder / "pool", folder / "new.csv", "--out", tmp_path / "d.csv", *options
        )


def test_a_newcomer_joins_with_scores(pool, tmp_path):
    folder, _ = pool
    few = pd.read_csv(folder / "new.csv").head(60).drop(columns=["small", "large", "odd"])
    few.assign(late=np.where(few["task"] == "poems", 1, 0)).to_csv(tmp_path / "few.csv", index=False)
    add = [
        "add-expert",
        folder / "pool",
        tmp_path / "few.csv",
        "--expert",
        "late",
        "--out",
        tmp_path / "more",
        "--json",
    ]
    told = json.loads(call(*add).stdout)
    assert (told["answers"], told["rows"]) == (60, 60)
    out = tmp_path / "d.csv"
    call("route", tmp_path / "more", folder / "past.csv", "--out", out, "--fee", "all=1")
    assert "p_late" in pd.read_csv(out)


def test_rows_that_cannot_be_told_apart_are_not_called_new(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"kind": rng.choice(["law", "maths"], 200), "a": rng.integers(0, 2, 200), "b": 1})
    table.to_csv(tmp_path / "kinds.csv", index=False)
    pool = tmp_path / "pool"
    call("fit", tmp_path / "kinds.csv", "--scores", "--experts", "a,b", "--features", "kind", "--out", pool)
    refused = call("evaluate", pool, tmp_path / "kinds.csv", code=1)
    assert "cannot be told from new ones" in str(refused.exception)
    call("evaluate", pool, tmp_path / "kinds.csv", "--all-rows-new")


def test_bad_rows_of_a_pool_are_named_or_left_out(pool, tmp_path):
    folder = pool[0]
    table = pd.read_csv(folder / "new.csv").astype(object)
    table.loc[3, "length"], table.loc[5, "large_price"] = "long", -1
    table.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "decisions.csv"
    assert RUN.invoke(app, ["route", str(folder / "pool"), str(tmp_path / "new.csv"), "--out", str(out)]).exit_code
    assert not out.exists()
    result = call("route", folder / "pool", tmp_path / "new.csv", "--out", out, "--bad-rows", "skip", "--json")
    assert json.loads(result.stdout)["rows"] == 198
    listed = pd.read_csv(f"{out}.bad-rows.csv")
    assert listed[["row", "column"]].values.tolist() == [[5, "length"], [7, "large_price"]]


def test_bad_rows_of_a_pool_are_left_out_of_its_judgement(pool, tmp_path):
    folder = pool[0]
    table = pd.read_csv(folder / "new.csv").astype(object)
    table.loc[3, "length"], table.loc[5, "large_price"], table.loc[9, "odd"] = "long", -1, 1.2
    table.to_csv(tmp_path / "new.csv", index=False)
    message = refused("evaluate", folder / "pool", tmp_path / "new.csv")
    assert all(fact in message for fact in ("'long'", "'-1'", "'1.2'", "3 bad cells in 3 rows"))
    result = call("evaluate", folder / "pool", tmp_path / "new.csv", "--bad-rows", "skip", "--json")
    listed = pd.read_csv(tmp_path / "new.csv.bad-rows.csv")
    assert listed[["row", "column"]].values.tolist() == [[5, "length"], [7, "large_price"], [11, "odd"]]
    judged = json.loads(result.stdout)
    table.drop([3, 5, 9]).to_csv(tmp_path / "good.csv", index=False)
    good = json.loads(call("evaluate", folder / "pool", tmp_path / "good.csv", "--json").stdout)
    assert judged["test"] == good["test"]
    assert "3 bad cells" in judged["notes"][0]


def test_one_row_says_that_rows_are_missing_and_not_groups(tmp_path):
    pd.DataFrame({"x": [1.5], "a": [1], "b": [0]}).to_csv(tmp_path / "one.csv", index=False)
    message = refused("fit", tmp_path / "one.csv", "--scores", "--experts", "a,b", "--out", tmp_path / "m")
    assert "1 row with a score" in message
    assert "--group" not in message


def test_options_are_called_as_on_the_command_line(pool, tmp_path):
    folder, _ = pool
    message = refused(
        "route",
        folder / "pool",
        folder / "new.csv",
        "--out",
        tmp_path / "d.csv",
        "--budget",
        "9",
        "--quality-floor",
        "1",
    )
    assert "--quality-floor and --budget" in message
    table = pd.read_csv(folder / "past.csv").drop(columns="large_price")
    table.loc[0, MEMBERS] = np.nan
    table.to_csv(tmp_path / "bare.csv", index=False)
    bare = tmp_path / "bare"
    fitted = call(
        "fit", tmp_path / "bare.csv", "--scores", "--experts", ",".join(MEMBERS), "--key", "id", "--out", bare
    )
    assert "1 row has no score and is left out" in fitted.output
    for option in ("--error-cost", "--budget", "--quality-floor"):
        message = refused("route", bare, folder / "new.csv", "--out", tmp_path / "d.csv", option, "0.5")
        assert option in message
        assert "--fee" in message


def test_fit_says_how_good_those_chosen_are_on_rows_held_out(tmp_path):
    write_table(tmp_path / "past.csv", n=120)
    options = ["--scores", "--experts", ",".join(MEMBERS), "--key", "id", "--fee", "all=1", "--out", tmp_path / "m"]
    assert "held-out score of those chosen" in call("fit", tmp_path / "past.csv", *options).output
