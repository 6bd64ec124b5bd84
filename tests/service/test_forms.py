"""Forms: read by the schema of a route, whatever somebody sends; and the texts that they show."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.service import Problem, checked
from defero.service.views.connections import LanguageModelIn, StudioIn
from defero.service.views.policy import PolicyIn
from defero.service.web.forms import form_values, text_at
from defero.service.web.schemas import PersonChangeIn

NAMES = ["fees", "fees/p1", "capacity/p1", "rules/0/do", "rules", "cost_matrix/a/b", "cost_matrix", "mode"]


def test_a_text_is_read_as_its_place_says():
    fields = {"fees/p1": "2.5", "capacity/p1": "40", "answer_within": " ", "panel_size": "", "rules/4/do": "never_ask"}
    fields |= {"rules/4/person": "p1", "rules/4/label": "", "rules/4/equals": " 0.7 ", "cost_matrix/a%2Fb/c": "3"}
    policy = checked(PolicyIn, form_values(PolicyIn, {**fields, "csrf": "x", "no/such": "y"}))
    assert (policy.fees, policy.capacity, policy.answer_within, policy.panel_size) == ({"p1": 2.5}, {"p1": 40}, None, 3)
    assert [rule.model_dump(exclude_none=True) for rule in policy.rules] == [
        {"do": "never_ask", "person": "p1", "equals": "0.7"}
    ]
    assert policy.cost_matrix == {"a/b": {"c": 3.0}}
    assert form_values(PersonChangeIn, {"available": "no", "capacity": ""}) == {"available": False, "capacity": None}
    model = form_values(LanguageModelIn, {"classes": "ill, well,", "options": '{"n": 1}', "per_minute": "7"})
    assert model == {"classes": ["ill", "well"], "options": {"n": 1}, "per_minute": 7}
    assert form_values(StudioIn, {"people/p1": "", "people/p2": "a@b.c"})["people"] == {"p1": None, "p2": "a@b.c"}


@pytest.mark.parametrize("text", ["{", "NaN", '"\\ud800"', "[" * 100_000, "9" * 6_000])
def test_json_that_cannot_be_read_is_refused_and_shown_again(text):
    values = form_values(LanguageModelIn, {"url": "https://a.example", "model": "m", "options": text})
    with pytest.raises(Problem, match="options: must be JSON"):
        checked(LanguageModelIn, values)
    assert text_at(values, "options")


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=20), st.text(max_size=20), max_size=6))
def test_whatever_is_sent_is_a_policy_or_refused(fields):
    with suppress(Problem):
        assert isinstance(checked(PolicyIn, form_values(PolicyIn, fields)), PolicyIn)


def test_a_name_of_many_parts_is_not_followed():
    assert form_values(PolicyIn, {"fees/" * 1_000_000: "1"}) == {}
