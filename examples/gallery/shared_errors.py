"""Which experts make the same mistakes?

Correlation of the errors of each pair of experts. Here dan copies ann in nine cases of ten; a frame marks a pair that
agrees in its errors more than by chance.
"""

import numpy as np

from defero.plotting import SharedErrorsDisplay

rng = np.random.default_rng(0)
truth = rng.integers(3, size=600)
answers = np.where(rng.random((600, 4)) < 0.75, truth[:, None], (truth[:, None] + rng.integers(1, 3, (600, 4))) % 3)
answers[:, 3] = np.where(rng.random(600) < 0.9, answers[:, 0], answers[:, 3])

display = SharedErrorsDisplay.from_predictions(answers, truth, expert_names=["ann", "bob", "cem", "dan"])
display.figure_.savefig("shared_errors.svg")
