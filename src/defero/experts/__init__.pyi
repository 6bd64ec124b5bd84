from defero.experts.annotators import draw_human as draw_human
from defero.experts.pool import Law as Law
from defero.experts.pool import simulate_pool as simulate_pool
from defero.experts.specialists import specialist as specialist
from defero.experts.team import SimulatedTeam as SimulatedTeam
from defero.experts.team import simulate_team as simulate_team
