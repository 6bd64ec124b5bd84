"""Deep teams on disk: by name for torch, as ONNX without it."""

import importlib.util
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tiny_pictures import Pooled, pictures, small_team

from defero import DeferralClassifier
from defero.core.codec import pack, unpack
from defero.core.errors import InputError, ModelFolderError
from defero.team import Team

X, Y, M = pictures()
NEW_X, NEW_Y, NEW_M = pictures(60, seed=1)
has_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="the extra `onnx` is not installed",
)


def grown(team):
    """A team that was calibrated and that somebody has joined."""
    team.calibrate(NEW_X[:30], NEW_Y[:30], experts=NEW_M[:30])
    return team.add_expert("eva", NEW_X[30:], NEW_Y[30:], NEW_M[30:, 0])


@pytest.fixture(scope="module")
def named():
    return grown(small_team("wrn-10-1", max_epochs=2).fit(X, Y, experts=M))


def assert_same(found, expected, *, atol):
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=atol)
    np.testing.assert_allclose(found.predict_expert_proba(X), expected.predict_expert_proba(X), atol=atol)


def test_a_named_net_comes_back_bit_for_bit(named, tmp_path):
    named.save(tmp_path / "model")
    back = DeferralClassifier.load(tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.json", "weights.safetensors"]
    assert_same(back, named, atol=0)
    assert back.net == "wrn-10-1"
    assert back.team_.item_shape == (8, 8, 3)
    with pytest.raises(InputError, match="seen by"):
        back.calibrate(X, Y, experts=np.column_stack([M, M[:, 0]]))


@pytest.mark.parametrize("net", ["wrn-16-1", "wrn-600004-1", "wrn-10-9000"])
def test_weights_that_do_not_fit_are_told_before_the_net_is_built(named, net):
    from defero.nets.deep_scorer import DeepScorer

    packed = pack(named.team_.scorer.base)
    with pytest.raises(ModelFolderError, match=f"the weights are not those of {net}; fit again"):
        unpack(DeepScorer, replace(packed, manifest={**packed.manifest, "net": net}))


def test_an_item_beyond_all_use_is_refused(named):
    from defero.nets.deep_scorer import DeepScorer

    packed = pack(named.team_.scorer.base)
    with pytest.raises(ModelFolderError, match=r"item_shape must have at most .*100000, 100000, 3"):
        unpack(DeepScorer, replace(packed, manifest={**packed.manifest, "item_shape": [100_000, 100_000, 3]}))


def test_somebodys_module_is_not_saved_but_named(tmp_path):
    team = small_team(Pooled(), max_epochs=1).fit(X, Y, experts=M)
    with pytest.raises(InputError, match=r"save: net is a module of your own, tiny_pictures.Pooled, .*export_onnx"):
        team.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_only_deep_nets_are_exported(tmp_path):
    plain = DeferralClassifier("linear", loss="ova").fit(X.reshape(200, -1)[:, :5], Y, experts=M)
    with pytest.raises(InputError, match="export_onnx is for deep nets, got a model of kind 'network'"):
        plain.export_onnx(tmp_path / "model")


@has_onnx
def test_the_onnx_form_is_the_same_team_without_torch(named, tmp_path):
    named.export_onnx(tmp_path / "model")
    assert_same(DeferralClassifier.load(tmp_path / "model"), named, atol=1e-5)
    np.save(tmp_path / "x.npy", X[:20])
    code = (
        "import sys, numpy as np\n"
        "sys.modules['torch'] = None\n"
        "from defero.team import Team\n"
        f"router = Team.load({str(tmp_path / 'model')!r})\n"
        f"np.save({str(tmp_path / 'p.npy')!r}, router.scores(np.load({str(tmp_path / 'x.npy')!r})).expert_proba)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    np.testing.assert_allclose(np.load(tmp_path / "p.npy"), named.predict_expert_proba(X[:20]), atol=1e-5)


@has_onnx
def test_somebodys_module_is_exported_and_grows_there(tmp_path):
    team = grown(small_team(Pooled(), loss="softmax", branches="two", max_epochs=1).fit(X, Y, experts=M))
    team.export_onnx(tmp_path / "model")
    back = DeferralClassifier.load(tmp_path / "model")
    assert_same(back, team, atol=1e-5)
    assert back.net == "Pooled, exported"
    back.add_expert("tom", X[:40], Y[:40], M[:40, 3])
    back.save(tmp_path / "again")
    assert Team.load(tmp_path / "again").expert_names[-1] == "tom"


def test_without_torch_a_model_that_needs_it_says_so(named, tmp_path):
    named.save(tmp_path / "model")
    code = (
        f"import sys; sys.modules['torch'] = None\nfrom defero.team import Team\nTeam.load({str(tmp_path / 'model')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "needs a package that is not installed" in done.stderr
    assert "have it exported to ONNX" in done.stderr
