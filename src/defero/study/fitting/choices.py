"""The choices of `Study.fit`: network, loss, heads, panels. Checked before anything is learned."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from defero.core.checks.arrays import one_of
from defero.core.errors import Argument, InputError, Message
from defero.core.targets import TARGETS
from defero.estimators.deep_nets import check_torch, has_torch
from defero.learn.classes import Classes
from defero.learn.scorer import SkillScorer
from defero.losses import LOSSES
from defero.scorers.network import NetworkScorer
from defero.team import Team

if TYPE_CHECKING:
    from defero.estimators.recipe import Recipe
    from defero.estimators.training_data import AnswerWeights

NETS = ("auto", "linear", "mlp")
WEIGHTS = ("label", "label+features")
_PICTURES = ("wrn-", "resnet-")
ALPHA, TARGET = 0.1, "any-correct"


@dataclass(frozen=True)
class FitChoices:
    """How a team is trained and what its panels promise; see `Study.fit`. Checked when it is made."""

    net: str = "auto"
    loss: str = "auto"
    answer_weights: str | None = None
    recipe: "Recipe | None" = None
    checkpoints: str | None = None
    alpha: float = ALPHA
    target: str = TARGET

    def __post_init__(self) -> None:
        one_of("target", self.target, TARGETS)
        if not 0 < self.alpha < 1:
            raise InputError(
                f"must lie between 0 and 1, got {self.alpha:g}; for a promise of 90 % pass 0.1.", argument="alpha"
            )
        one_of("loss", self.loss, (*LOSSES, "auto"))
        if self.answer_weights is not None:
            one_of("answer_weights", self.answer_weights, WEIGHTS)
        if not has_torch():
            self._check_without_torch()
        _check_net(self.net)
        self._check_together()

    def _check_without_torch(self) -> None:
        """Refuse what needs PyTorch, before the table is split."""
        if not self.is_deep:
            one_of("net", self.net, NETS)
        if not self.calibrates_itself:
            check_torch(self.net, self.loss)

    def _check_together(self) -> None:
        """Refuse what only deep nets have, and weights of answers where a network learns."""
        if self.checkpoints is not None:
            self.check_deep("checkpoints")
        if self.answer_weights is not None and not self.calibrates_itself:
            raise InputError(
                f"{Argument('answer_weights', self.answer_weights)}: is for {Argument('net', 'auto')} without a "
                "loss; leave one of them out."
            )

    @property
    def is_deep(self) -> bool:
        """Whether the net is a deep one; told by its name, without loading torch."""
        return "-" in self.net or ":" in self.net

    @property
    def calibrates_itself(self) -> bool:
        """Whether the team is calibrated across the folds of its training, so that it needs no rows apart for that."""
        return self.net == "auto" and self.loss == "auto"

    def check_deep(self, argument: str) -> None:
        """Refuse an argument that is for deep nets alone."""
        if not self.is_deep:
            raise InputError(f"{Argument(argument)}: is for deep nets, got {Argument('net', self.net)}; leave it out.")

    def check_reads(self, *, pictures: bool) -> None:
        """Refuse a net that reads something else than the cases are."""
        if not pictures and self.net.startswith(_PICTURES):
            raise InputError(
                f"{Argument('net', self.net)}: reads pictures; name their folder with {Argument('images')} and "
                f"the column of their paths with {Argument('image_column')}."
            )
        if pictures and self.net in (*NETS, "text-cnn"):
            raise InputError(
                f"{Argument('net', self.net)}: reads no pictures; name a net that does, such as wrn-28-4 or resnet-18."
            )

    @property
    def weights(self) -> "AnswerWeights | None":
        """What answers are weighted by."""
        return cast("AnswerWeights | None", self.answer_weights)

    def without_effect(self, fees: list[float]) -> list[str]:
        """Return a sentence on what this loss has no use for."""
        changed = {"alpha": self.alpha != ALPHA, "target": self.target != TARGET, "fees": any(fees)}
        named = [piece for name, is_changed in changed.items() if is_changed for piece in (", ", Argument(name))]
        why = (": no effect with ", Argument("loss", "moe"), ", whose weights promise nothing: there are no panels.")
        return [Message(*named[1:], *why)] if self.loss == "moe" and named else []

    def outcome(self, team: Team) -> dict[str, str]:
        """Return which model of the classes there is now, where "auto" had the choice too."""
        scorer = team.scorer
        base = scorer.base if isinstance(scorer, SkillScorer) else scorer
        if self.is_deep:
            return {"net": self.net}
        if isinstance(base, Classes):
            return {"net": base.net}
        return {"net": "mlp" if isinstance(base, NetworkScorer) and base.branches["class"] else "linear"}

    def sentence(self, team: Team) -> str:
        """Say the same for a person."""
        how = ", the better of linear and mlp on held-out labels" if self.net == "auto" else ""
        what = "Network" if self.is_deep else "Model of the classes"
        network = team.facts.choice or f"{what}: {self.outcome(team)['net']}{how}."
        if not team.expert_names:
            return network
        if self.calibrates_itself:
            return f"{network} Experts: by case and class, shrunk toward the population where answers are few."
        return f"{network} Experts: each learned from their own answers alone."


def _check_net(net: str) -> None:
    """Refuse a net that is not known."""
    if net in NETS:
        return
    from defero.nets.named import NET_NAMES, is_net_name, meant_net

    if not is_net_name(net):
        raise InputError(
            f"must be one of {', '.join((*NETS, *NET_NAMES))}, got {net!r}{meant_net(net, NETS)}", argument="net"
        )
