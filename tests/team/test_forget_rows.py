"""Routers that keep no fingerprints, or those of somebody else's key: nothing is taken for new without a word."""

import numpy as np
import pytest
from router_team import small_table

from defero import InputError, Team, TwoStageDeferral
from defero.data.fingerprint import VARIABLE, key_id
from defero.team.rows import FORGOTTEN, check_rows_known


@pytest.fixture(scope="module")
def table():
    return small_table()


@pytest.fixture(scope="module")
def router(table):
    half = slice(0, 60)
    team = TwoStageDeferral().fit(table.features[half], table.labels[half], experts=table.answers[half])
    return team.team_


def rest(table):
    return table.features[60:], table.labels[60:], table.answers[60:]


def test_forgotten_rows_leave_nothing_in_the_folder(router, tmp_path):
    router.copy().forget_rows().save(tmp_path / "model")
    back = Team.load(tmp_path / "model")
    assert back.rows_key == FORGOTTEN
    assert dict(back.seen) == {}
    assert b"seen." not in (tmp_path / "model" / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("rows_key", [FORGOTTEN, "0123456789abcdef"])
def test_the_caller_must_vouch_for_rows_that_cannot_be_checked(router, table, rows_key):
    from dataclasses import replace

    unknown = replace(router, rows_key=rows_key)
    with pytest.raises(InputError, match=r"cannot be told from new ones; .*pass disjoint=True"):
        unknown.copy().calibrate(*rest(table))
    with pytest.raises(InputError, match="all_rows_new=True"):
        check_rows_known(rows_key)
    vouched = unknown.copy().calibrate(*rest(table), disjoint=True)
    assert vouched.rows_key == FORGOTTEN
    assert set(vouched.seen) <= {"fit", "fit+answers", "calibrate", "calibrate+answers"}


def test_another_key_is_told_by_its_id_and_the_right_one_knows_the_rows(router, table, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "ab" * 32)
    team = TwoStageDeferral().fit(table.features[:60], table.labels[:60], experts=table.answers[:60])
    team.save(tmp_path / "model")
    monkeypatch.setenv(VARIABLE, "cd" * 32)
    stranger = Team.load(tmp_path / "model")
    assert stranger.rows_key == key_id(bytes.fromhex("ab" * 32))
    with pytest.raises(InputError, match=rf"another key .*id {stranger.rows_key}.*set {VARIABLE}"):
        stranger.copy().calibrate(*rest(table))
    stranger.save(tmp_path / "copy")
    monkeypatch.setenv(VARIABLE, "ab" * 32)
    for folder in ("model", "copy"):
        owner = Team.load(tmp_path / folder)
        assert owner.rows_key is None
        with pytest.raises(InputError, match="60 of 60 rows were seen by fit"):
            owner.copy().calibrate(table.features[:60], table.labels[:60], table.answers[:60])


def test_a_stranger_s_new_rows_are_kept_under_their_own_key(router, table, tmp_path, monkeypatch):
    from dataclasses import replace

    foreign = replace(router, rows_key="0123456789abcdef")
    vouched = foreign.copy().calibrate(*rest(table), disjoint=True)
    assert "fit" not in vouched.seen
    assert len(vouched.seen["calibrate"]) == len(np.asarray(rest(table)[1]))
