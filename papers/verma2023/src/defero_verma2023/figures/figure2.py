"""Figure 2: two simulations on CIFAR-10, copies of one expert, and three of four experts who improve."""

from defero_verma2023.figures.figure import Panel, PaperFigure, Series, additions, by_method
from defero_verma2023.figures.set_panels import ALONE, our_votes
from defero_verma2023.methods import OURS


def _errors() -> tuple[Panel, ...]:
    """Return the calibration error of the paper's losses, and what was added."""
    return (
        Panel(title="the paper's two losses", y_label="ECE, %", series=by_method("ece")),
        Panel(
            title="added: other methods, as trained",
            y_label="ECE, %",
            series=tuple(Series(name, "ece", name) for name in OURS),
        ),
        Panel(title="added: after calibration", y_label="ECE, %", series=additions("ece")),
    )


FIGURES = (
    PaperFigure(
        name="fig2a",
        title="Figure 2a: calibration error as experts are added",
        experiment_name="sim1",
        x_label="experts",
        panels=_errors(),
        claim="OvA is stable at about 2 %, softmax at about twice that.",
    ),
    PaperFigure(
        name="fig2b",
        title="Figure 2b: system accuracy as experts are added",
        experiment_name="sim1",
        x_label="experts",
        panels=(
            Panel(
                title="the paper's two losses, one expert decides",
                y_label="system accuracy, %",
                series=(
                    *by_method("system_accuracy", published="votes.top_expert.system_accuracy"),
                    ALONE,
                ),
            ),
            Panel(
                title="added: calibration, other methods",
                y_label="system accuracy of one decider, %",
                series=(*additions("system_accuracy"), ALONE),
            ),
            Panel(
                title="added: the mixture, on an axis of its own",
                y_label="system accuracy of the mixture, %",
                series=(Series("moe", "system_accuracy", "mixture of experts"), ALONE),
            ),
            our_votes(),
        ),
        claim="OvA is more accurate with 12 experts or fewer (16 in the caption), softmax with 20.",
    ),
    PaperFigure(
        name="fig2c",
        title="Figure 2c: calibration error as three of four experts improve",
        experiment_name="sim2",
        x_label="how often the three are right on their classes",
        panels=_errors(),
        claim="OvA is better calibrated in every setting.",
    ),
    PaperFigure(
        name="fig2d",
        title="Figure 2d: calibration error of the random expert as the others improve",
        experiment_name="sim2",
        x_label="how often the other three are right on their classes",
        panels=(
            Panel(title="the paper's two losses", y_label="ECE, %", series=by_method("ece_by_expert.0")),
            Panel(
                title="added: other methods",
                y_label="ECE, %",
                series=tuple(Series(name, "ece_by_expert.0", name) for name in OURS),
            ),
        ),
        claim="OvA models the random expert well whatever the others can do; softmax's error grows as they improve.",
    ),
)
