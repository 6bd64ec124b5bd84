"""What a stage gives: who decides, who is asked, what comes next, and the team's label."""

from defero.core.results.decision import MODEL, Assignment, Deciders, Decision
from defero.core.results.steps import Answer, ExpertSets, InTurn, NextSteps

__all__ = ["MODEL", "Answer", "Assignment", "Deciders", "Decision", "ExpertSets", "InTurn", "NextSteps"]
