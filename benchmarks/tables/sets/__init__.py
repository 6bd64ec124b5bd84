"""The data sets of the table."""

from benchmarks.tables.sets import classics, credit, few_answers, recidivism, true_gain
from benchmarks.tables.setting import Setting

SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        *credit.SETTINGS,
        *recidivism.SETTINGS,
        *classics.SETTINGS,
        *few_answers.SETTINGS,
        *true_gain.SETTINGS,
    )
}
