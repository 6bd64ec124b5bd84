"""Figure 1: system accuracy above, calibration error below, as experts are added to three data sets."""

from defero_verma2023.figures.figure import Panel, PaperFigure, Series, additions, by_method
from defero_verma2023.methods import BEST_EXPERT, LABELS, ONE_CLASSIFIER


def _column(name: str, *, data_set: str, experiment: str, claim: str) -> PaperFigure:
    """Return the column of one data set."""
    baselines = (
        Series(BEST_EXPERT, "best_expert", "best expert", line="dotted", published="system_accuracy"),
        Series(ONE_CLASSIFIER, "system_accuracy", "one classifier", line="dashed", published="system_accuracy"),
    )
    alone = Series(ONE_CLASSIFIER, "system_accuracy", "one classifier", line="dashed")
    return PaperFigure(
        name=name,
        title=f"Figure 1, {data_set}: accuracy and calibration as experts are added",
        experiment_name=experiment,
        x_label="experts",
        panels=(
            Panel(
                title="the paper's methods",
                y_label="system accuracy, %",
                series=(*by_method("system_accuracy", methods=tuple(LABELS)), *baselines),
            ),
            Panel(
                title="added: calibration, other methods",
                y_label="system accuracy, %",
                series=(*additions("system_accuracy"), alone),
            ),
            Panel(
                title="the paper's methods, mean over the experts",
                y_label="ECE, %",
                series=by_method("ece", methods=tuple(LABELS)),
                log=True,
            ),
            Panel(title="added: calibration, other methods", y_label="ECE, %", series=additions("ece"), log=True),
        ),
        claim=claim,
    )


FIGURES = (
    _column(
        "fig1-hatespeech",
        data_set="HateSpeech",
        experiment="hatespeech",
        claim="OvA, softmax and the mixture of experts are about as accurate; OvA is the best calibrated.",
    ),
    _column(
        "fig1-ham10000",
        data_set="HAM10000",
        experiment="ham10000",
        claim="OvA is never below one classifier, softmax and the mixture of experts are; OvA is the best calibrated.",
    ),
    _column(
        "fig1-galaxyzoo",
        data_set="Galaxy-Zoo",
        experiment="galaxyzoo",
        claim="OvA is never below one classifier, softmax and the mixture of experts are; OvA is the best calibrated.",
    ),
)
