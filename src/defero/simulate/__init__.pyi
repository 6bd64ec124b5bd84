from defero.simulate.annotators import draw_human as draw_human
from defero.simulate.pool import Law as Law
from defero.simulate.pool import simulate_pool as simulate_pool
from defero.simulate.specialists import specialist as specialist
from defero.simulate.team import SimulatedTeam as SimulatedTeam
from defero.simulate.team import simulate_team as simulate_team
