"""HateSpeech with ten experts around a person's label, trained in full: the first panel of figure 1.

Two nets. "text-cnn" is the paper's: convolutions over the coordinates of one vector per tweet, a branch for the classes
and one for the experts. "tfidf" is ours: what TF-IDF and a ridge regression say of the classes, read by small networks.
Whatever is learned is learned from the training part, and no run is stopped or chosen by the validation part, which is
left for calibration. (How the networks are trained was settled once, on validation tweets of one seed.)
"""

import time
from dataclasses import asdict, replace
from functools import lru_cache

import torch

from defero import InputError
from defero.losses import DeferralLoss
from defero.nets import net_by_name
from defero.training import DeviceFeed, FixedAnswers, LoopSettings, Verdicts, fit_deep, start_machine
from defero_verma2023.arrays import IntArray
from defero_verma2023.measures.team_outputs import TeamOutputs, outputs_from_scores
from defero_verma2023.methods import LOSSES, TEXT_NETS, check_pool
from defero_verma2023.pools.pool import ExpertPool, Variant
from defero_verma2023.runs.trained_team import TrainedTeam
from defero_verma2023.runs.trainer import Task, Trainer
from defero_verma2023.training.hatespeech_parts import N_CLASSES, TweetParts, load
from defero_verma2023.training.network_outputs import network_outputs

TEXT_CNN, TFIDF = TEXT_NETS
SETTINGS = LoopSettings(
    epochs=15,
    batch_size=512,
    optimiser="adamw",
    learning_rate=7e-3,
    weight_decay=1e-2,
    ema_decay=None,
    precision="32",
    compile="off",
)
"""Of the text-cnn; the paper's has up to 250 epochs of Adam at 0.001."""
N_QUICK = 5_000
N_LOOK = 1_024
"""Tweets that are looked at together after the training."""


def train_team(
    data: TweetParts,
    pool: ExpertPool | None,
    method: str,
    *,
    seed: int,
    net: str = TFIDF,
    settings: LoopSettings = SETTINGS,
) -> TrainedTeam:
    """Train one team and return what it says of the validation and the test tweets.

    Parameters
    ----------
    data : TweetParts
        From `load`.
    pool : ExpertPool, optional
        None for one classifier.
    method : str
    seed : int
        Of weights, order and dropout.
    net : "text-cnn" or "tfidf"
    settings : LoopSettings
        For the text-cnn alone.
    """
    if method not in TEXT_NETS.get(net, ()):
        known = "; ".join(f"{name}: {', '.join(methods)}" for name, methods in TEXT_NETS.items())
        raise InputError(f"net and method must be of these ({known}), got {net!r} and {method!r}.")
    check_pool(method, pool)
    answers = data.answers(pool)
    if net == TEXT_CNN:
        return _train_text_cnn(data, answers, method, seed=seed, settings=settings)
    return _train_on_words(data, answers, method, seed=seed)


def trainer(*, quick: bool) -> Trainer:
    """Return how the teams of HateSpeech are trained; quick: on words alone and a subset, for a laptop."""

    def train(data: TweetParts, task: Task) -> TrainedTeam:
        settings = SETTINGS if task.epochs is None else replace(SETTINGS, epochs=task.epochs)
        return train_team(data, task.pool, task.method, seed=task.seed, net=task.net, settings=settings)

    limit = N_QUICK if quick else None
    nets = {TFIDF: TEXT_NETS[TFIDF]} if quick else TEXT_NETS
    return Trainer(nets=nets, load=lambda seed, protocol: _parts(seed, protocol, limit), train=train)


@lru_cache(maxsize=1)
def _parts(seed: int, protocol: Variant, limit: int | None) -> TweetParts:
    return load(seed, protocol=protocol, limit=limit)


def _train_on_words(data: TweetParts, answers: IntArray, method: str, *, seed: int) -> TrainedTeam:
    # Only now: the estimators load scikit-learn, which a machine that trains a text-cnn need not have.
    from defero import DeferralClassifier, TwoStageDeferral
    from defero_verma2023.training.frozen_team import logistic

    features, train = data.word_scores, data.rows["train"]
    started = time.monotonic()
    team: DeferralClassifier | TwoStageDeferral
    if method == "two-stage":
        team, facts = TwoStageDeferral(logistic(1.0), logistic(1.0)), "TwoStageDeferral of logistic regressions"
    else:
        team = DeferralClassifier("mlp", loss=LOSSES[method], random_state=seed)
        facts = f"DeferralClassifier('mlp', loss={LOSSES[method]!r})"
    team.fit(features[train], data.labels[train], experts=answers[train] if answers.shape[1] else None)
    seconds = time.monotonic() - started

    def said(part: str) -> TeamOutputs:
        rows = data.rows[part]
        scores = team.team_.scores(features[rows])
        return outputs_from_scores(scores, answers[rows], data.labels[rows], loss=LOSSES[method])

    return TrainedTeam(said("validation"), said("test"), seconds, {"model": facts, "n_train": len(train)})


def _train_text_cnn(
    data: TweetParts, answers: IntArray, method: str, *, seed: int, settings: LoopSettings
) -> TrainedTeam:
    vectors = torch.from_numpy(data.vectors).float()

    def feed(part: str) -> DeviceFeed:
        rows = data.rows[part]
        labels = torch.from_numpy(data.labels[rows])
        verdicts = Verdicts.from_codes(torch.from_numpy(answers[rows]), labels)
        return DeviceFeed(vectors[rows], labels, FixedAnswers(verdicts), seed=seed)

    module = net_by_name(
        TEXT_CNN,
        vectors[:2],
        n_classes=N_CLASSES,
        n_experts=answers.shape[1],
        branches="two" if answers.shape[1] else "one",
        model_column=method == "moe",
        generator=torch.Generator().manual_seed(seed),
    )
    loss = LOSSES[method]
    fit = fit_deep(module, DeferralLoss(loss), feed("train"), settings=settings, seed=seed)
    validation, test = (
        network_outputs(
            module,
            feed(part),
            start_machine(settings),
            loss=loss,
            answers=answers[data.rows[part]],
            batch_size=N_LOOK,
        )
        for part in ("validation", "test")
    )
    facts = asdict(settings) | {"n_train": len(data.rows["train"]), "first_step_seconds": fit.first_step_seconds}
    return TrainedTeam(validation, test, fit.seconds, facts)
