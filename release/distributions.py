"""The wheels and sdists: built from what is committed, and looked into."""

import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from release.checklist import No, refuse
from release.contents import MOST_BYTES, SOURCES, Source, sdist_faults, wheel_faults
from release.environment import UV, run
from release.versions import source_version

NEEDED = ("Name", "Version", "Summary", "License-Expression", "Requires-Python", "Description-Content-Type", "Keywords")


def build(clone: Path, dist: Path) -> str:
    """Build an sdist of each distribution, and its wheel from the sdist."""
    for source in SOURCES:
        run([UV, "build", "--quiet", "--out-dir", dist, clone / source.folder], cwd=clone)
    files = sorted(path for path in dist.iterdir() if path.suffix in (".whl", ".gz"))
    return "\n".join(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB" for path in files)


def wheel_of(source: Source, dist: Path) -> Path:
    """Return the one wheel of a distribution."""
    wheels = list(dist.glob(f"{source.package}-*.whl"))
    if len(wheels) != 1:
        raise No(f"expected one wheel of {source.package}, got {len(wheels)}")
    return wheels[0]


def look_into(dist: Path, clone: Path) -> str:
    """Compare the names in wheels and sdists with the sources, and their sizes with the limits."""
    faults, counts = [], []
    for source in SOURCES:
        wheel = wheel_of(source, dist)
        names = zipfile.ZipFile(wheel).namelist()
        faults += [f"{wheel.name} {fault}" for fault in wheel_faults(names, source, clone)]
        if wheel.stat().st_size > MOST_BYTES[source.package]:
            faults.append(f"{wheel.name} has more than {MOST_BYTES[source.package]} bytes")
        (sdist,) = dist.glob(f"{source.package}-*.tar.gz")
        with tarfile.open(sdist) as archive:
            inside = [member.name for member in archive.getmembers() if member.isfile()]
        faults += [f"{sdist.name} {fault}" for fault in sdist_faults(inside, source, clone)]
        counts.append(f"{wheel.name}: {len(names)} files; {sdist.name}: {len(inside)}")
    refuse(faults)
    return "\n".join(counts)


def check_metadata(dist: Path, clone: Path) -> str:
    """Check the fields that an index shows, and that descriptions, licences and versions are there."""
    version, faults = source_version(clone), []
    for source in SOURCES:
        wheel = wheel_of(source, dist)
        metadata = _metadata(wheel)
        faults += [f"{wheel.name}: {fault}" for fault in _faults(metadata, version)]
    refuse(faults)
    return f"version {version}; the home page is for whoever publishes it to choose: project.urls has the paper's alone"


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def _faults(metadata: Message, version: str) -> Iterator[str]:
    for name in NEEDED:
        if not metadata.get(name):
            yield f"{name} is missing"
    if metadata["Version"] != version:
        yield f"Version is {metadata['Version']}, not {version}"
    if metadata["Description-Content-Type"] != "text/markdown" or len(str(metadata.get_payload())) < 500:
        yield "the description is no README"
    if "LICENSE" not in metadata.get_all("License-File", []):
        yield "License-File is missing"
    if any("License ::" in one for one in metadata.get_all("Classifier", [])):
        yield "a License classifier is not allowed beside License-Expression"
