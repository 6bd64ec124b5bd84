"""People, as the log says of them; and the policy, on what terms cases are decided. Every change is a new version.

Both are checked when they are built, and are what the API takes and returns.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    StrictBool,
    StrictInt,
    StrictStr,
    StringConstraints,
    model_validator,
)

from defero.service.events import Entry, PersonChanged

MOST_NUMBER = 2**53
PersonId = Annotated[str, StringConstraints(pattern=r"^p[1-9][0-9]{0,17}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
_Whole = Annotated[StrictInt, Field(ge=-MOST_NUMBER, le=MOST_NUMBER)]
LabelIn = Annotated[StrictStr, StringConstraints(max_length=200)] | StrictBool | _Whole | FiniteFloat
Cell = Annotated[StrictStr, StringConstraints(max_length=100_000)] | StrictBool | _Whole | FiniteFloat | None
Money = Annotated[FiniteFloat, Field(ge=0, le=1e12)]


def one_of(choices: Sequence[str]) -> StringConstraints:
    """Return the check that a text is one of some words."""
    return StringConstraints(pattern=f"^({'|'.join(choices)})$")


class Strict(BaseModel):
    """Members that are not known are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


ROLES = ("lead", "expert", "machine")
"""What a person may be: the lead runs the service, an expert answers, a machine brings cases."""


class Person(BaseModel):
    """Somebody who works with the service."""

    model_config = ConfigDict(frozen=True)
    person: str = Field(examples=["p3"])
    role: str = Field(default="expert", examples=["expert"])
    available: bool = Field(default=True, description="Whether they can be asked.")
    capacity: int | None = Field(default=None, description="The most questions a day (UTC); null: no limit.")
    removed: bool = Field(default=False, description="They left, and are never asked again.")

    @property
    def can_be_asked(self) -> bool:
        """Whether questions may go to them, within their capacity."""
        return self.available and not self.removed and self.role == "expert"


def person_after(state: Person | None, entry: Entry) -> Person:
    """Return a person after one more entry about them.

    >>> person_after(None, Entry(1, 0.0, None, PersonChanged(person="p1", change={"capacity": 40}, by="p0"))).capacity
    40
    """
    assert isinstance(entry.fact, PersonChanged)
    return (state or Person(person=entry.fact.person)).model_copy(update=dict(entry.fact.change))


ON_DRIFT = ("warn", "correct")
ASKING = ("sequential", "one", "panel")
MODES = ("live", "shadow")
SHADOW_ANSWERS = ("model", "none")
RULES = ("ask", "never_ask")


class PolicyRule(Strict):
    """What holds for some cases, before costs are looked at."""

    do: Annotated[str, one_of(RULES)] = Field(
        examples=["ask"], description='"ask": no such case without a person; "never_ask": not this person.'
    )
    person: PersonId | None = Field(default=None, description="Whom not to ask.")
    label: Name | None = Field(default=None, examples=["ill"], description="Cases whose most likely class is this one.")
    column: Name | None = Field(default=None, description="Cases with the value `equals` in this column.")
    equals: Cell = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.do == "never_ask") != (self.person is not None):
            raise ValueError("person of a rule is for never_ask, which needs it")
        if self.do == "ask" and self.label is None and self.column is None:
            raise ValueError("a rule must name a label or a column: which cases?")
        return self


class PolicyIn(Strict):
    """On what terms cases are decided; what is left out gets its default."""

    fees: dict[PersonId, Money] = Field(
        default_factory=dict,
        examples=[{"p3": 2.5}],
        description="Of a question, in the unit of the error costs. With none at all a question costs 0.01 of the "
        "dearest error; with some, whoever is not named is free.",
    )
    error_cost: Money = Field(default=1.0, examples=[40], description="Of an error that `cost_matrix` does not name.")
    cost_matrix: dict[str, dict[str, Money]] | None = Field(default=None, description="Cost by truth, then by answer.")
    answer_within: Annotated[FiniteFloat, Field(gt=0, le=1e9)] | None = Field(
        default=86_400.0, description="Seconds until a question goes to somebody else; null: never."
    )
    on_drift: Annotated[str, one_of(ON_DRIFT)] = Field(
        default="warn", description="Whether an alarm on a promise waits for the lead, or corrects the promise at once."
    )
    capacity: dict[PersonId, Annotated[StrictInt, Field(ge=0, le=MOST_NUMBER)]] = Field(
        default_factory=dict, description="The most questions a day, beside each person's own limit."
    )
    asking: Annotated[str, one_of(ASKING)] = Field(
        default="sequential", description="One after the other while it pays, at most one, or a panel of `panel_size`."
    )
    panel_size: Annotated[StrictInt, Field(ge=2, le=100)] = 3
    rules: tuple[PolicyRule, ...] = Field(default=(), max_length=200)
    explore: Annotated[FiniteFloat, Field(ge=0, le=0.5)] = Field(
        default=0.0,
        description="Share of new cases that go to somebody else at random, with the probability in the log.",
    )
    mode: Annotated[str, one_of(MODES)] = Field(
        default="live", description='"shadow": nobody is asked, what would be done is recorded.'
    )
    shadow_answer: Annotated[str, one_of(SHADOW_ANSWERS)] = Field(
        default="model", description="Whether a case of the shadow mode gets the model's answer."
    )


class Policy(PolicyIn):
    """A version of the policy.

    Examples
    --------
    >>> Policy.from_dict({"fees": {"p1": 2.5}, "error_cost": 40}, version=3).fees
    {'p1': 2.5}
    """

    version: int = Field(default=0, description="Counted from 1; 0 is the default policy of a new log.")

    @property
    def people(self) -> set[str]:
        """Everybody who is named."""
        return {*self.fees, *self.capacity, *(rule.person for rule in self.rules if rule.person is not None)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without the version."""
        return self.model_dump(exclude={"version"})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, version: int) -> "Policy":
        """Return the policy of a version."""
        return cls(**values, version=version)
