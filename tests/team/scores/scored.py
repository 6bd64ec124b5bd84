"""A study of cases with scores, fitted in one call."""

from defero import Study, Terms, read_cases


def fitted(table, *, expert_names, fees=None, error_cost=None, groups=None, split=None, random_state=0, **said):
    """Read a table of scores and fit its team."""
    cases = read_cases(table, expert_names=expert_names, scores=True, **said)
    study = Study(cases, groups=groups, split=split, random_state=random_state)
    study.fit(terms=Terms(fees=fees, error_cost=error_cost))
    return study
