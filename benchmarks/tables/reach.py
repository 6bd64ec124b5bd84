"""What can be reached: teams that are told more than anybody knows, beside the plain systems and the default."""

from collections.abc import Iterable

import numpy as np

from benchmarks.tables.bounds import RING_KNOWN, SKILL_KNOWN, WHAT
from benchmarks.tables.summary import DEFAULT, Table
from benchmarks.tables.verdicts import LEAST_ABOVE, TRUE_GAIN, points
from defero.core.wording import join_names

Bounds = dict[str, dict[str, list[float]]]
"""{set: {what a team is told: its accuracy on each split}}."""


def reach_section(table: Table, bounds: Bounds) -> str:
    """Return how far the default and the best possible teams are from each plain system where answers are few."""
    names = [name for name in table.sets() if table.settings[name].kind == "few answers" and name in bounds]
    if not names:
        return ""
    told = [what for what in WHAT if any(what in bounds[name] for name in names)]
    rows = [
        "## What can be reached with 20 answers of each expert",
        "",
        "The experts of these sets are simulated. So a team can be told what nobody knows in practice",
        "(`python -m benchmarks.tables.bounds`). What it reaches is a bound for all teams if it is told the classes,",
        "and else for teams with the same model of the classes:",
        "",
        *(f"- *{what}*: {WHAT[what]}." for what in told),
        "",
        f"Points above each plain system. Where the last column is below {100 * LEAST_ABOVE:.0f}, no such team can be",
        "a point above that system by these answers.",
        "",
        "| set, plain system | default | team that is told | above the plain system |",
        "| --- | --- | --- | --- |",
    ]
    for name in names:
        for other, system in table.systems.items():
            difference = table.difference(name, other) if system.plain else None
            if difference is None:
                continue
            theirs = 100 * table.mean(name, other, "accuracy")
            for what, values in bounds[name].items():
                above = 100 * float(np.mean(values)) - theirs
                rows.append(f"| {name}, {other} | {points(difference)} | {what} | {above:+.2f} |")
    return "\n".join(rows)


def gain_rows(table: Table, name: str, bounds: Bounds) -> list[str]:
    """Return the rows of the table of gains for teams that are told more; their model is the best possible one."""
    best_model, best_team = (table.mean(name, DEFAULT, key) for key in ("best_model", "best_team"))
    rows = []
    for what, values in bounds.get(name, {}).items():
        reached = float(np.mean(values))
        share, lost = (reached - best_model) / TRUE_GAIN, 100 * (best_team - reached)
        cells = f"{100 * best_model:.2f} | {100 * reached:.2f} | {share:.0%} | {lost:.2f}"
        rows.append(f"| {name}, a team that {what} | {cells} |")
    return rows


WHY = """## What is not met, and why

- **A point above the logistic two-stage on few-skilled-10 and few-skilled-50** cannot be met by any team: Bayes' rule,
  told the classes and how skill varies, is {skilled_10:+.2f} and {skilled_50:+.2f} points above it. The features tell
  nothing of the skill there, and taking the expert with the most right answers of 20 is nearly the best rule.
- **few-skilled-50, {below:+.2f} points from the logistic two-stage**: in {n_tied} of {n_splits} splits several experts
  share the highest count of right answers, and asking one of them or another differs by up to {most:.0f} points on the
  test rows. Which of them is asked is luck: with one of them drawn at random the mean of these splits has a standard
  deviation of {sd:.1f} points.
  Dividing the questions among equal experts would have the same mean and less spread. The default does not do it: with
  features, experts are hardly ever equal, and who gets a case would depend on a draw. `--capacity` shares out the work.
- **few-credit**: skill depends on the features, and a team that knows it is at least {credit:.0f} points above every
  plain system. But 20 answers of one expert hardly tell where they are good. With 10, 50 and 200 experts Bayes' rule,
  told how the experts are drawn, reaches {rings},
  the default {ours}
  and the best plain system {plain}. So with {beyond} experts no rule can be
  a point above the best plain system by these answers, with the same model of the classes.
- **gain3-constant, {constant:+.2f} points from the shares by class**: that system assumes just what is true there, a
  logistic model and skill that is the same everywhere. About 0.07 points of it are the rows that the default keeps for
  panels; the rest is the price of looking for more. With ten splits so small a loss was not significant.
- **gain3-hard-region**: a team that knows the classes and the region keeps all of the 3 points. The default must learn
  both from 600 rows. Its own model is {hard_model:.2f} points below the best one, while asking can bring 3. The team is
  {hard_above:+.2f} points above the plain boosted model, most of it by its own better model. Whether a team that must
  find the region and the border in 600 rows can keep 90 % of the 3 points is not known. Trees that learn where the
  model is right, beside its confidence, did not lower the log loss on held-out rows (three draws: gains of +0.003,
  -0.002 and +0.008 with standard errors of 0.004). Its promises are too low because its smooth model is not sure enough
  of a sharp border, and 488 rows do not show that clearly enough to correct it.
- **few-credit-200, promised minus kept**: 200 experts with 20 answers; the one who looks best of all has seldom
  answered a held-out row (14 of 480), so the correction rests on the best of the few who did. Tried on other draws:
  weighting all answers by how often their expert looks best (8 points too high), counting cases less on which nobody
  would be asked (no change), and letting the answers of others lower a promise and not raise it (0.7 points lower
  here, but 0.5 to 0.8 points lower on recidivism-966 too, where promises are too low already)."""


def why_section(table: Table, bounds: Bounds, ties: list[dict[str, float]]) -> str:
    """Return the lines that are not met in plain words; nothing unless all sets that they speak of have run."""
    needed = ("few-skilled-10", "few-skilled-50", "few-credit-200", "gain3-constant", "gain3-hard-region")
    if not ties or any(name not in table.sets() or name not in bounds for name in needed):
        return ""
    logistic, law = "logistic two-stage", "knows the classes and how skill varies, learns who is good"

    def above(name: str) -> float:
        return 100 * (float(np.mean(bounds[name][law])) - table.mean(name, logistic, "accuracy"))

    below, over = table.difference("few-skilled-50", logistic), table.difference("gain3-hard-region", "model alone")
    constant = table.difference("gain3-constant", "logistic, shares by class")
    assert below is not None
    assert constant is not None
    assert over is not None
    hard = [table.mean("gain3-hard-region", DEFAULT, key) for key in ("best_model", "true_model")]
    plain = [name for name, system in table.systems.items() if system.plain]
    credits = [name for name in bounds if name.startswith("few-credit")]
    best_plain = {name: max(table.mean(name, other, "accuracy") for other in plain) for name in credits}

    ring = {name: float(np.mean(bounds[name][RING_KNOWN])) for name in credits}

    def percents(values: Iterable[float]) -> str:
        return join_names([f"{100 * value:.1f}" for value in values]) + " %"

    return WHY.format(
        n_tied=sum(tie["n"] > 1 for tie in ties),
        n_splits=len(ties),
        most=100 * max(tie["range"] for tie in ties),
        sd=100 * float(np.sqrt(sum(tie["sd"] ** 2 for tie in ties))) / len(ties),
        credit=np.floor(100 * min(float(np.mean(bounds[name][SKILL_KNOWN])) - best_plain[name] for name in credits)),
        rings=percents(ring.values()),
        beyond=join_names(name.rpartition("-")[2] for name in credits if ring[name] - best_plain[name] < LEAST_ABOVE),
        ours=percents(table.mean(name, DEFAULT, "accuracy") for name in credits),
        plain=percents(best_plain.values()),
        skilled_10=above("few-skilled-10"),
        skilled_50=above("few-skilled-50"),
        below=100 * below.mean,
        constant=100 * constant.mean,
        hard_model=100 * (hard[0] - hard[1]),
        hard_above=100 * over.mean,
    )
