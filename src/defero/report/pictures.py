"""Pictures of the report: matplotlib figures as inline SVG with unique ids and colours that follow the page."""

import io
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.results import MODEL
from defero.core.trial import Trial
from defero.core.wording import count_of, percent, printable
from defero.judge.accuracy import trial_curve
from defero.judge.record.scores import ScoreRecord
from defero.judge.record.tables import most_asked_first
from defero.judge.record.team import Record
from defero.plotting import (
    AgreementDisplay,
    DeferralCurveDisplay,
    ExpertLoadDisplay,
    PoolFrontierDisplay,
    ReliabilityDisplay,
    SetSizeDisplay,
    style,
)

_NAMESPACE = re.compile(r"^\{[^}]*\}")
_LONG_NUMBER = re.compile(r"(\d+\.\d{2})\d+")
_REFERENCE = re.compile(r"#([A-Za-z_][\w.-]*)\)")
_SETTINGS: dict[str, object] = {
    # Text stays text: small, in the page's font, and open to search and screen readers.
    "svg.fonttype": "none",
    # An expert may be called "$100".
    "text.parse_math": False,
}
_ENLARGED = 1.2
"""Letters of 8 points in print are too small on a screen."""
_VARIABLES = {
    style.INK: "ink",
    style.MUTED: "muted",
    style.GRID: "grid",
    style.PAPER: "paper",
    style.TEAM: "team",
    style.MODEL: "model",
    style.EXPERT: "expert",
}
"""Colours of the pictures, and their names in the style sheet."""


@dataclass(frozen=True)
class Picture:
    """A picture with its words.

    Attributes
    ----------
    svg : Markup
    caption, name : str
        The name stands before the caption, in bold.
    label : str
        Text for screen readers.
    kind : str
        Class for the style sheet.
    """

    svg: Markup
    caption: str
    label: str
    kind: str = "wide"
    name: str = ""


def picture(
    key: str,
    caption: str,
    draw: Callable[[Axes], object],
    *,
    size: tuple[float, float] = (5.2, 3.8),
    room: tuple[float, float, float, float] | None = None,
    label: str = "",
    kind: str = "wide",
    name: str = "",
) -> Picture:
    """Return a picture with its caption.

    Parameters
    ----------
    key : str
        Unique in the page; the prefix of every id of the picture.
    caption : str
    draw : callable
        Draws on the Axes that it gets.
    size : (width, height)
        In inches.
    room : (left, bottom, width, height), optional
        Position of the Axes as shares of the picture; by default from matplotlib's constrained layout.
    label, kind, name : str
        As in `Picture`; the label is the caption by default.
    """
    settings: Any = {**_SETTINGS, "svg.hashsalt": key}
    with matplotlib.rc_context(settings):
        # Not by pyplot, which would hold every figure in memory.
        drawn = Figure(figsize=size, layout="constrained" if room is None else None)
        draw(drawn.add_subplot() if room is None else drawn.add_axes(room))
        image = inline_svg(drawn, key=key, label=label or caption)
    return Picture(image, caption, label or caption, kind, name)


def inline_svg(drawn: Figure, *, key: str, label: str) -> Markup:
    """Return a figure as an `svg` element with unique ids, without fixed colours and sizes."""
    written = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has its own fonts
        drawn.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(printable(written.getvalue()))  # XML has no control characters
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        attributes = {_local(name): value for name, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({name: _adapted(name, value, key=key) for name, value in attributes.items()})
    width = float(root.attrib.pop("width").removesuffix("pt"))
    for name in ("height", "version"):
        root.attrib.pop(name, None)
    root.attrib.update(
        {
            "role": "img",
            "aria-label": printable(" ".join(label.split())),
            "style": f"--width: {_ENLARGED * width * 96 / 72:.0f}px",
        }
    )
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _adapted(name: str, value: str, *, key: str) -> str:
    """Return an attribute's value for the page."""
    if name == "id":
        return f"{key}-{value}"
    if name == "href":
        return value.replace("#", f"#{key}-", 1)
    if name in ("d", "points", "transform", "x", "y", "width", "height"):
        return _LONG_NUMBER.sub(r"\1", value)
    if name in ("clip-path", "style", "fill"):  # in a style: url(#...) of a hatched patch
        value = _REFERENCE.sub(rf"#{key}-\1)", value)
    if name in ("style", "fill", "stroke"):
        for colour, variable in _VARIABLES.items():
            value = value.replace(colour, f"var(--{variable})")
    return value


def _local(name: str) -> str:
    return _NAMESPACE.sub("", name)


@dataclass(frozen=True)
class TeamPictures:
    """The pictures of a team's report, each drawn when the page asks for it."""

    trial: Trial
    record: Record

    @property
    def somebody(self) -> bool:
        """Whether any case has an expert who could be asked."""
        return bool((self.trial.decision.best_expert != MODEL).any())

    @property
    def answered(self) -> bool:
        """Whether any answer is recorded."""
        return bool(self.trial.observed.any())

    def frontier(self) -> Picture:
        """Return the cost by the number of questions."""
        what = "errors per case" if self.record.costs is None else "money per case"
        caption = f"Total cost ({what}) by the number of questions per case."
        return picture("frontier", caption, partial(self._draw_frontier, what=what))

    def _draw_frontier(self, ax: Axes, *, what: str) -> None:
        curve = trial_curve(self.trial)
        marks = {"one": "D", "sequential": "o", "panel": "P", "everybody_bayes": "^", "best_expert": "v", "model": "s"}
        colours = {"model": style.MODEL, "everybody_bayes": style.EXPERT, "best_expert": style.EXPERT}
        with style.drawing():
            style.dress(ax, x="questions per case", y=what)
            label = "one expert, largest saving first"
            ax.plot(curve.rate, curve.cost, color=style.TEAM, linewidth=1.8, label=label)
            for way in self.record.ways:
                if way.name in marks:
                    looks: dict[str, Any] = {
                        "marker": marks[way.name],
                        "color": colours.get(way.name, style.INK),
                        "label": way.words,
                    }
                    style.draw_points(ax, way.questions, way.cost, **looks)
            ax.set_xlim(left=0)
            ax.margins(y=0.1)
            style.legend_above(ax)

    def agreement(self) -> Picture:
        """Return accuracy and agreement by the model's confidence."""
        return picture(
            "agreement",
            "Cases ordered by the confidence of the model: its accuracy, the average accuracy of the experts, and how "
            "often both give the same answer. Bands are 95 % intervals; bars below count the cases.",
            lambda ax: AgreementDisplay.from_trial(self.trial, ax=ax),
        )

    def load(self) -> Picture:
        """Return who gets how many cases, and how accurate they are there."""
        promised, names = self.record.promising, self.trial.expert_names
        caption = (
            "Left: the share of all cases that each expert gets. Right: their accuracy on these cases (dot and line)"
        )
        more = ", with the interval of the table, beside the promised one (open diamond)" if promised else ""
        return picture("load", f"{caption}{more}.", self._draw_load, size=(6.4, 1.2 + 0.23 * max(len(names), 3)))

    def _draw_load(self, ax: Axes) -> None:
        trial = self.trial
        if self.record.promising:
            level = self.record.promises.all_experts.level
            ExpertLoadDisplay.from_trial(trial, ax=ax, level=level, interval="clopper-pearson")
            return
        labels = trial.decision, trial.answer_idx, trial.label_idx
        ExpertLoadDisplay.from_predictions(*labels, expert_names=trial.expert_names, ax=ax)

    def reliability(self) -> list[Picture]:
        """Return the model's promised and kept shares, and those of each expert who answered, the most asked first."""
        trial, record = self.trial, self.record
        error = record.model_member.figures["smooth_error"].value
        pictures = [_reliability("m", "the model", trial.model_proba, trial.model_correct, error)]
        for j in most_asked_first(record):
            answered, one = trial.observed[:, j], record.experts[j]
            if answered.any():
                proba, right = trial.scores.expert_proba[answered, j], trial.expert_correct[answered, j]
                pictures.append(_reliability(f"e{j}", one.name, proba, right, one.figures["smooth_error"].value))
        return pictures

    def sizes(self) -> Picture:
        """Return the number of experts per panel."""
        caption = "Number of experts per panel, over the deferred cases."
        return picture("sizes", caption, lambda ax: SetSizeDisplay.from_trial(self.trial, ax=ax), size=(5.2, 3.2))

    def curve(self) -> Picture:
        """Return the accuracy by the share of deferred cases."""
        caption = "Accuracy of the team by the share of deferred cases, those with the largest expected gain first."
        return picture("curve", caption, lambda ax: DeferralCurveDisplay.from_trial(self.trial, ax=ax))


def score_frontier(record: ScoreRecord) -> Picture | None:
    """Return the score by the price of an item; None where one of them cannot be compared."""
    curve = record.curve
    if curve is None or record.one_score_each:
        return None
    pool, random = ((way.cost, way.quality) for way in (record.pool, record.ways["random"]))
    oracle = record.ways["oracle"].quality
    return picture(
        "frontier-picture",
        "Mean score against the mean price of an item at every trade-off, judged by the scores that came. The dashed "
        "line is the zero router, the dotted one the oracle.",
        lambda ax: PoolFrontierDisplay.from_curve(curve, ax=ax, chosen=pool, oracle=oracle, random=random),
        size=(5.2, 3.6),
    )


def _reliability(key: str, name: str, confidence: FloatArray, correct: BoolArray, error: float) -> Picture:
    def draw(ax: Axes) -> None:
        display = ReliabilityDisplay.from_predictions(confidence, correct, ax=ax)
        # One legend above all pictures, and each name as text of the page.
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
        ax.set(xlabel="", ylabel="")
        display.axes_[0].set_title("")

    caption = count_of(len(correct), "answer") + ("" if math.isnan(error) else f", error {percent(error)}")
    label = f"Stated probability of being right and share of right answers of {name}, {caption}"
    looks: dict[str, Any] = {"size": (1.95, 1.85), "room": (0.19, 0.12, 0.72, 0.85), "kind": "small", "name": name}
    return picture(f"reliability-{key}", caption, draw, label=label, **looks)
