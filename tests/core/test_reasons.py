"""The reasons of decisions, case by case."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.results import Decision

NAMES = ("ann", "bob", "cem")


def phrase(decision: Decision, i: int) -> str:
    """Write the reason of one case."""
    who = [*decision.expert_names, "model"]
    best, asked = decision.best_expert[i], decision.expert[i]
    model, expert = f"model {decision.model_value[i]:.3f}", f"{who[best]} {decision.best_value[i]:.3f}"
    if best == -1:
        text = "no expert available"
    elif asked == best and decision.best_value[i] >= decision.model_value[i]:
        text = f"{expert} >= {model}"
    elif asked == -1 and decision.model_value[i] > decision.best_value[i]:
        text = f"{model} > {expert}"
    elif asked == best and decision.unusual[i]:
        text = f"{expert}, though {model}"
    else:
        rule = f": {decision.why_not}, with " if decision.why_not else " by rule, with "
        text = f"{who[asked]}{rule}{model} and best expert {expert}"
    return text + (f"; unusual: {decision.unusual[i]}" if decision.unusual[i] else "")


@given(st.integers(0, 30), st.sampled_from(["", "asking did not pay"]), st.data())
def test_reasons_are_those_of_each_case(n, why_not, data):
    def draw(dtype, elements):
        return data.draw(arrays(dtype, n, elements=elements))

    expert = st.integers(-1, 2)
    best = draw(np.int64, expert)
    probability = st.one_of(st.sampled_from([0.25, 0.5]), st.floats(0.0, 1.0))
    decision = Decision(
        expert=draw(np.int64, expert),
        expert_names=NAMES,
        expected_cost=np.zeros(n),
        model_value=draw(np.float64, probability),
        best_expert=best,
        best_value=np.where(best < 0, -np.inf, draw(np.float64, probability)),
        unusual=draw(object, st.sampled_from(["", "age", "age; site"])),
        why_not=why_not,
    )
    assert decision.reason == [phrase(decision, i) for i in range(n)]
    assert decision.phrases(3).tolist() == decision.reason[:3]
