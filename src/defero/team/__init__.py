"""Team: the whole chain from an item to who decides it; what is saved, loaded and served. numpy alone."""

from defero.team.facts import FitFacts
from defero.team.judge import judge, record_of, try_out
from defero.team.panel import Panel
from defero.team.score_facts import ScoreFacts
from defero.team.team import Team

__all__ = ["FitFacts", "Panel", "ScoreFacts", "Team", "judge", "record_of", "try_out"]
