"""What the team says: votes that turn the answers of a panel into one `Answer`."""

from defero.core.belief import log_odds_weights
from defero.decide.votes.votes import VOTES, Ballot, Vote, answer_of_decider, bayes_vote, majority_vote, weighted_vote

__all__ = [
    "VOTES",
    "Ballot",
    "Vote",
    "answer_of_decider",
    "bayes_vote",
    "log_odds_weights",
    "majority_vote",
    "weighted_vote",
]
