"""What is known of a data set, as plain values and as lines of text."""

from pathlib import Path
from typing import Any

from defero.datasets.catalog import DataFile, Dataset
from defero.datasets.files import form_here, how_to_get
from defero.datasets.storage.cache import read_records

_LABELS = {
    "truth": "the truth",
    "majority": "no truth: the annotators' own majority, so agreement, not accuracy",
    "scores": "scores of each expert as the source gives them; no answers",
    "none": "none of its own",
}
_FORMS = {"compact": "yes, in our compact form", "source": "yes, as the source gives it"}


def summary(entry: Dataset) -> dict[str, Any]:
    """Return what a list of data sets says of one, for JSON."""
    return {name: getattr(entry, name) for name in ("name", "title", "what", "licence", "homepage")}


def dataset_facts(root: Path, entry: Dataset) -> dict[str, Any]:
    """Return all that is known of a data set, for JSON."""
    recorded = read_records(root).sha256
    files = [
        {
            "path": file.path,
            "form": file.form,
            "url": file.url,
            "sha256": file.sha256,
            "most_mb": file.most_mb,
            "recorded_sha256": recorded.get(file.path),
            "members": list(file.members),
        }
        for file in entry.files
    ]
    here = {"here": form_here(root, entry), "folder": str(root), "arrays": dict(entry.arrays)}
    extra = {"citation": entry.citation, "labels": entry.labels, "loader": entry.loader_name, "files": files}
    return summary(entry) | here | extra


def about(entry: Dataset) -> list[str]:
    """Return a line for the licence, the citation, the source, the labels and the loader."""
    facts = {
        "licence": entry.licence,
        "cite": entry.citation,
        "source": entry.homepage,
        "labels": _LABELS[entry.labels],
        "loader": entry.loader_name,
    }
    return [f"{title:9} {text}" for title, text in facts.items()]


def describe_dataset(root: Path, entry: Dataset) -> list[str]:
    """Return all that is known of a data set in lines of text; how to get it where it is not here."""
    form, recorded = form_here(root, entry), read_records(root).sha256
    lines = [f"{entry.title}: {entry.what}.\n", *about(entry), f"{'here':9} {_FORMS.get(form or '', 'no')}\n"]
    for file in entry.files:
        lines.append(f"{file.path}  ({'our compact form' if file.form == 'compact' else 'as the source gives it'})")
        if file.url:
            lines.append(f"  from    {file.url}")
        if "*" not in file.path:
            lines.append(f"  sha256  {_checksum(file, recorded.get(file.path))}")
    if entry.tree_sha256:
        lines.append(f"{entry.tree}/ as a whole\n  sha256  {entry.tree_sha256}")
    return lines if form is not None else [*lines, f"\n{how_to_get(root, entry)}"]


def _checksum(file: DataFile, recorded: str | None) -> str:
    if file.sha256:
        return file.sha256
    if recorded:
        return f"{recorded} (recorded at the first download)"
    most = "" if file.most_mb is None else f", of at most {file.most_mb} MB"
    return f"not known; recorded at the first download{most}"
