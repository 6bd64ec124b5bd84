"""Router: the whole chain from an item to who decides it; what is saved, loaded and served. numpy alone."""

from defero.router.facts import FitFacts
from defero.router.judge import judge, record_of, try_out
from defero.router.panel import Panel
from defero.router.router import Router

__all__ = ["FitFacts", "Panel", "Router", "judge", "record_of", "try_out"]
