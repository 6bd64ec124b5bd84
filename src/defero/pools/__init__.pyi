from defero.decide.cascade import CascadeStep as CascadeStep
from defero.decide.curve import Curve as Curve
from defero.pools.decision import PoolDecision as PoolDecision
from defero.pools.router import PoolRouter as PoolRouter
