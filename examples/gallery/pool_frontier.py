"""What does quality cost in a pool of language models?

Quality against cost at every trade-off. The dashed line mixes members without looking at the prompt: a pool is of use
where it lies above that line.
"""

import matplotlib.pyplot as plt
import numpy as np

from defero import ExpertPool
from defero.plotting import PoolFrontierDisplay

rng = np.random.default_rng(0)
prompts = rng.normal(size=(1_500, 4))
hard = 1 / (1 + np.exp(-2 * prompts[:, :1]))
scores = (rng.random((1_500, 3)) < np.hstack([0.9 - 0.6 * hard, 0.9 - 0.35 * hard, 0.92 - 0.1 * hard])).astype(float)
prices = np.array([0.1, 0.5, 2.0])
pool = ExpertPool(random_state=0).fit(prompts[:1_000], scores[:1_000], prices=prices)
curve = pool.curve(prompts[1_000:], scores[1_000:])

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
PoolFrontierDisplay.from_curve(curve, ax=ax)
figure.savefig("pool_frontier.svg")
