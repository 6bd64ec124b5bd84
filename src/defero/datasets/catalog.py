"""The named data sets: what is known of each, and how a name finds its data set.

A data set is added by a loader and its entry in `catalog.toml`. Other packages add theirs through the entry-point group
"defero.datasets".
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from defero.core.registry import Registry
from defero.datasets.folder import Folder

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
        None where the source's own is not known: it is recorded at the first download, and `most_mb` bounds that.
    url : str, optional
        None where the source wants a person: an account, a click, a letter.
    most_mb : int, optional
        A longer file is refused, in 1e6 bytes. Needed where there is a url and no sha256. GitHub takes no file of more
        than 100 MB, and a url with a commit in it names one version.
    members : tuple of str
        For an archive: the ends of the paths inside it that are taken out. The archive itself is not kept.
    """

    path: str
    form: Form = "source"
    sha256: str | None = None
    url: str | None = None
    most_mb: int | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """What is known of a data set: where it comes from, whose it is, how its files are checked, what loads it.

    Attributes
    ----------
    name, title, what : str
        The name in commands, the data set's own name, and one line about it.
    licence, citation, homepage : str
    files : tuple of DataFile
    load : callable, or "module:name" of one
        Its loader, called by `load_dataset` with the keyword `folder` and the loader's own options.
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
    load: Callable[..., Any] | str
    by_hand: str
    labels: LabelKind = "truth"
    arrays: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tree: str | None = None
    tree_sha256: str | None = None

    @property
    def loader(self) -> Callable[..., Any]:
        """The loader itself."""
        if not isinstance(self.load, str):
            return self.load
        module, _, name = self.load.partition(":")
        loader: Callable[..., Any] = getattr(import_module(module), name)
        return loader

    @property
    def loader_name(self) -> str:
        """Where Python finds the loader: its public name, or its module's where another package has it."""
        module = self.loader.__module__
        return f"{'defero.datasets' if module.startswith('defero.datasets.') else module}.{self.loader.__name__}"

    def of_form(self, form: Form) -> tuple[DataFile, ...]:
        """Return the files of one form."""
        return tuple(file for file in self.files if file.form == form)


DATASETS: Registry[Dataset] = Registry("name", group="defero.datasets")
"""All data sets by name: `DATASETS.find("cifar10h").licence`, `DATASETS.register(entry.name, entry)`."""


def _described(name: str, entry: dict[str, Any]) -> Dataset:
    """Return a data set of our own, as `catalog.toml` describes it."""
    files: list[dict[str, Any]] = [
        {key: tuple(value) if isinstance(value, list) else value for key, value in file.items()}
        for file in entry.pop("files")
    ]
    load = f"defero.datasets.{entry.pop('load')}"
    return Dataset(name=name, load=load, files=tuple(DataFile(**file) for file in files), **entry)


for _name, _entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items():
    DATASETS.register(_name, _described(_name, _entry))


def load_dataset(name: str, *, folder: Folder = None, **options: Any) -> Any:
    """Load a data set that is in the data folder.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    **options
        Options of the data set's loader, such as `part="train"` for cifar10.

    Returns
    -------
    ExpertTable, ImageSet, VoteSet, AgreementSet, CorrectnessTable, or a dict of tables
        Whatever the loader of this data set returns; `defero datasets info NAME` names it.
    """
    return DATASETS.find(name).loader(folder=folder, **options)
