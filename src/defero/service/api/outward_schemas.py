"""What comes in and goes out about other people's tools, as OpenAPI shows it."""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, StrictInt, StringConstraints

from defero.service.api.schemas import BaseUrl, Cell, LabelIn, Money, Name, PersonId, Strict
from defero.service.views.studio import UNKNOWN

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
