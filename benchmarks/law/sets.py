"""The sets by name: those on which the law was chosen, and those that were put aside."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from benchmarks.law import people, simulated
from benchmarks.law.answered import Answered


@dataclass(frozen=True)
class LawSet:
    """A set by name.

    Attributes
    ----------
    name : str
    read : () -> Answered, or seed -> Answered
        A set of people is read once; a simulated one is drawn anew for each split.
    note : str
    put_aside : bool
        Nobody looked at it while the law was chosen.
    simulated : bool
    """

    name: str
    read: Callable[..., Answered]
    note: str
    put_aside: bool = False
    simulated: bool = False

    def halves(self, seed: int) -> tuple[Answered, Answered]:
        """Return the items to learn from and those to judge on."""
        whole = self.read(seed) if self.simulated else once(self.read)
        return whole.halves(seed=seed)


@lru_cache(maxsize=1)
def once(read: Callable[[], Answered]) -> Answered:
    """Read a set, and keep it until the next one is read."""
    return read()


def note_of(read: Callable[..., Answered]) -> str:
    """Return the first line of a reader's text."""
    return (read.__doc__ or "").strip().split("\n", maxsplit=1)[0]


def of_people(name: str, read: Callable[[], Answered], *, put_aside: bool = False) -> LawSet:
    """Return a set of people, networks or programs."""
    return LawSet(name, read, note_of(read), put_aside)


def of_law(name: str, read: Callable[[int], Answered]) -> LawSet:
    """Return a simulated set."""
    return LawSet(name, read, note_of(read), simulated=True)


_ALL = (
    of_people("keswani_toxicity", people.toxicity),
    of_people("rte_text", people.entailment),
    of_people("ecg_readers", people.electrocardiograms),
    of_people("labelme_crowd", people.scenes),
    of_people("chexpert_test_readers", people.chest_films),
    of_people("sentiment_polarity_crowd", people.sentiment, put_aside=True),
    of_people("sleep_dodh", people.sleep),
    of_people("frugal_waimai", people.meals, put_aside=True),
    of_people("frugal_yelp", people.restaurants, put_aside=True),
    of_law("independent", simulated.independent),
    of_law("shared difficulty", simulated.shared_difficulty),
    of_law("decoys", simulated.decoys),
    of_law("two copies", simulated.two_copies),
    of_law("skill by region", simulated.skill_by_region),
    of_law("skill by class", simulated.skill_by_class),
)
SETS = {one.name: one for one in _ALL}
