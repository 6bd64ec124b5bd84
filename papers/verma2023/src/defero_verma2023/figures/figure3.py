"""Figure 3, conformal sets of experts among whom are ever more oracles, and the appendix's figure of overlap."""

from defero_verma2023.figures.figure import PaperFigure
from defero_verma2023.figures.set_panels import (
    our_left_out,
    our_sizes,
    our_votes,
    paper_left_out,
    paper_sizes,
    paper_votes,
)

FIGURES = (
    PaperFigure(
        name="fig3a",
        title="Figure 3a: experts in the conformal set, oracles without noise",
        experiment_name="oracles",
        x_label="oracles among ten experts",
        panels=(paper_sizes(diagonal=True), our_sizes(diagonal=True), paper_left_out(), our_left_out()),
        claim="Naive sets are too large, OvA's less so; regularized sets hold nearly as many experts as there are "
        "oracles.",
        first_x=1.0,
    ),
    PaperFigure(
        name="fig3b",
        title="Figure 3b: experts in the conformal set, oracles with noise",
        experiment_name="noisy-oracles",
        x_label="oracles among ten experts",
        panels=(paper_sizes(diagonal=True), our_sizes(diagonal=True), paper_left_out(), our_left_out()),
        claim="Naive sets hold nearly everybody; regularized sets do well, softmax's slightly better for 2 to 5 "
        "oracles.",
        first_x=1.0,
    ),
    PaperFigure(
        name="fig3c",
        title="Figure 3c: system accuracy of ensembles, oracles without noise",
        experiment_name="oracles",
        x_label="oracles among ten experts",
        panels=(
            paper_votes("regularized", title="the paper: majority of the regularized set"),
            paper_votes("naive", title="the paper: majority of the naive set, as run"),
            our_votes(),
        ),
        claim="With one and two oracles the conformal set beats a fixed five; with three and more they are equal.",
        first_x=1.0,
    ),
    PaperFigure(
        name="overlap",
        title="Appendix: ten experts, each an oracle on one class, of growing overlap",
        experiment_name="overlap",
        x_label="overlap: how often experts know the other classes",
        panels=(
            paper_sizes(diagonal=False),
            our_sizes(diagonal=False),
            paper_left_out(),
            our_left_out(),
            paper_votes("naive", title="the paper: majority of the naive set, as run"),
            paper_votes("regularized", title="the paper: majority of the regularized set"),
            our_votes(),
        ),
        claim="Regularized sets grow with the overlap and naive ones hold nearly everybody; the naive vote is slightly "
        "better than a fixed five, the regularized one slightly worse at low overlap.",
    ),
)
