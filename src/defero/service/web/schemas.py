"""What comes in and goes out, as OpenAPI shows it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictBool, StrictInt, StrictStr, StringConstraints

from defero.service.problems import TITLES
from defero.service.views.connections import KINDS, UNKNOWN
from defero.service.views.policy import ASKING, MODES, ON_DRIFT, ROLES, RULES, SHADOW_ANSWERS
from defero.service.views.promises import ACTIONS

MOST_CASES = 1_000
"""Of one request."""
MOST_NUMBER = 2**53
Case = Annotated[str, StringConstraints(pattern=r"^c[1-9][0-9]{0,17}$")]
PersonId = Annotated[str, StringConstraints(pattern=r"^p[1-9][0-9]{0,17}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
_Whole = Annotated[StrictInt, Field(ge=-MOST_NUMBER, le=MOST_NUMBER)]
LabelIn = Annotated[StrictStr, StringConstraints(max_length=200)] | StrictBool | _Whole | FiniteFloat
Cell = Annotated[StrictStr, StringConstraints(max_length=100_000)] | StrictBool | _Whole | FiniteFloat | None
Money = Annotated[FiniteFloat, Field(ge=0, le=1e12)]
_PORT = r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
Url = Annotated[str, StringConstraints(pattern=rf"^https?://[A-Za-z0-9.-]+{_PORT}(/[!-~]*)?$", max_length=500)]
"""Where the service sends requests: http or https, a host, a port up to 65535; no user, no password."""
BaseUrl = Annotated[str, StringConstraints(pattern=rf'^https?://[A-Za-z0-9.-]+{_PORT}(/[!"$->@-~]*)?$', max_length=500)]
"""The same without a query, as a path is added to it."""


class Strict(BaseModel):
    """Members that are not known are refused."""

    model_config = ConfigDict(extra="forbid")


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


class AnswerIn(Strict):
    """An answer to a case."""

    case: Case = Field(examples=["c12"])
    answer: LabelIn = Field(examples=["ill"], description="One of the classes.")
    person: PersonId | None = Field(None, description="Whose answer it is; experts leave it out.", examples=["p3"])


class AnswerOut(StepOut):
    """What follows from an answer."""

    counted: bool = Field(description="False where the case was settled before.")


class SkipIn(Strict):
    """A question that goes back."""

    case: Case = Field(examples=["c12"])
    person: PersonId | None = Field(None, description="Whose question it is; experts leave it out.")
    note: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=500)] = Field(
        "", examples=["not my field"], description="Why. It is erased with the case."
    )


class OutcomeIn(Strict):
    """The truth of a case."""

    case: Case = Field(examples=["c12"])
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
    role: Annotated[str, StringConstraints(pattern=f"^({'|'.join(ROLES)})$")] = Field(examples=["expert"])
    capacity: int | None = Field(None, ge=0, le=MOST_NUMBER, description="The most questions a day (UTC).")


class PersonChangeIn(Strict):
    """What changes about a person."""

    available: StrictBool = Field(True, examples=[False])
    capacity: int | None = Field(None, ge=0, le=MOST_NUMBER, description="Questions a day; null: no limit.")


class PersonOut(BaseModel):
    """A person."""

    person: str = Field(examples=["p3"])
    name: str = Field(examples=["ann"])
    role: str = Field(examples=["expert"])
    available: bool
    capacity: int | None
    removed: bool
    asked_today: int


class PeopleOut(BaseModel):
    """Everybody."""

    people: list[PersonOut]


class TokenOut(BaseModel):
    """A new token; it is not shown again."""

    token: str
    expires: float


class RuleIn(Strict):
    """What holds for some cases, before costs are looked at."""

    do: Annotated[str, StringConstraints(pattern=f"^({'|'.join(RULES)})$")] = Field(
        examples=["ask"], description='"ask": no such case without a person; "never_ask": not this person.'
    )
    person: PersonId | None = Field(None, description="Whom not to ask.")
    label: Name | None = Field(None, examples=["ill"], description="Cases whose most likely class is this one.")
    column: Name | None = Field(None, description="Cases with the value `equals` in this column.")
    equals: Cell = None


class PolicyIn(Strict):
    """On what terms cases are decided; what is left out gets its default."""

    fees: dict[PersonId, Money] = Field(default_factory=dict, examples=[{"p3": 2.5}])
    error_cost: Money = Field(1.0, examples=[40])
    cost_matrix: dict[str, dict[str, Money]] | None = Field(None, description="Cost by truth, then by answer.")
    answer_within: Annotated[FiniteFloat, Field(gt=0, le=1e9)] | None = Field(
        86_400.0, description="Seconds until a question goes to somebody else; null: never."
    )
    on_drift: Annotated[str, StringConstraints(pattern=f"^({'|'.join(ON_DRIFT)})$")] = Field(
        "warn", description="Whether an alarm on a promise waits for the lead, or corrects the promise at once."
    )
    capacity: dict[PersonId, Annotated[StrictInt, Field(ge=0, le=MOST_NUMBER)]] = Field(
        default_factory=dict, description="The most questions a day, beside each person's own limit."
    )
    asking: Annotated[str, StringConstraints(pattern=f"^({'|'.join(ASKING)})$")] = Field(
        "sequential", description="One after the other while it pays, at most one, or a panel of `panel_size`."
    )
    panel_size: Annotated[StrictInt, Field(ge=2, le=100)] = 3
    rules: list[RuleIn] = Field(default_factory=list, max_length=200)
    explore: Annotated[FiniteFloat, Field(ge=0, le=0.5)] = Field(
        0.0, description="Share of new cases that go to somebody else at random, with the probability in the log."
    )
    mode: Annotated[str, StringConstraints(pattern=f"^({'|'.join(MODES)})$")] = Field(
        "live", description='"shadow": nobody is asked, what would be done is recorded.'
    )
    shadow_answer: Annotated[str, StringConstraints(pattern=f"^({'|'.join(SHADOW_ANSWERS)})$")] = Field(
        "model", description="Whether a case of the shadow mode gets the model's answer."
    )


class DriftActIn(Strict):
    """What to do about an alarm."""

    action: Annotated[str, StringConstraints(pattern=f"^({'|'.join(ACTIONS)})$")] = Field(
        examples=["correct"],
        description="Correct the promise by the outcomes since the change, dismiss the alarm, withdraw a correction.",
    )


class ModelIn(Strict):
    """A model to load."""

    folder: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = Field(
        examples=["november"], description="A folder in the folder of models that the service was started with."
    )


class HookIn(Strict):
    """A webhook to set up."""

    url: Url = Field(
        examples=["https://clinic.example/defero"], description="http or https; redirects are not followed."
    )
    kinds: list[Annotated[str, StringConstraints(pattern=f"^({'|'.join(KINDS)})$")]] = Field(
        default=["settled"], min_length=1, max_length=len(KINDS), examples=[["settled", "drift_raised"]]
    )


class PolicyOut(PolicyIn):
    """The policy that holds now."""

    version: int


KEY_VARIABLE = r"^(DEFERO_KEY_[A-Z0-9_]{1,60})?$"
"""Names of environment variables with keys; no other variable can be sent to a server that a lead names."""
_Seconds = Annotated[FiniteFloat, Field(gt=0, le=86_400)]


class LanguageModelIn(Strict):
    """An expert that is a language model behind an OpenAI-compatible endpoint."""

    url: BaseUrl = Field(
        examples=["https://llm.example/v1"],
        description='Requests go to "/chat/completions" below it; redirects are not followed.',
    )
    model: Name = Field(examples=["llama-3.3-70b"], description="The name that the server knows it by.")
    prompt: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=20_000)] = Field(
        "",
        examples=["A patient of {age} years says: {note}"],
        description="{column} stands for a cell of the case; empty: all columns. The classes are added to it.",
    )
    classes: list[LabelIn] = Field(default=[], max_length=1_000, description="What it may answer; empty: every class.")
    key_variable: Annotated[str, StringConstraints(pattern=KEY_VARIABLE)] = Field(
        "",
        examples=["DEFERO_KEY_LLM"],
        description="Environment variable of the service with the API key, DEFERO_KEY_...; empty: no key.",
    )
    per_call: Money = Field(0.0, examples=[0.002], description="Price of a call.")
    per_million_in: Money = Field(0.0, examples=[0.5], description="Price of a million tokens that go in.")
    per_million_out: Money = Field(0.0, examples=[1.5], description="Price of a million tokens that come out.")
    timeout: Annotated[FiniteFloat, Field(gt=0, le=600)] = Field(60.0, description="Seconds that a call may take.")
    within: _Seconds = Field(600.0, description="Seconds after which a question without an answer is given back.")
    per_minute: Annotated[StrictInt, Field(ge=1, le=100_000)] = Field(
        60, description="The most calls in any minute, by all server processes together."
    )
    most_per_day: Money | None = Field(
        None,
        examples=[20.0],
        description="The most that its calls may cost in a day (UTC); null: no limit. After that its questions go to "
        "others.",
    )
    options: dict[Name, Cell] = Field(
        default={}, max_length=30, examples=[{"temperature": 0, "max_tokens": 20}], description="Sent with each call."
    )


class LanguageModelOut(LanguageModelIn):
    """An expert that is a language model, and how its calls go."""

    person: str = Field(examples=["p3"])
    next_at: float = Field(description="Calls keep an even pace: about when the next one may be made.")
    last_at: float | None = Field(description="When it was called last, in seconds since 1970.")
    failures: int = Field(description="Calls in a row that failed.")
    status: int | None = Field(description="HTTP status of the last call, if it failed; 0: no reply in time.")
    paid_today: float = Field(description="What its calls cost so far today (UTC).")
    key_is_set: bool = Field(description="Whether this server process has the key.")


class LanguageModelsOut(Strict):
    """Every expert that is a language model."""

    language_models: list[LanguageModelOut]


Email = Annotated[str, StringConstraints(pattern=r"^[!-?A-~]{1,100}@[!-?A-~]{1,90}$")]


class StudioIn(Strict):
    """A project of Label Studio in which experts answer."""

    url: BaseUrl = Field(examples=["https://studio.example"], description="Of the server; redirects are not followed.")
    people: dict[PersonId, Email | None] = Field(
        min_length=1,
        max_length=1_000,
        examples=[{"p3": "ann@clinic.example"}],
        description="Whose questions stand there, with the address of their account.",
    )
    key_variable: Annotated[str, StringConstraints(pattern=KEY_VARIABLE)] = Field(
        "DEFERO_KEY_LABEL_STUDIO",
        description="Environment variable of the service with the token of an account, DEFERO_KEY_...",
    )
    project: Annotated[StrictInt, Field(ge=1, le=2**31)] | None = Field(
        None, description="Number of a project; null: the one of this title, which is made where there is none."
    )
    title: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{3,50}$")] = Field("defero")
    control: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,49}$")] = Field(
        "answer", description="Name of the choices in the labelling interface."
    )
    callback: BaseUrl | Literal[""] = Field(
        "",
        examples=["https://defero.example"],
        description="URL of this service as Label Studio reaches it; empty: it is only asked for annotations.",
    )
    unknown: Annotated[str, StringConstraints(pattern=f"^({'|'.join(UNKNOWN)})$")] = Field(
        "ignore", description="Whether an annotation by somebody else counts for nobody, or for whom the task is meant."
    )
    poll: Annotated[FiniteFloat, Field(ge=1, le=86_400)] = Field(
        30.0, description="Seconds between two looks at the whole project."
    )


class StudioOut(StudioIn):
    """A project of Label Studio, and how it goes."""

    link: str = Field(description="Marks the tasks that are ours (`defero_link`).")
    ready: bool = Field(description="Whether the project is set up.")
    webhook: bool = Field(description="Whether Label Studio tells of annotations.")
    failures: int = Field(description="Requests in a row that failed.")
    status: int | None = Field(description="HTTP status of the last one; 0: no reply.")
    retry_at: float


class StudioSetOut(StudioOut):
    """A project of Label Studio with the secret of its webhook."""

    secret: str
