"""What it costs: every way in money, and more or fewer questions."""

import math

from matplotlib.axes import Axes

from defero.core.results import MODEL
from defero.core.trials.trial import Trial
from defero.core.wording import money
from defero.judge.record.costs import CostFrontier, CostRecord, MeanCost, WayCost, cost_frontier
from defero.judge.record.team import TeamRecord
from defero.plotting import style
from defero.report.html import Html, joined, paragraph, section, tag
from defero.report.numbers import NOTHING
from defero.report.svg import figure
from defero.report.tables import Cell, table

NO_FEE = "No fee is set, so each question costs 0.01 of an error, as in the table of the ways of asking."


def costs(trial: Trial, record: TeamRecord) -> Html:
    """Return the section; without fees and costs of errors it is counted in errors."""
    somebody = bool((trial.decision.best_expert != MODEL).any())
    return section(
        "costs",
        "What does it cost?",
        *([] if record.costs is None else _ways(record.costs)),
        *(_frontier(trial, record) if somebody else [paragraph("No case has an expert who could be asked.")]),
    )


def _ways(costs_of: CostRecord) -> list[Html]:
    team, n_items = costs_of.team, costs_of.n_items
    spent, errors, total = (money(n_items * one) for one in (team.spent, team.errors, team.total.mean))
    return [
        paragraph(
            f"On these {n_items:,} cases the team spends {spent} on questions, and its errors cost {errors}: {total} "
            f"in total, in your unit of money. {_benefit(team, costs_of.like)}"
        ),
        table(
            "Money per case, with 95 % intervals (Student's t). Savings are paired, case by case.",
            ["", "questions", "errors", "total", "saves against the model", "against everybody"],
            [_way_row(one, costs_of.like, team=one.name == costs_of.ask) for one in costs_of.ways],
        ),
    ]


def _benefit(team: WayCost, like: float) -> str:
    """Say what the team saves against the model alone and against everybody."""
    sentences = []
    for one, whom in ((team.against_model, "the model alone"), (team.against_everybody, "a vote of everybody")):
        if one is None:
            continue
        amount = _number(abs(one.mean), like)
        verb = f"saves {amount}" if one.mean >= 0 else f"costs {amount} more"
        sure = "" if math.isnan(one.low) or one.low > 0 or one.high < 0 else " (this may be chance)"
        sentences.append(f"Compared with {whom} it {verb} per case{sure}.")
    return " ".join(sentences)


def _way_row(way: WayCost, like: float, *, team: bool) -> list[str | Cell]:
    name = tag("strong", f"{way.words} (the team)") if team else way.words
    total = f"{_number(way.total.mean, like)}{_ends(way.total, like)}"
    savings = [_saving(way.against_model, like), _saving(way.against_everybody, like)]
    return [name, _number(way.spent, like), _number(way.errors, like), total, *savings]


def _saving(one: MeanCost | None, like: float) -> str:
    if one is None:
        return NOTHING
    kind = "good" if one.low > 0 else "bad" if one.high < 0 else "unsure"
    number = tag("span", _number(one.mean, like), attributes={"class": kind})
    return joined([number, _ends(one, like)])


def _ends(one: MeanCost, like: float) -> str:
    return "" if math.isnan(one.low) else f" ({_number(one.low, like)} to {_number(one.high, like)})"


def _number(amount: float, like: float | None = None) -> str:
    """Write an amount with the page's minus sign.

    >>> _number(-2.5)
    '−2.50'
    """
    return money(amount, like=like).replace("-", "\u2212")


def _frontier(trial: Trial, record: TeamRecord) -> list[Html]:
    frontier, in_money = cost_frontier(trial), record.costs is not None
    what = "money per case" if in_money else "errors per case"
    free = "" if record.fees_given else f" {NO_FEE}"
    return [
        tag("h3", "More or fewer questions"),
        paragraph(
            "The curve asks one expert about ever more cases, those with the largest expected saving first. The marks "
            f"are the other ways of asking, at the number of questions that they ask.{free}"
        ),
        figure(
            "frontier",
            f"Total cost ({what}) by the number of questions per case.",
            lambda ax: _draw(ax, frontier, record, what=what),
            size=(5.2, 3.8),
        ),
    ]


def _draw(ax: Axes, frontier: CostFrontier, record: TeamRecord, *, what: str) -> None:
    marks = {"one": "D", "sequential": "o", "panel": "P", "everybody_bayes": "^", "best_expert": "v", "model": "s"}
    colours = {"model": style.MODEL, "everybody_bayes": style.EXPERT, "best_expert": style.EXPERT}
    with style.drawing():
        style.dress(ax, x="questions per case", y=what)
        ax.plot(
            frontier.rate, frontier.total, color=style.TEAM, linewidth=1.8, label="one expert, largest saving first"
        )
        for way in record.ways:
            if way.name in marks:
                ax.plot(
                    way.questions,
                    way.cost,
                    linestyle="none",
                    marker=marks[way.name],
                    markersize=6.5,
                    color=colours.get(way.name, style.INK),
                    label=way.words,
                    clip_on=False,
                    zorder=4,
                )
        ax.set_xlim(left=0)
        ax.margins(y=0.1)
        style.legend_above(ax)
