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
