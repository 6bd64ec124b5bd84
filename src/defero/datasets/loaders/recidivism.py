"""Defendants whom laypeople judged: will they be arrested again within two years?"""

from os import PathLike
from typing import Literal

import numpy as np
import pandas as pd

from defero.core.checks.options import one_of
from defero.core.table import ExpertTable
from defero.data.answers.read_log import join_answers
from defero.datasets.catalog import described
from defero.datasets.files import require
from defero.datasets.storage.cache import data_folder

SHOWN_FACTS = ("sex", "age", "juv_fel_count", "juv_misd_count", "priors_count", "charge_degree", "charge")
"""What every person was shown of a defendant."""


def recidivism_people(
    *,
    folder: str | PathLike[str] | None = None,
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
    root = data_folder(folder)
    require(root, RECIDIVISM)
    home = root / "recidivism_people"
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


RECIDIVISM = described("recidivism-people", recidivism_people)
