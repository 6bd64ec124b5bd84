from defero.simulate.experts import ExpertLaw as ExpertLaw
from defero.simulate.experts import draw_human as draw_human
from defero.simulate.experts import simulate_pool as simulate_pool
from defero.simulate.experts import specialist as specialist
from defero.simulate.team import SimulatedTeam as SimulatedTeam
from defero.simulate.team import simulate_team as simulate_team
