"""What the registry knows of a data set: where it comes from, whose it is, and how its files are checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Form = Literal["compact", "source"]
LabelKind = Literal["truth", "majority", "scores", "none"]


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Below the data folder; a pattern with `*` stands for at least one file of that kind.
    form : "compact" or "source"
        Our smaller form of the data, or the form in which the source gives them.
    sha256 : str, optional
        None where the source's own is not known: it is recorded at the first download.
    url : str, optional
        None where the source wants a person: an account, a click, a letter.
    members : tuple of str
        For an archive: the ends of the paths inside it that are taken out. The archive itself is not kept.
    instead : tuple of str
        Ends of paths that, all together, do as well as the members: another packing by the same source.
    """

    path: str
    form: Form = "source"
    sha256: str | None = None
    url: str | None = None
    members: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """One entry of the registry.

    Attributes
    ----------
    name, title, what : str
        The name in commands, the data set's own name, and one line about it.
    licence, citation, homepage : str
    files : tuple of DataFile
    loader : str
        "module:function" inside `defero.datasets`, called by `load_dataset`.
    by_hand : str
        What to put where when it cannot be downloaded; continues "Put ".
    labels : "truth", "majority", "scores" or "none"
        What being right means: against the truth, against the annotators' own majority (agreement, not accuracy), or
        as scored by the source.
    arrays : mapping
        Name -> sha256 of a decoded array's bytes, whatever the form on disk.
    tree : str, optional
        A folder below the data folder whose files are checked all together, by `tree_sha256`.
    """

    name: str
    title: str
    what: str
    licence: str
    citation: str
    homepage: str
    files: tuple[DataFile, ...]
    loader: str
    by_hand: str
    labels: LabelKind = "truth"
    arrays: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tree: str | None = None
    tree_sha256: str | None = None

    def of_form(self, form: Form) -> tuple[DataFile, ...]:
        """Return the files of one form."""
        return tuple(file for file in self.files if file.form == form)
