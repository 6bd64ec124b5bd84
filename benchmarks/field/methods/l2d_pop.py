"""L2D-Pop: an expert is the set of their past answers (Tailor et al., AISTATS 2024); a newcomer needs no training."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

from benchmarks.field.method import Choice
from benchmarks.field.methods.choosing import choose
from benchmarks.field.methods.first_stage import FirstStage, fit_first_stage, log_proba
from benchmarks.field.methods.small_training import mlp, train
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray

Encoder = Literal["mean", "attention"]
WIDTH, MOST_CONTEXT, TARGETS = 16, 50, 32
"""Size of the representation, answers in a context, and answers that an episode predicts."""
FEWEST_EPISODES, ALL_EPISODES, BATCH = 8, 600, 32
"""Episodes of an expert, of all experts together, and of a step of the training."""
LEAST_POPULATION = 20
"""From so many experts on, training stops by experts that it did not see; below by other answers of the same."""
PAIRS_AT_ONCE = 20_000


@dataclass(frozen=True)
class Context:
    """Past answers of e experts, padded: `inputs` (e, c, d), `given` (e, c, 2K + 1), `present` (e, c) bool.

    `given` is y and m one-hot, and 1[m = y]: a function of them, given so that it need not be learned.
    """

    inputs: Tensor
    given: Tensor
    present: Tensor

    def take(self, rows: Tensor) -> "Context":
        """Return the contexts of some experts."""
        return Context(self.inputs[rows], self.given[rows], self.present[rows])


class PopulationRejector(nn.Module):
    r"""Log-odds that an expert with a context D is right on x.

    .. math:: g_\perp(x, \psi), \qquad \psi = \frac{1}{|D|} \sum_{b \in D} \phi(x_b, y_b, m_b) \quad \text{or} \quad
        \psi(x) = \sum_b \mathrm{softmax}_b\big(q(x) \cdot k(x_b)\big)\, \phi(x_b, y_b, m_b)

    The mean is that of a neural process, the second form its cross-attention from x to the context. Both are sums over
    a set, so that the order of the answers does not matter; an empty context has psi = 0. log(1 + |D|) is an input
    too: contexts have one size in the paper, and a newcomer's grows here.
    """

    def __init__(self, n_inputs: int, n_classes: int, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.each = mlp(n_inputs + 2 * n_classes + 1, WIDTH)
        self.query, self.key = nn.Linear(n_inputs, WIDTH), nn.Linear(n_inputs, WIDTH)
        self.head = mlp(n_inputs + WIDTH + 1, 1)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return log-odds (e, t) for the items x (e, t, d) of each of e experts."""
        present = context.present
        each = self.each(torch.cat([context.inputs, context.given], dim=2)) * present[..., None]
        n_present = present.sum(dim=1)
        if self.encoder == "mean":
            psi = (each.sum(dim=1) / n_present.clamp_min(1)[:, None])[:, None].expand(-1, x.shape[1], -1)
        else:
            alike = self.query(x) @ self.key(context.inputs).transpose(1, 2) / WIDTH**0.5
            weight = alike.masked_fill(~present[:, None], torch.finfo(alike.dtype).min / 2).softmax(dim=2)
            psi = (weight * present[:, None]) @ each
        size = torch.log1p(n_present.to(x))[:, None, None].expand(-1, x.shape[1], 1)
        log_odds: Tensor = self.head(torch.cat([x, psi, size], dim=2))[..., 0]
        return log_odds


def population_loss(log_odds: Tensor, right: Tensor, present: Tensor) -> Tensor:
    r"""Logistic loss of the rejector, averaged over an expert's answers: the one-vs-all member of the paper.

    .. math:: \frac{1}{|T|} \sum_{(x, y, m) \in T} \mathrm{BCE}\big(g_\perp(x, \psi), 1[m = y]\big)

    Its mean over experts is the paper's expectation over the population. Minimiser: sigmoid(g) = P(m = y | x, D).

    Parameters
    ----------
    log_odds, right, present : (e, t)
        Absent answers never touch the loss; an expert without any has the value 0.
    """
    each = binary_cross_entropy_with_logits(log_odds, right.to(log_odds), reduction="none").masked_fill(~present, 0.0)
    return each.sum(dim=1) / present.sum(dim=1).clamp_min(1)


class L2DPop:
    """A classifier, and one rejector for the whole population of experts, trained on episodes.

    An episode draws a few of an expert's answers as the context and predicts others of theirs. The classifier is the
    first stage of the other two-stage methods; in the paper it is trained with the rejector, and in the one-vs-all form
    their losses are separate terms.
    """

    def __init__(self, encoder: Encoder = "mean", *, random_state: int = 0) -> None:
        self.encoder: Encoder = encoder
        self.random_state = random_state

    def fit(self, X: FloatArray, y: IntArray, experts: IntArray) -> "L2DPop":
        """Fit the classifier and the rejector, and keep a context of each expert."""
        n_classes = int(max(y.max(), experts.max(initial=0))) + 1
        self.first_: FirstStage = fit_first_stage(X, y, n_classes=n_classes, seed=self.random_state)
        self.n_classes_ = n_classes
        inputs = _inputs(X, self.first_.unseen_proba)
        torch.manual_seed(self.random_state)
        rng = np.random.default_rng([self.random_state, 24])
        self.rejector_ = PopulationRejector(inputs.shape[1], n_classes, self.encoder)
        contexts, targets, who = episodes(inputs, y, experts, n_classes=n_classes, rng=rng)

        def loss(rows: Tensor) -> Tensor:
            log_odds = self.rejector_(targets.inputs[rows], contexts.take(rows))
            return population_loss(log_odds, targets.given[rows, :, 0], targets.present[rows])

        if len(who):
            groups = who if len(np.unique(who)) >= LEAST_POPULATION else np.arange(len(who))
            train(self.rejector_, loss, groups=groups, seed=self.random_state, batch=BATCH)
        chosen = [rng.permutation(np.flatnonzero(column >= 0))[:MOST_CONTEXT] for column in experts.T]
        self.contexts_ = padded(inputs, y, experts, chosen, n_classes=n_classes, size=MOST_CONTEXT)
        return self

    def context(
        self, X: FloatArray, y: IntArray, answers: IntArray, *, class_proba: FloatArray | None = None
    ) -> Context:
        """Return the context of a newcomer with answers (n,), of which the first 50 count.

        `class_proba` (n, K) is what the classifier says of these cases; pass the `unseen_proba` of cases that it
        learned from.
        """
        if len(X) == 0:
            inputs = np.zeros((0, X.shape[1] + self.n_classes_), dtype=np.float32)
        else:
            inputs = _inputs(X, self.first_.proba(X) if class_proba is None else class_proba)
        rows = [np.flatnonzero(answers >= 0)[:MOST_CONTEXT]]
        return padded(inputs, y, answers[:, None], rows, n_classes=self.n_classes_, size=MOST_CONTEXT)

    def newcomer_proba(self, X: FloatArray, context: Context) -> FloatArray:
        """Return P(an expert with this context is right | x), (n,)."""
        with torch.no_grad():
            log_odds = self.rejector_(torch.as_tensor(_inputs(X, self.first_.proba(X)))[None], context)[0]
        return np.asarray(torch.sigmoid(log_odds).numpy(), dtype=np.float64)

    def expert_proba(self, X: FloatArray, available: BoolArray) -> FloatArray:
        """Return P(expert j is right | x), (n, J), 0 where they cannot be asked."""
        inputs = torch.as_tensor(_inputs(X, self.first_.proba(X)))
        proba = np.zeros(available.shape)
        for j in range(available.shape[1]):
            rows = np.flatnonzero(available[:, j])
            for part in np.array_split(rows, max(1, -(-len(rows) // PAIRS_AT_ONCE))):
                with torch.no_grad():
                    log_odds = self.rejector_(inputs[part][None], self.contexts_.take(torch.tensor([j])))[0]
                proba[part, j] = torch.sigmoid(log_odds).numpy()
        return proba

    def decide(self, X: FloatArray, *, fees: FloatArray, available: BoolArray) -> Choice:
        """Ask the best expert, where that is worth more than the model's answer."""
        return choose(self.first_.proba(X), self.expert_proba(X, available), fees=fees, available=available)


def episodes(
    inputs: FloatArray, y: IntArray, experts: IntArray, *, n_classes: int, rng: np.random.Generator
) -> tuple[Context, Context, IntArray]:
    """Return contexts, what they are to predict (`given[..., 0]` is 1 where the answer was right), and whose they are.

    The size of a context is drawn anew, from none to all but one of the answers, so that every size is learned.
    """
    learn: list[IntArray] = []
    predict: list[IntArray] = []
    columns: list[int] = []
    known = np.flatnonzero((experts >= 0).sum(axis=0) >= 2)
    for j in known.tolist():
        answered = np.flatnonzero(experts[:, j] >= 0)
        for _ in range(max(FEWEST_EPISODES, -(-ALL_EPISODES // len(known)))):
            order = rng.permutation(answered)
            n_context = int(rng.integers(0, min(MOST_CONTEXT, len(order) - 1) + 1))
            learn.append(order[:n_context])
            predict.append(order[n_context : n_context + TARGETS])
            columns.append(j)
    own = experts[:, columns]
    contexts = padded(inputs, y, own, learn, n_classes=n_classes, size=MOST_CONTEXT)
    targets = padded(inputs, y, own, predict, n_classes=n_classes, size=TARGETS)
    return (
        contexts,
        Context(targets.inputs, targets.given[..., -1:], targets.present),
        np.array(columns, dtype=np.int64),
    )


def padded(
    inputs: FloatArray, y: IntArray, answers: IntArray, rows: list[IntArray], *, n_classes: int, size: int
) -> Context:
    """Return chosen rows of each column of answers (n, e) as one padded batch."""
    index, present = np.zeros((len(rows), size), dtype=np.int64), np.zeros((len(rows), size), dtype=bool)
    for e, chosen in enumerate(rows):
        index[e, : len(chosen)], present[e, : len(chosen)] = chosen, True
    if len(inputs) == 0:
        empty = torch.zeros(len(rows), size, inputs.shape[1])
        return Context(empty, torch.zeros(len(rows), size, 2 * n_classes + 1), torch.as_tensor(present))
    given = np.maximum(answers[index, np.arange(len(rows))[:, None]], 0)
    parts = [one_hot(torch.as_tensor(values), n_classes).float() for values in (y[index], given)]
    parts.append(torch.as_tensor(y[index] == given)[..., None].float())
    return Context(torch.as_tensor(inputs)[index], torch.cat(parts, dim=2), torch.as_tensor(present))


def _inputs(X: FloatArray, proba: FloatArray) -> FloatArray:
    """Return x beside log h(x), as single-precision numbers."""
    return np.column_stack([X, log_proba(proba)]).astype(np.float32)
