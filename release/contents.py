"""What a wheel and an sdist hold, by the names of their files: all that is needed, and nothing else."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

DATA = {
    "defero": (
        *("*.pyi", "py.typed", "*.css", "*.js", "*.svg", "*.html", "*.toml", "*.mako"),
        *("datasets/clinic*.csv", "service/web/examples.json"),
    ),
    "defero_verma2023": ("py.typed", "figures/published.csv"),
}
"""Files of each package beside its modules, by pattern."""
OF_WHEEL = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE")
STRAY = re.compile(
    r"(^|/)(tests?|benchmarks|docs|examples|release|build|__pycache__|\.[^/]*)/|\.(pyc|orig|rej|bak|ipynb)$"
)
MOST_BYTES = {"defero": 2_500_000, "defero_verma2023": 400_000}
"""A wheel above this size has something in it that nobody meant; raise it on purpose."""


@dataclass(frozen=True)
class Source:
    """A distribution's sources: the folder of its pyproject.toml, and its one package."""

    folder: str
    package: str

    def files(self, root: Path) -> set[str]:
        """Return the files of the package, as a wheel must name them."""
        src = root / self.folder / "src"
        paths = (path for path in (src / self.package).rglob("*") if path.is_file())
        return {path.relative_to(src).as_posix() for path in paths if "__pycache__" not in path.parts}


SOURCES = (Source(".", "defero"), Source("papers/verma2023", "defero_verma2023"))


def odd_sources(source: Source, root: Path) -> list[str]:
    """Return files in a package's folder that are neither modules nor data of a known kind."""
    return sorted(name for name in source.files(root) if not _known(PurePosixPath(name), source.package))


def wheel_faults(names: Iterable[str], source: Source, root: Path) -> list[str]:
    """Return what a wheel lacks, and what it should not have."""
    listed = set(names)
    info = {name for name in listed if ".dist-info/" in name}
    inside = listed - info
    expected = source.files(root)
    faults = [f"lacks {name}" for name in sorted(expected - inside)]
    faults += [f"has {name}, which is not in the sources" for name in sorted(inside - expected)]
    faults += [f"has {name}, a stray file" for name in sorted(inside) if STRAY.search(name)]
    tails = {name.partition(".dist-info/")[2] for name in info}
    return faults + [f"lacks {tail} beside the package" for tail in OF_WHEEL if tail not in tails]


def sdist_faults(names: Iterable[str], source: Source, root: Path) -> list[str]:
    """Return what an sdist lacks to build the wheel from it, and what it should not have."""
    listed = {name.partition("/")[2] for name in names}
    needed = {f"src/{name}" for name in source.files(root)} | {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"}
    faults = [f"lacks {name}" for name in sorted(needed - listed)]
    own = {name for name in listed if ".egg-info/" not in name}
    return faults + [f"has {name}, a stray file" for name in sorted(own) if STRAY.search(name)]


def _known(name: PurePosixPath, package: str) -> bool:
    inner = name.relative_to(package).as_posix()
    return name.suffix == ".py" or any(
        fnmatch(inner, pattern) or fnmatch(name.name, pattern) for pattern in DATA[package]
    )
