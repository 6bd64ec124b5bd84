"""Tables: chest films with readers, defendants with laypeople, questions to language models; simulated experts."""

import json
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from defero.core.checks.arrays import one_of
from defero.core.errors import InputError
from defero.core.table import ExpertTable
from defero.data.answers.read_log import join_answers
from defero.datasets.catalog import DATASETS
from defero.datasets.files import located
from defero.datasets.folder import Folder
from defero.datasets.values import CorrectnessTable
from defero.simulate import simulate_pool, specialist

FINDINGS = (
    "No Finding",
    "Enlarged Cardiomediastinum",
    "Cardiomegaly",
    "Lung Opacity",
    "Lung Lesion",
    "Edema",
    "Consolidation",
    "Pneumonia",
    "Atelectasis",
    "Pneumothorax",
    "Pleural Effusion",
    "Pleural Other",
    "Fracture",
    "Support Devices",
)
READ_BY_NETWORKS = ("Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion")
_READERS = ("bc4", "bc6", "bc8")
_DECIDING = ("drnet", "ihil", "jfaboy", "ngango2", "ngango3", "sensexdr", "uestc", "yww211")
_PREDICTING = ("desmond", "drnet", "hieupham", "ihil", "jfaboy", "ngango2", "ngango3", "sensexdr", "uestc", "yww211")
SHOWN_FACTS = ("sex", "age", "juv_fel_count", "juv_misd_count", "priors_count", "charge_degree", "charge")
"""What every person was shown of a defendant."""
_TARGET = "default_next_month"
_NAMES = {
    "sex": {1: "male", 2: "female"},
    "education": {1: "graduate school", 2: "university", 3: "high school"},
    "marriage": {1: "married", 2: "single"},
}
"""The source's codes; its other codes are "other" here."""


def chexpert_tables(*, folder: Folder = None) -> dict[str, ExpertTable]:
    """Load 500 chest films with who sees a finding in them, 0 or 1: one table for each of the 14 findings.

    The truth is the majority of five radiologists who are not among the experts. Experts are three other radiologists
    and, for five of the 14 findings, the decisions of eight networks. The films themselves are not in the data:
    features are the probabilities of ten networks where there are any, else None.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    files = _read_all(folder)
    return {finding: _chest_films(finding, files) for finding in FINDINGS}


def _chest_films(finding: str, files: dict[str, pd.DataFrame]) -> ExpertTable:
    answers = {name: files[f"radiologists/{name}"][finding] for name in _READERS}
    features = None
    if finding in READ_BY_NETWORKS:
        answers |= {name: files[f"decisions/{name}"][finding] for name in _DECIDING}
        features = pd.DataFrame({name: files[f"predictions/{name}"][finding] for name in _PREDICTING})
    return ExpertTable(
        files["truth"][finding].to_numpy(dtype=np.int64),
        pd.DataFrame(answers).astype(np.int64),
        features=features,
        classes=[0, 1],
    )


def _read_all(folder: Folder) -> dict[str, pd.DataFrame]:
    """Read the truth, the readers and the networks, all in the truth's order of studies."""
    home, _ = located("chexpert-readers", folder)
    paths = {"truth": home / "groundtruth.csv"}
    paths |= {f"radiologists/{name}": home / f"radiologists__benchmark_radiologists__{name}.csv" for name in _READERS}
    for kind, names in (("decisions", _DECIDING), ("predictions", _PREDICTING)):
        paths |= {f"{kind}/{name}": home / f"example_models__{kind}__standard__{name}_{kind}.csv" for name in names}
    files = {key: pd.read_csv(path).set_index("Study") for key, path in paths.items()}
    studies = files["truth"].index
    for key, table in files.items():
        if not table.index.is_unique or set(table.index) != set(studies):
            raise InputError(f"{paths[key]} must have one row for each of the {len(studies)} studies.")
    return {key: table.reindex(studies) for key, table in files.items()}


def recidivism_people(
    *,
    folder: Folder = None,
    race_shown: bool = False,
    part: Literal["judged", "all"] = "judged",
    features: Literal["shown", "all"] = "shown",
) -> ExpertTable:
    """Load defendants, 1 if arrested again within two years, with the answers of 400 laypeople.

    1,000 of the 7,214 defendants were judged, each by 20 people, and each person judged 50. There were two rounds with
    different people: without the defendant's race and with it. The data are sensitive: judge results by race and sex,
    and do not use them to decide about people.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    race_shown : bool
        The round in which people were shown the race.
    part : "judged" or "all"
        The 1,000 defendants with answers, or all 7,214; the others have none.
    features : "shown" or "all"
        A DataFrame with the seven facts that people were shown, and the race where they were shown it; or also the
        race in any case and the COMPAS score (1 to 10), for comparison.
    """
    one_of("part", part, ("judged", "all"))
    one_of("features", features, ("shown", "all"))
    home, _ = located("recidivism-people", folder)
    defendants = pd.read_csv(home / "defendants.csv.gz", keep_default_na=False)
    answers = pd.read_csv(home / f"answers_race_{'shown' if race_shown else 'not_shown'}.csv.gz")
    if part == "judged":
        defendants = defendants[defendants["id"].isin(answers["id"])].reset_index(drop=True)
    log = join_answers(defendants, answers, key="id", item="id", annotator="person", answer="answer")
    columns = [*SHOWN_FACTS, *(["race"] if race_shown or features == "all" else [])]
    return ExpertTable(
        defendants["two_year_recid"].to_numpy(dtype=np.int64),
        log,
        features=defendants[[*columns, *(["compas_decile_score"] if features == "all" else [])]],
        classes=(0, 1),
        expert_names=[f"person_{name}" for name in log.expert_names],
    )


def credit_default(*, folder: Folder = None) -> pd.DataFrame:
    """Load 30,000 credit card clients: 23 features and `default_next_month`. `simulate_team` gives them experts.

    Columns have the source's names in lower case. Sex, education and marriage are texts; pay_0 to pay_6 are months of
    delay (-2 and -1: paid), bill_amt1 to pay_amt6 amounts in New Taiwan dollars, the latest month first.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    home, compact = located("credit-default", folder)
    sheet = "default_of_credit_card_clients.csv"
    clients = pd.read_csv(home / "clients.csv.gz") if compact else _saved_sheet(home / sheet)
    clients.columns = clients.columns.str.lower()
    return clients.assign(
        **{column: clients[column].map(names).fillna("other").astype(str) for column, names in _NAMES.items()}
    )


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


def digits_team(*, p_in: float = 0.95, p_out: float = 0.3, random_state: int | None = None) -> ExpertTable:
    """Return 1,797 digit images (8 x 8, 64 features) with the answers of ten specialists.

    Expert j is right with probability `p_in` on the digits j and j + 1 (9 and 0 for the last) and `p_out` on the
    others; a wrong answer is any other digit.

    Parameters
    ----------
    p_in, p_out : float
    random_state : int, optional
        Draws the answers.

    >>> table = digits_team(random_state=0)
    >>> len(table), table.n_classes, table.n_experts
    (1797, 10, 10)
    """
    from sklearn.datasets import load_digits  # takes a second to import, and nothing else here needs it

    images, labels = load_digits(return_X_y=True)
    laws = [partial(specialist, classes=[j, (j + 1) % 10], p_in=p_in, p_out=p_out, n_classes=10) for j in range(10)]
    answers = simulate_pool(labels, laws, rng=np.random.default_rng(random_state))
    names = [f"knows_{j}_{(j + 1) % 10}" for j in range(10)]
    pixels = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    return ExpertTable(
        labels,
        pd.DataFrame(answers, columns=pd.Index(names)),
        features=pd.DataFrame(images, columns=pd.Index(pixels)),
    )


_DESCRIBING = ("split", "task", "question")


def llm_routing_9(*, folder: Folder = None) -> CorrectnessTable:
    """Load 6,108 questions of 14 tasks with the scores of nine language models, and what their tokens cost.

    A score is 1 or 0, right or wrong, except on `commongen`, where it is the share of what was asked for. Features:
    split (5,608 train, 500 test), task, question. 119 questions come twice within their task.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    home, _ = located("llm-routing-9", folder)
    table = _from_frame(pd.read_parquet(home / "llmrouter9.parquet"))
    raw = json.loads((home / "prices_usd_per_million_tokens.json").read_text(encoding="utf-8"))
    prices = {
        name: (float(raw[name]["input_price"]), float(raw[name]["output_price"]))
        for name in table.expert_names
        if name in raw
    }
    return CorrectnessTable(table.scores, table.expert_names, table.features, prices)


def llm_routing_7(*, folder: Folder = None) -> CorrectnessTable:
    """Load 20,600 questions of 16 tasks with the scores of seven language models.

    What a score means depends on the task; the source does not say, and this is what the numbers show.
    `MATH_prealgebra`: 1 or 0. `gsm8k`, `humaneval`, `mbpp`, `javascript`: tenths, as of ten attempts. The multiple
    choice tasks (`arc`, `mmlu`, `cmmlu`, `ceval`): 0, or a number from about 0.25 to 1 like the probability of a right
    choice, so that above 0 means right. Features: task, question.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    home, compact = located("llm-routing-7", folder)
    if compact:
        return _from_frame(pd.read_parquet(home / "routerdc7.parquet"))
    paths = sorted(home.parent / file.path for file in DATASETS.find("llm-routing-7").of_form("source"))
    return _from_frame(pd.concat([_from_json(path) for path in paths], ignore_index=True))


def _from_json(path: Path) -> pd.DataFrame:
    """Read one task in the source's form: a list of {question, scores}."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and {"question", "scores"} <= set(row) for row in rows
    ):
        raise InputError(f"{path} must be a list of questions with their scores.")
    described = pd.DataFrame({"task": path.stem, "question": [row["question"] for row in rows]})
    return described.join(pd.DataFrame([row["scores"] for row in rows]))


def _from_frame(table: pd.DataFrame) -> CorrectnessTable:
    experts = tuple(str(name) for name in table if name not in _DESCRIBING)
    features = table[[name for name in _DESCRIBING if name in table]]
    return CorrectnessTable(table[list(experts)].to_numpy(dtype=np.float64), experts, features)
