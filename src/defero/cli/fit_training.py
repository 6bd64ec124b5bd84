"""What `fit` trains: the network, the loss and the experts' heads, checked before anything is read."""

import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import typer

from defero.cli.pictures import Deep, looks_deep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from defero.core import ExpertTable
    from defero.data.recipes.picture_recipe import PictureRecipe
    from defero.router import Router

Net = Literal["linear", "mlp", "auto"]
Heads = Literal["auto", "shrunk", "separate"]
Weights = Literal["label", "label+features"]
One = TypeVar("One")

NETS: dict[str, Net] = {"auto": "auto", "linear": "linear", "mlp": "mlp"}
HEADS: dict[str, Heads] = {"auto": "auto", "shrunk": "shrunk", "separate": "separate"}
WEIGHTS: dict[str, Weights] = {"label": "label", "label+features": "label+features"}


@contextmanager
def _stops_told() -> "Iterator[None]":
    """Say what came of a training that Ctrl-C stopped; the exit status is the shell's own, 130."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        typer.echo(f"defero: {str(stopped) or 'stopped by Ctrl-C.'}", err=True)
        raise


@dataclass(frozen=True)
class Training:
    """How a team is trained; the names are those of `DeferralClassifier`."""

    net: str
    loss: str
    heads: Heads
    min_answers: int
    answer_weights: Weights | None
    deep: Deep = field(default_factory=Deep)

    @classmethod
    def of(
        cls,
        *,
        net: str,
        loss: str,
        heads: str,
        min_answers: int,
        answer_weights: str | None,
        deep: Deep | None = None,
        onnx: bool = False,
    ) -> "Training":
        """Check what a command line said."""
        from defero.core.errors import InputError
        from defero.core.wording import did_you_mean, join_names
        from defero.losses import LOSSES

        known = (*LOSSES, "auto")
        if loss not in known:
            raise InputError(f"--loss must be one of {join_names(known)}, got {loss!r}{did_you_mean(loss, known)}")
        weights = None if answer_weights is None else _known("--answer-weights", answer_weights, WEIGHTS)
        chosen = NETS[net] if net in NETS else _deep_net(net)
        found = cls(chosen, loss, _known("--heads", heads, HEADS), min_answers, weights, deep or Deep())
        found._check_deep(onnx=onnx)
        needs = "--heads shrunk" if heads == "shrunk" else "--answer-weights" if weights is not None else None
        if needs is not None and loss != "auto" and not LOSSES[loss].shrinkable:
            shrinkable = [name for name, one in LOSSES.items() if one.shrinkable]
            raise InputError(f"{needs}: needs --loss {' or '.join([*shrinkable, 'auto'])}, got {loss}.")
        if weights is not None and heads == "separate":
            raise InputError("--answer-weights: needs shrunk heads, got --heads separate; leave one of them out.")
        return found

    def _check_deep(self, *, onnx: bool) -> None:
        """Refuse what only deep nets have, or only others."""
        from defero.core.errors import InputError

        if not looks_deep(self.net):
            extra = next((name for name, value in asdict(self.deep).items() if value != getattr(Deep(), name)), None)
            if onnx or extra is not None:
                option = "onnx" if onnx else str(extra).removeprefix("max_").replace("_", "-")
                raise InputError(f"--{option}: is for deep nets, got --net {self.net}; leave it out.")
        elif self.heads == "shrunk" or self.answer_weights is not None:
            option = "--heads shrunk" if self.heads == "shrunk" else "--answer-weights"
            raise InputError(f"{option}: is for --net linear, mlp or auto, got {self.net}; leave it out.")

    @_stops_told()
    def fit(
        self,
        learn: "ExpertTable",
        *,
        text: tuple[str, ...],
        groups: Any,
        seed: int,
        shown: bool,
        pictures: "PictureRecipe | None" = None,
    ) -> "Router":
        """Learn from these cases."""
        # Only now: torch takes seconds to load, and most mistakes have shown.
        from defero import DeferralClassifier

        team = DeferralClassifier(
            self.net,
            loss=self.loss,
            heads=self.heads,
            min_answers=self.min_answers,
            answer_weights=self.answer_weights,
            text=list(text) or None,
            recipe=self.deep.recipe() if looks_deep(self.net) else None,
            checkpoints=self.deep.checkpoints,
            random_state=seed,
            progress=shown,
        )
        if pictures is not None:
            files = pictures.apply(learn.features)
            router = team.fit(files, learn.labels, experts=learn.answers, groups=groups).router_
            return replace(router, recipe=pictures)
        with warnings.catch_warnings():  # the list of the features says it
            warnings.filterwarnings("ignore", r"X: \d+ columns? (is|are) not used")
            return team.fit(learn.features, learn.labels, experts=learn.answers, groups=groups).router_

    def outcome(self, router: "Router") -> dict[str, str]:
        """Return which network and which heads there are now, where "auto" had the choice too."""
        from defero.scorers.network import NetworkScorer
        from defero.scorers.team import TeamScorer

        scorer = router.scorer
        base = scorer.base if isinstance(scorer, TeamScorer) else scorer
        deep = isinstance(base, NetworkScorer) and bool(base.branches["class"])
        if looks_deep(self.net):
            return {"net": self.net, "heads": "separate"}
        shrunk = isinstance(scorer, TeamScorer) and scorer.n_own == 0 and bool(router.expert_names)
        return {"net": "mlp" if deep else "linear", "heads": "shrunk" if shrunk else "separate"}

    def sentence(self, router: "Router") -> str:
        """Say the same for a person, and by what it was chosen."""
        found = self.outcome(router)
        how = ", the better of linear and mlp on held-out labels" if self.net == "auto" else ""
        said = f"Network: {found['net']}{how}."
        if not router.expert_names:
            return said
        heads = {
            "shrunk": "drawn to what the experts have in common, the more so the fewer answers one gave",
            "separate": "each learned from their own answers alone",
        }
        return f"{said} Experts: {heads[found['heads']]}."


def _deep_net(given: str) -> str:
    """Return the name of a deep net, or say which was meant, before any picture is read."""
    from defero.core.errors import InputError
    from defero.nets.named import NET_NAMES, is_net_name, meant_net

    if not is_net_name(given):
        known = ", ".join((*NETS, *NET_NAMES))
        raise InputError(f"--net must be one of {known}, got {given!r}{meant_net(given, tuple(NETS))}")
    return given


def _known(option: str, given: str, known: "Mapping[str, One]") -> One:
    from defero.core.errors import InputError
    from defero.core.wording import did_you_mean, join_names

    if given not in known:
        raise InputError(f"{option} must be one of {join_names(known)}, got {given!r}{did_you_mean(given, known)}")
    return known[given]
