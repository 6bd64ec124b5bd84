"""The data sets of the table."""

from benchmarks.tables.sets import classics, credit, few_answers, recidivism, skill_by_class, true_gain
from benchmarks.tables.setting import Setting

SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        *credit.SETTINGS,
        *recidivism.SETTINGS,
        *classics.SETTINGS,
        *few_answers.SETTINGS,
        *skill_by_class.SETTINGS,
        *true_gain.SETTINGS,
    )
}
