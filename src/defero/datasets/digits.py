"""scikit-learn's handwritten digits, answered by ten simulated specialists."""

from functools import partial

import numpy as np
import pandas as pd

from defero.core.table import ExpertTable
from defero.simulate import simulate_pool, specialist


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
