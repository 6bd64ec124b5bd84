"""The methods of the table, by name. A method outside of defero is one file here and one line below."""

from benchmarks.field.method import Entry
from benchmarks.field.methods.deccaf import Deccaf
from benchmarks.field.methods.estimators import ENTRIES
from benchmarks.field.methods.l2d_pop import L2DPop
from benchmarks.field.methods.two_stage_surrogate import TwoStageSurrogate

METHODS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        *ENTRIES,
        Entry("two-stage surrogate", lambda seed: TwoStageSurrogate(random_state=seed), source="Mao et al. 2023"),
        Entry("L2D-Pop, mean", lambda seed: L2DPop("mean", random_state=seed), source="Tailor et al. 2024"),
        Entry("L2D-Pop, attention", lambda seed: L2DPop("attention", random_state=seed), source="Tailor et al. 2024"),
        Entry("DeCCaF", lambda seed: Deccaf(random_state=seed), source="Alves et al. 2024"),
    )
}
