"""`python -m benchmarks.field.newcomers`: a newcomer with 0, 5, 20 or 50 answers: L2D-Pop beside shrunk heads.

Some experts are left out of training and join later with a few answers to training cases. All ways know the same: x and
the classifier's P(y | x) of cases that it did not see, the known experts' answers, and the newcomer's few.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.field.methods.choosing import choose
from benchmarks.field.methods.first_stage import log_proba
from benchmarks.field.methods.l2d_pop import Encoder, L2DPop
from benchmarks.field.problem import FieldSet, Problem
from benchmarks.field.sets.people import draw
from benchmarks.people.sets import sentiment, toxicity
from benchmarks.tables.split import Rows, Split
from benchmarks.tables.trial import Line, where
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.datasets import wedge
from defero.learn.heads import fit_head
from defero.learn.prior import fit_prior

RESULTS = Path(__file__).parents[1] / "results" / "field_newcomers.jsonl"
N_ANSWERS = (0, 5, 20, 50)
MOST_NEWCOMERS, LEAST_TEST, MOST_PEOPLE = 15, 5, 100
PSEUDO_ANSWERS = 10.0
ENCODERS: tuple[Encoder, Encoder] = ("mean", "attention")
N_WEDGE, N_PEOPLE, GOOD, BAD = 3_000, 60, 0.95, 0.3


def draw_two_kinds(seed: int) -> Split:
    """Return WEDGE with 60 people of two kinds: half are good in the regions 0 and 1, half in 2 and 3."""
    cases = wedge(N_WEDGE, random_state=seed)
    rng = np.random.default_rng([seed, 2])
    region = cases.features[:, 1 + cases.n_classes : 5 + cases.n_classes].argmax(axis=1)
    first_kind = np.arange(N_PEOPLE) % 2 == 0
    skill = np.where((region < 2)[:, None] == first_kind, GOOD, BAD)
    right = rng.random(skill.shape) < skill
    wrong = (cases.labels[:, None] + rng.integers(1, cases.n_classes, skill.shape)) % cases.n_classes
    answers = np.where(right, cases.labels[:, None], wrong)
    answers = np.where(rng.random(skill.shape) < 0.1, answers, -1)
    rows = Rows(pd.DataFrame(cases.features).add_prefix("x"), cases.labels, answers)
    half = np.arange(N_WEDGE) < N_WEDGE // 2
    return Split(rows.take(np.flatnonzero(half)), rows.take(np.flatnonzero(~half)), n_classes=4, seed=seed)


SETS = {
    one.name: one
    for one in (
        FieldSet(
            "sentiment-polarity",
            partial(draw, sentiment.load, MOST_PEOPLE, False),
            f"film review sentences, the {MOST_PEOPLE} who answered most",
            "people",
            n_train=3_000,
            directions=24,
        ),
        FieldSet(
            "keswani-toxicity",
            partial(draw, toxicity.load, MOST_PEOPLE, False),
            f"posts, the {MOST_PEOPLE} who answered most",
            "people",
            n_train=3_000,
            directions=24,
        ),
        FieldSet(
            "wedge-two-kinds",
            draw_two_kinds,
            f"WEDGE with {N_PEOPLE} people of two kinds, right with {GOOD} in two regions and {BAD} in the others",
            "simulated",
            n_train=3_000,
            fresh=True,
        ),
    )
}

Joins = Callable[[IntArray, IntArray], FloatArray]
"""Training rows that a newcomer answered (m,), and their answers (m,): P(they are right) on the test rows, (n,)."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A split, who is new (J,) bool, and L2D-Pop fitted without them, whose classifier all ways share."""

    problem: Problem
    new: BoolArray
    mean: L2DPop
    attention: L2DPop

    @property
    def inputs(self) -> FloatArray:
        """What heads read of the training rows, (n, d)."""
        return np.column_stack([self.problem.features, log_proba(self.mean.first_.unseen_proba)])

    @property
    def test_inputs(self) -> FloatArray:
        """What heads read of the test rows."""
        return np.column_stack([self.problem.test_features, log_proba(self.class_proba())])

    def class_proba(self) -> FloatArray:
        """Return the classifier's P(y | x) of the test rows."""
        return self.mean.first_.proba(self.problem.test_features)

    def right(self, rows: IntArray, answers: IntArray) -> BoolArray:
        """Return which answers to training rows are right."""
        return answers == self.problem.train.label_idx[rows]

    def known_answers(self) -> tuple[IntArray, IntArray, BoolArray]:
        """Return items, experts and whether right, of the known experts."""
        train = self.problem.train
        item, who = np.nonzero(train.observed & ~self.new)
        return item, who, train.correct[item, who]


def scene_of(problem: Problem) -> Scene:
    """Choose newcomers among those with 50 answers to training rows and some to test rows; learn from the others."""
    rng = np.random.default_rng([problem.seed, 50])
    enough = (problem.train.observed.sum(axis=0) >= max(N_ANSWERS)) & (problem.test.observed.sum(axis=0) >= LEAST_TEST)
    chosen = rng.permutation(np.flatnonzero(enough))[:MOST_NEWCOMERS]
    new = np.isin(np.arange(problem.train.n_experts), chosen)
    answers = np.where(new, -1, problem.train.answer_idx)
    mean, attention = (
        L2DPop(encoder, random_state=problem.seed).fit(problem.features, problem.train.label_idx, answers)
        for encoder in ENCODERS
    )
    return Scene(problem, new, mean, attention)


def shrunk_heads(scene: Scene) -> Joins:
    """Return defero's heads: a normal population of heads, and the posterior of one given a few answers."""
    item, who, right = scene.known_answers()
    inputs, judged = scene.inputs, scene.test_inputs
    prior = fit_prior(inputs, item, who, right, n_experts=scene.problem.train.n_experts)

    def join(rows: IntArray, answers: IntArray) -> FloatArray:
        head = fit_head(inputs[rows], scene.right(rows, answers), prior)
        return head.proba(judged)[:, 0]

    return join


def shrunken_share(scene: Scene) -> Joins:
    """Return the share of right answers, shrunk to that of the known experts; the same for all cases."""
    mean = float(scene.known_answers()[2].mean())

    def join(rows: IntArray, answers: IntArray) -> FloatArray:
        n_right = float(scene.right(rows, answers).sum())
        return np.full(len(scene.problem.test), (n_right + PSEUDO_ANSWERS * mean) / (len(rows) + PSEUDO_ANSWERS))

    return join


def population(method: L2DPop, scene: Scene) -> Joins:
    """Return L2D-Pop, which trains nothing for a newcomer."""

    def join(rows: IntArray, answers: IntArray) -> FloatArray:
        labels, unseen = scene.problem.train.label_idx[rows], method.first_.unseen_proba[rows]
        context = method.context(scene.problem.features[rows], labels, answers, class_proba=unseen)
        return method.newcomer_proba(scene.problem.test_features, context)

    return join


WAYS: dict[str, Callable[[Scene], Joins]] = {
    "shrunk heads": shrunk_heads,
    "L2D-Pop, mean": lambda scene: population(scene.mean, scene),
    "L2D-Pop, attention": lambda scene: population(scene.attention, scene),
    "shrunken share": shrunken_share,
}


def run_split(one: FieldSet, seed: int) -> list[Line]:
    """Return a line for each way and number of answers."""
    problem = one.problem(seed)
    scene = scene_of(problem)
    rng = np.random.default_rng([seed, 51])
    order = [rng.permutation(np.flatnonzero(column)) for column in problem.train.observed.T]
    lines = []
    for way, learn in WAYS.items():
        join = learn(scene)
        for n_answers in N_ANSWERS:
            proba = np.zeros(problem.test.answer_idx.shape)
            for j in np.flatnonzero(scene.new):
                rows = order[j][:n_answers]
                proba[:, j] = join(rows, problem.train.answer_idx[rows, j])
            facts = {"set": one.name, "system": way, "split": seed, "n_answers": n_answers}
            lines.append(facts | figures(scene, proba))
    return lines


def figures(scene: Scene, proba: FloatArray) -> Line:
    """Return the log loss of P(right) on the newcomers' answers, and the accuracy of the model with the newcomers."""
    test = scene.problem.test
    can = test.observed & scene.new
    expected = np.clip(proba[can], 1e-4, 1 - 1e-4)
    right = test.correct[can]
    rows = np.flatnonzero(can.any(axis=1))
    class_proba = scene.class_proba()[rows]
    choice = choose(class_proba, proba[rows], fees=np.zeros((len(rows), can.shape[1])), available=can[rows])
    asked = np.maximum(choice.expert, 0)
    label = np.where(choice.expert >= 0, test.answer_idx[rows, asked], choice.label)
    return {
        "n_train": len(scene.problem.train),
        "n_test": len(rows),
        "n_newcomers": int(scene.new.sum()),
        "n_judged": int(can.sum()),
        "log_loss": round(float(-np.where(right, np.log(expected), np.log1p(-expected)).mean()), 5),
        "squared_error": round(float(((expected - right) ** 2).mean()), 5),
        "accuracy": round(float((label == test.label_idx[rows]).mean()), 5),
        "model_accuracy": round(float((class_proba.argmax(axis=1) == test.label_idx[rows]).mean()), 5),
        "questions": round(float((choice.expert >= 0).mean()), 5),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the splits that are not in the results; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field.newcomers", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--splits", type=int, default=10, help="how many splits")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file of the results")
    options = parser.parse_args(arguments)
    done = {(line["set"], line["split"]) for line in read(options.out)}
    for seed in range(options.splits):
        for name in options.sets:
            if (name, seed) in done:
                continue
            lines = run_split(SETS[name], seed)
            facts = where()
            with options.out.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(line | facts) + "\n" for line in lines)
            print(f"{name} {seed}: " + ", ".join(f"{line['system']} {line['log_loss']:.3f}" for line in lines))
    return 0


def read(path: Path = RESULTS) -> list[Line]:
    """Return all lines."""
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


if __name__ == "__main__":
    sys.exit(main())
