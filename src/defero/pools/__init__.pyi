from defero.pools.cascade import CascadeStep as CascadeStep
from defero.pools.curve import PoolCurve as PoolCurve
from defero.pools.decision import PoolDecision as PoolDecision
from defero.pools.judge import CorrectedMean as CorrectedMean
from defero.pools.judge import Judge as Judge
from defero.pools.router import PoolRouter as PoolRouter
