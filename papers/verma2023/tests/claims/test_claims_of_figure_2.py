"""Verdicts on Figure 2 say why: what the models do alone, how seeds differ, and which contrast is missing."""

from claim_cases import P_IN, alone, both, merged, ours

from defero_verma2023.claims import accuracy, beside, calibration
from defero_verma2023.claims.judge import Evidence
from defero_verma2023.claims.verdict import CONFIRMED, CONTRADICTED

FEW = (4.0, 8.0, 12.0)


def models(ova, softmax):
    """Systems two points apart, and the models within them."""
    return merged(both("system_accuracy", 0.92, 0.9, settings=FEW), both("class_accuracy", ova, softmax, settings=FEW))


def test_figure_2b_tells_what_of_a_difference_is_the_classifiers():
    most = ", so most of the difference is the classifiers', not deferral's."
    evidence = Evidence(models(0.91, 0.89), models(0.88, 0.865), ())
    why = accuracy.ova_is_ahead_with_few_copies(evidence).why
    assert f"The models alone: ours OvA 91.0, softmax 89.0 %; the authors' stored OvA 88.0, softmax 86.5 %{most}" in why
    for other in (models(0.91, 0.905), models(0.89, 0.91)):  # less than half of it; the other way round
        why = accuracy.ova_is_ahead_with_few_copies(Evidence(other, models(0.88, 0.865), ())).why
        assert "The models alone: ours OvA" in why
        assert "most of the difference" not in why
    assert (
        "models alone"
        not in accuracy.ova_is_ahead_with_few_copies(ours(both("system_accuracy", 0.92, 0.9, settings=FEW))).why
    )


def test_figure_2d_tells_seeds_apart_and_its_contrast_is_beside_the_claim():
    falling = ours(both("ece_by_expert.0", 0.01, lambda p: 0.03 - p / 50, settings=P_IN))
    why = calibration.softmax_mistakes_the_random_expert(falling).why
    assert "Seed by seed it rises by -1.50, -1.50, -1.50 points." in why
    assert calibration.ova_knows_the_random_expert(falling).direction == CONFIRMED
    contrast = beside.softmax_s_error_rises_more(falling)
    assert (contrast.direction, contrast.ours.words()) == (CONTRADICTED, "-1.50 [-1.50, -1.50], 3 seeds")
    one = ours(both("ece_by_expert.0", 0.01, 0.02, settings=P_IN, seeds=(0,)))
    assert "Seed by seed" not in calibration.softmax_mistakes_the_random_expert(one).why


def test_figure_2b_tells_when_asking_nobody_is_better():
    both_losses = both("system_accuracy", 0.92, 0.94, settings=FEW)
    for value, words in ((0.91, "91.0 %."), (0.93, "93.0 %, above OvA."), (0.95, "95.0 %, above OvA and softmax.")):
        why = accuracy.ova_is_ahead_with_few_copies(ours([*both_losses, *alone(value)])).why
        assert f"One classifier: {words}" in why
    assert "One classifier" not in accuracy.ova_is_ahead_with_few_copies(ours(both_losses)).why
