"""What the team says: votes that turn the answers of a panel into one `Answer`."""

from defero.aggregation.bayes import bayes_vote
from defero.aggregation.confusion import ConfusionMatrices
from defero.aggregation.correlation import vote_discount
from defero.aggregation.majority import majority_vote
from defero.aggregation.votes import VOTES, Ballot, Vote, answer_of_decider
from defero.aggregation.weighted import weighted_vote
from defero.core.class_skill import ClassSkill
from defero.core.posterior import log_odds_weights

__all__ = [
    "VOTES",
    "Ballot",
    "ClassSkill",
    "ConfusionMatrices",
    "Vote",
    "answer_of_decider",
    "bayes_vote",
    "log_odds_weights",
    "majority_vote",
    "vote_discount",
    "weighted_vote",
]
