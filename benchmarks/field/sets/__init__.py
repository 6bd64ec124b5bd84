"""The data sets of the table."""

from benchmarks.field.problem import FieldSet
from benchmarks.field.sets import language_models, people, simulated

SETS: dict[str, FieldSet] = {one.name: one for one in (*people.SETS, *language_models.SETS, *simulated.SETS)}
