"""Credit card clients who default next month or not: a large table without experts, who are simulated."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from defero.core.errors import InputError
from defero.core.table import ExpertTable
from defero.datasets.catalog import described
from defero.datasets.files import require
from defero.datasets.storage.cache import data_folder
from defero.simulate.team import SimulatedTeam, simulate_team

_TARGET = "default_next_month"
_NAMES = {
    "sex": {1: "male", 2: "female"},
    "education": {1: "graduate school", 2: "university", 3: "high school"},
    "marriage": {1: "married", 2: "single"},
}
"""The source's codes; its other codes are "other" here."""


@dataclass(frozen=True, eq=False)
class SimulatedCases:
    """A table with simulated experts, and the team that answered it.

    Attributes
    ----------
    table : ExpertTable
    team : SimulatedTeam
        The exact probabilities, row by row as in the table.
    """

    table: ExpertTable
    team: SimulatedTeam


def credit_default(
    *,
    folder: str | PathLike[str] | None = None,
    law: str = "ring",
    n_experts: int = 4,
    answered: float = 1.0,
    n_answers: int | None = None,
    random_state: int = 0,
) -> ExpertTable:
    """Load 30,000 credit card clients, 1 if they default next month, with simulated experts.

    There are no real experts in the data. Skill depends on the amounts and the age by `law`, on the class, and on the
    education of the client: `simulate_team`. `credit_default_cases` returns the exact probabilities too.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    law : "ring", "checkerboard", "stripes" or "product"
        The shape of each expert's skill.
    n_experts : int
    answered : float
        The probability that an expert was asked about a case.
    n_answers : int, optional
        Instead of `answered`: the number of cases that each expert was asked about.
    random_state : int
        Seed of the experts.
    """
    return credit_default_cases(
        folder=folder, law=law, n_experts=n_experts, answered=answered, n_answers=n_answers, random_state=random_state
    ).table


def credit_default_cases(
    *,
    folder: str | PathLike[str] | None = None,
    law: str = "ring",
    n_experts: int = 4,
    answered: float = 1.0,
    n_answers: int | None = None,
    random_state: int = 0,
) -> SimulatedCases:
    """Load `credit_default` together with the probabilities that its experts were drawn with."""
    clients = credit_default_clients(folder=folder)
    features = clients.drop(columns=_TARGET)
    labels = clients[_TARGET].to_numpy(dtype=np.int64)
    amounts = features.drop(columns=list(_NAMES)).filter(regex="^(?!pay_[0-9])")
    team = simulate_team(
        amounts,
        labels,
        n_experts=n_experts,
        n_classes=2,
        law=law,
        strata=pd.factorize(features["education"], sort=True)[0],
        answered=answered,
        n_answers=n_answers,
        rng=np.random.default_rng(random_state),
    )
    return SimulatedCases(ExpertTable(labels, team.answers, features=features), team)


def credit_default_clients(*, folder: str | PathLike[str] | None = None) -> pd.DataFrame:
    """Load the 30,000 clients alone: 23 features and `default_next_month`.

    Columns have the source's names in lower case. Sex, education and marriage are texts; pay_0 to pay_6 are months of
    delay (-2 and -1: paid), bill_amt1 to pay_amt6 amounts in New Taiwan dollars, the latest month first.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    root = data_folder(folder)
    form = require(root, CREDIT_DEFAULT)
    home = root / "credit_default"
    clients = pd.read_csv(home / "clients.csv.gz") if form == "compact" else _saved_sheet(home / _SHEET)
    clients.columns = clients.columns.str.lower()
    return clients.assign(
        **{column: clients[column].map(names).fillna("other").astype(str) for column, names in _NAMES.items()}
    )


_SHEET = "default_of_credit_card_clients.csv"


def _saved_sheet(path: Path) -> pd.DataFrame:
    """Read the source's sheet saved as CSV: a line of X1, X2, ... may stand above the names."""
    with path.open(encoding="utf-8-sig") as lines:
        above = next((number for number, line in enumerate(lines) if line.startswith("ID,")), None)
    if above is None:
        raise InputError(
            f"{path} must have a line of column names that begins with ID; save the source's sheet as CSV."
        )
    table = pd.read_csv(path, skiprows=above, encoding="utf-8-sig")
    return table.drop(columns="ID").rename(columns={"default payment next month": _TARGET})


CREDIT_DEFAULT = described("credit-default", credit_default)
