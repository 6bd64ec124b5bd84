"""What comes in and goes out, as OpenAPI shows it."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictBool, StringConstraints

from defero.service import TITLES
from defero.service.views.connections import LanguageModelCalls, StudioIn, StudioState
from defero.service.views.policy import MOST_NUMBER, ROLES, Cell, LabelIn, Name, Person, PersonId, Strict, one_of
from defero.service.views.promises import ACTIONS

MOST_CASES = 1_000
"""Of one request."""


Case = Annotated[str, StringConstraints(pattern=r"^c[1-9][0-9]{0,17}$")]
MEDIA = "application/problem+json"


class ProblemOut(BaseModel):
    """What is wrong, and what to do."""

    model_config = ConfigDict(extra="allow")
    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no such case."])


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of errors; every route can refuse a caller, a size or a content."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemOut"}}
    return {
        status: {"description": TITLES[status], "content": {MEDIA: schema}}
        for status in sorted({400, 401, 403, 413, 422, 429, 503, *statuses})
    }


class CaseIn(Strict):
    """A new case: the features that the model was fitted on, and anything else that an expert should see."""

    key: Name | None = Field(None, description="Your own name of the case. It can be erased.", examples=["patient-7"])
    features: dict[str, Cell] | Annotated[list[FiniteFloat], Field(min_length=1)] = Field(
        examples=[{"age": 41, "site": "arm"}],
        description="By column; in order for a model that was fitted on an array.",
    )


class CasesIn(Strict):
    """New cases."""

    cases: list[CaseIn] = Field(min_length=1, max_length=MOST_CASES)


class StepOut(BaseModel):
    """The next step of a case: its answer, or whom to ask."""

    case: str = Field(examples=["c12"])
    status: str = Field(examples=["open"], description='"open", "settled" or "observed" (shadow mode).')
    ask: str | None = Field(examples=["ann"], description="Name of the expert who has the question now.")
    person: str | None = Field(examples=["p3"], description="Their id.")
    due: float | None = Field(description="When the question goes to somebody else, in seconds since 1970.")
    label: Any = Field(description="The answer, once the case is settled.")
    p_right: float | None = Field(description="P(the answer by what is known now is right).")
    answer_cost: float | None = Field(description="Expected cost of answering now.")
    expected_cost: float | None = Field(description="Expected cost from here on, with the fees of questions to come.")
    reason: str = Field(examples=["ask ann: 0.200 expected, 0.400 if answered now"])
    model: str = Field(description="Version of the model.")
    policy: int = Field(description="Version of the policy.")


class NewCaseOut(StepOut):
    """A new case with its first step, and what the model believes of it."""

    key: str | None
    p_class: dict[str, float]
    p_expert: dict[str, float]
    unusual: list[str] = Field(description="Columns that make it unlike the cases that the model learned from.")


class NewCasesOut(BaseModel):
    """New cases, in the order of the request."""

    cases: list[NewCaseOut]


class CaseIdIn(Strict):
    """A case by its id."""

    case: Case = Field(examples=["c12"])


class AnswerIn(CaseIdIn):
    """An answer to a case."""

    answer: LabelIn = Field(examples=["ill"], description="One of the classes.")
    person: PersonId | None = Field(
        default=None, description="Whose answer it is; experts leave it out.", examples=["p3"]
    )


class AnswerOut(StepOut):
    """What follows from an answer."""

    counted: bool = Field(description="False where the case was settled before.")


class SkipIn(CaseIdIn):
    """A question that goes back."""

    person: PersonId | None = Field(default=None, description="Whose question it is; experts leave it out.")
    note: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=500)] = Field(
        "", examples=["not my field"], description="Why. It is erased with the case."
    )


class OutcomeIn(CaseIdIn):
    """The truth of a case."""

    label: LabelIn = Field(examples=["ill"])


class OutcomesIn(Strict):
    """The truth of some cases; a later one corrects an earlier one."""

    outcomes: list[OutcomeIn] = Field(min_length=1, max_length=MOST_CASES)


class OutcomesOut(BaseModel):
    """How many outcomes came, and how many of them were new or corrected."""

    received: int
    changed: int


class PersonIn(Strict):
    """Somebody who joins."""

    name: Name = Field(examples=["ann"])
    role: Annotated[str, one_of(ROLES)] = Field(examples=["expert"])
    capacity: int | None = Field(None, ge=0, le=MOST_NUMBER, description="The most questions a day (UTC).")


class PersonChangeIn(Strict):
    """What changes about a person."""

    available: StrictBool = Field(True, examples=[False])
    capacity: int | None = Field(None, ge=0, le=MOST_NUMBER, description="Questions a day; null: no limit.")


class PersonOut(Person):
    """A person."""

    name: str = Field(examples=["ann"])
    asked_today: int


class PeopleOut(BaseModel):
    """Everybody."""

    people: list[PersonOut]


class TokenOut(BaseModel):
    """A new token; it is not shown again."""

    token: str
    expires: float


class DriftActIn(Strict):
    """What to do about an alarm."""

    action: Annotated[str, one_of(ACTIONS)] = Field(
        examples=["correct"],
        description="Correct the promise by the outcomes since the change, dismiss the alarm, withdraw a correction.",
    )


class ModelIn(Strict):
    """A model to load."""

    folder: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = Field(
        examples=["november"], description="A folder in the folder of models that the service was started with."
    )


class LanguageModelOut(LanguageModelCalls):
    """An expert that is a language model, how its calls go, and whether they can be made."""

    paid_today: float = Field(description="What its calls cost so far today (UTC).")
    key_is_set: bool = Field(description="Whether this server process has the key.")


class LanguageModelsOut(Strict):
    """Every expert that is a language model."""

    language_models: list[LanguageModelOut]


class StudioOut(StudioIn, StudioState):
    """A project of Label Studio, and how it goes."""


class StudioSetOut(StudioOut):
    """A project of Label Studio with the secret of its webhook."""

    secret: str
