"""A saved router: bit-equal when it comes back, labels in their own type, damage told, and no heavy imports."""

import hashlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from router_team import small_table
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from defero import (
    BestExpert,
    ConfidenceThreshold,
    DeferralClassifier,
    InputError,
    ModelOnly,
    RandomExpert,
    Recipe,
    Team,
    TwoStageDeferral,
)
from defero.core.errors import ModelFolderError
from defero.data.model_folder import MANIFEST

GONE = object()
SMALL = {"recipe": Recipe(hidden=(8,), expert_hidden=(4,), max_epochs=2), "random_state": 0}
TEAMS = {
    "linear": lambda: DeferralClassifier("linear", loss="ova"),
    "linear softmax": lambda: DeferralClassifier("linear", loss="softmax"),
    "mlp": lambda: DeferralClassifier("mlp", loss="decoupled", **SMALL),
    "mlp asymmetric": lambda: DeferralClassifier("mlp", loss="asymmetric", **SMALL),
    "moe": lambda: DeferralClassifier("mlp", loss="moe", **SMALL),
    "linear moe": lambda: DeferralClassifier("linear", loss="moe"),
    "two-stage": lambda: TwoStageDeferral(),
    "two-stage trees": lambda: TwoStageDeferral(
        GradientBoostingClassifier(n_estimators=3), RandomForestClassifier(3, random_state=0)
    ),
    "model only": lambda: ModelOnly(),
    "best expert": lambda: BestExpert(),
    "random expert": lambda: RandomExpert(share=0.5, random_state=3),
    "threshold": lambda: ConfidenceThreshold(threshold=0.8),
}


class HomeGrown(GaussianNB):
    """A classifier that lives outside scikit-learn."""


@pytest.fixture(scope="module")
def cases():
    return small_table()


@pytest.fixture(scope="module")
def saved(cases, tmp_path_factory):
    """Each kind of team, fitted and saved once."""
    folder = tmp_path_factory.mktemp("models")
    teams = {}
    for kind, make in TEAMS.items():
        teams[kind] = make().fit(cases.features, cases.labels, experts=cases.answers)
        teams[kind].save(folder / kind)
    return folder, teams


@pytest.fixture
def linear(saved, tmp_path):
    shutil.copytree(saved[0] / "linear", tmp_path / "model")
    return tmp_path / "model"


def same(one, two):
    names = ("class_proba", "expert_proba", "model_proba", "expert_raw")
    return one.link == two.link and all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


@pytest.mark.parametrize("kind", TEAMS)
def test_scores_and_decisions_come_back_bit_equal(kind, saved, cases):
    folder, teams = saved
    before, after = teams[kind].team_, Team.load(folder / kind)
    assert same(before.scores(cases.features), after.scores(cases.features))
    assert before.rule == after.rule
    assert np.array_equal(before.decide(cases.features).expert, after.decide(cases.features).expert)
    assert before.answer_counts.tolist() == after.answer_counts.tolist()
    assert np.array_equal(before.all_seen(), after.all_seen())
    again = type(teams[kind]).load(folder / kind)
    assert np.array_equal(again.predict(cases.features), teams[kind].predict(cases.features))
    assert {path.suffix for path in (folder / kind).iterdir()} == {".json", ".safetensors"}


def test_a_frozen_classifier_comes_back_bit_equal(cases, tmp_path):
    frozen = FrozenEstimator(LogisticRegression().fit(cases.features, cases.labels))
    team = TwoStageDeferral(frozen).fit(cases.features, cases.labels, experts=cases.answers)
    team.save(tmp_path / "model")
    assert same(team.team_.scores(cases.features), Team.load(tmp_path / "model").scores(cases.features))


@pytest.mark.parametrize("classes", [("benign", "malign"), (3, 7), (1.0, 2.0), (False, True), ("é", "ü")], ids=str)
def test_classes_keep_their_type(classes, tmp_path):
    table = small_table(classes)
    team = DeferralClassifier("linear", loss="ova", recipe=Recipe(max_epochs=20)).fit(
        table.features, table.labels, experts=table.answers
    )
    team.save(tmp_path / "model")
    router = Team.load(tmp_path / "model")
    assert router.classes.tolist() == list(classes)
    assert {type(label) for label in router.predict(table.features).tolist()} == {type(classes[0])}
    score = team.score(table.features, table.labels, experts=table.answers)
    assert router.score(table.features, table.labels, table.answers) == score > 0.7


def test_a_table_s_recipe_comes_back(cases, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(cases.features, columns=["age", "size"]).assign(site=np.tile(["arm", "leg", None], 40))
    frame.loc[3, "age"] = np.nan
    team = DeferralClassifier("linear", loss="ova").fit(frame, cases.labels, experts=cases.answers)
    team.save(tmp_path / "model")
    assert same(team.team_.scores(frame), Team.load(tmp_path / "model").scores(frame))


def test_what_a_folder_does_not_hold_is_given_again(cases, tmp_path):
    team = TwoStageDeferral(HomeGrown()).fit(cases.features, cases.labels, experts=cases.answers)
    with pytest.warns(
        UserWarning, match=r"save: .* the classifier \(HomeGrown\).*Team\.load\(folder, classifier="
    ) as told:
        team.save(tmp_path / "model")
    assert len(told) == 1
    for load in (Team.load, TwoStageDeferral.load):
        with pytest.raises(
            ModelFolderError, match=r"model: does not hold the classifier \(HomeGrown\).*classifier=\.\.\.\)"
        ):
            load(tmp_path / "model")
    router = Team.load(tmp_path / "model", classifier=team.classifier_)
    assert same(team.team_.scores(cases.features), router.scores(cases.features))
    again = TwoStageDeferral.load(tmp_path / "model", classifier=team.classifier_)
    assert np.array_equal(again.predict(cases.features), team.predict(cases.features))
    assert isinstance(again.get_params()["classifier"], HomeGrown)


def test_models_of_experts_are_given_again(cases, tmp_path):
    models = [HistGradientBoostingClassifier(max_iter=2), LogisticRegression(), HomeGrown()]
    team = TwoStageDeferral(None, models).fit(cases.features, cases.labels, experts=cases.answers)
    with pytest.warns(UserWarning, match=r"the expert_model \(HistGradientBoostingClassifier, HomeGrown\)"):
        team.save(tmp_path / "model")
    with pytest.raises(ModelFolderError, match=r"does not hold the expert_model .*expert_model=\.\.\.\)"):
        Team.load(tmp_path / "model")
    first, _, last = team.expert_model_
    router = Team.load(tmp_path / "model", expert_model=[first, None, last])
    assert same(team.team_.scores(cases.features), router.scores(cases.features))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"classifier": 3}, "classifier must be the fitted HomeGrown of 2 features and the classes .*, got int"),
        ({"classifier": GaussianNB()}, "got GaussianNB; pass the one that was fitted with the team"),
        ({"classifier": GaussianNB().fit(np.eye(3), [0, 1, 2])}, "classifier must be the fitted HomeGrown"),
        ({"expert_model": [None] * 3}, "expert_model is not needed: the folder holds it"),
    ],
    ids=["number", "not fitted", "other classes", "not needed"],
)
def test_what_is_given_again_must_fit(cases, tmp_path, given, words):
    team = TwoStageDeferral(HomeGrown(), LogisticRegression())
    team = team.fit(cases.features, cases.labels, experts=cases.answers)
    with pytest.warns(UserWarning, match="HomeGrown"):
        team.save(tmp_path / "model")
    with pytest.raises(InputError, match=words):
        Team.load(tmp_path / "model", **{"classifier": team.classifier_, **given})


def test_what_a_folder_holds_is_not_given_again(saved):
    with pytest.raises(InputError, match="classifier is not needed: the folder holds it"):
        Team.load(saved[0] / "two-stage", classifier=saved[1]["two-stage"].classifier_)
    with pytest.raises(InputError, match="classifier is not needed"):
        DeferralClassifier.load(saved[0] / "linear", classifier=LogisticRegression())


def test_a_folder_of_another_estimator_is_refused(saved):
    with pytest.raises(
        ModelFolderError, match=r"linear: was written by DeferralClassifier, not BestExpert; use Deferral"
    ):
        BestExpert.load(saved[0] / "linear")


def test_saving_over_something_else_is_refused(saved, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ModelFolderError, match="exists and is no model folder; choose another name, it was left as it"):
        saved[1]["linear"].save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def edit(folder, **changes):
    """Write another manifest with the checksum that belongs to it; a value of `GONE` leaves the entry out."""
    manifest = {**json.loads((folder / MANIFEST).read_text()), **changes}
    kept = {key: value for key, value in manifest.items() if value is not GONE and key != "checksum"}
    text = json.dumps(kept, ensure_ascii=False)
    (folder / MANIFEST).write_text(json.dumps({**kept, "checksum": hashlib.sha256(text.encode()).hexdigest()}))


def test_a_manifest_that_is_sealed_again_is_read(linear):
    names = [f"dr {place}" for place in range(len(Team.load(linear).expert_names))]
    edit(linear, expert_names=names)
    assert Team.load(linear).expert_names == tuple(names)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"format": 99},
            r"model\.json: .*format 99.*format 3; fit again",
        ),
        ({"kind": "forest"}, r"model\.json: kind must be team, got 'forest'; fit again"),
        ({"scorer": {"kind": "forest"}}, r"scorer\.kind must be one of network, .*two-stage, got 'forest'; fit again"),
        ({"classes": GONE}, r"model\.json: classes is missing; fit again or restore"),
        ({"scorer": {}}, r"model\.json: scorer\.kind must be one of network, .*, got None; fit again or restore it"),
        ({"scorer": []}, r"model\.json: scorer must be an object with named entries, got \[\]; fit again"),
        (
            {"scorer": {"kind": "network", "link": "ova", "center": []}},
            r"model\.json: scorer\.center must be the type and the shape of its array, got \[\]; fit again",
        ),
        ({"expert_names": ["only one"]}, r"model\.json: .*expert_names must be 3 names, one per column, got 1"),
        ({"rule": {"kind": "coin"}}, r"model\.json: rule\.kind must be one of most-likely-right, .*, got 'coin'"),
        (
            {"recipe": {"kind": "columns", "columns": 3}},
            r"model\.json: recipe\.columns must be a list, got 3",
        ),
    ],
)
def test_a_manifest_that_makes_no_sense_is_told(linear, changes, message):
    edit(linear, **changes)
    with pytest.raises(ModelFolderError, match=message):
        Team.load(linear)


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_a_damaged_folder_is_told_with_the_file(saved, tmp_path, name, damage):
    shutil.copytree(saved[0] / "two-stage", tmp_path / "model")
    path = tmp_path / "model" / name
    content = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content if damage == "flip" else content[: len(content) // 2])
    with pytest.raises(ModelFolderError, match=name.replace(".", r"\.")) as error:
        Team.load(tmp_path / "model")
    assert "fit" in str(error.value)


def test_a_folder_that_is_not_there_or_empty(tmp_path):
    with pytest.raises(ModelFolderError, match="none: no such model folder; name the folder that fit or save wrote"):
        Team.load(tmp_path / "none")
    with pytest.raises(ModelFolderError, match=r"holds no model\.json, so it is no model folder; name the folder that"):
        Team.load(tmp_path)


@pytest.mark.parametrize("kind", ["linear", "mlp", "moe", "two-stage", "two-stage trees", "model only"])
def test_a_saved_team_is_served_by_numpy_alone(saved, kind):
    """In a process of its own: what pytest has imported is not there."""
    folder, teams = saved
    program = (
        "import sys; from defero import Team; import numpy as np\n"
        "router = Team.load(sys.argv[1]); decision = router.decide(np.zeros((1, 2)))\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "print(decision.name[0], repr(float(decision.expected_cost[0])), *sorted(heavy))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, folder / kind], capture_output=True, text=True, check=True, timeout=60
    )
    decision = teams[kind].decide(np.zeros((1, 2)))
    assert run.stdout.split() == [decision.name[0], repr(float(decision.expected_cost[0]))]
