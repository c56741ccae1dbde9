"""
What containers read out of their model data: the options of a serving.properties.
"""

from __future__ import annotations

import io
import tarfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cdk_sagemaker_llm.local.aws.surroundings import Location, Surroundings

_KEPT = 256  # What is remembered of artifacts: a few hundred bytes each.
_PROPERTIES = "serving.properties"
# What stands for files that cannot be looked into.
UNREAD = ("weights",)


@dataclass(frozen=True, slots=True)
class ModelData:
    """
    One place that a container's model data comes from: an artifact, or the prefix of
    all objects under it, unpacked.
    """

    url: str
    prefix: bool = False

    @property
    def location(self) -> Location | None:
        """
        Where it is in S3; ``None`` if it is not there.
        """
        return Location.of(self.url)

    @classmethod
    def of(cls, container: Mapping[str, Any]) -> Iterator[ModelData]:
        """
        Walk through what a container's definition names, the main data first.
        """
        url = container.get("ModelDataUrl") or container.get("ArtifactUrl")
        # That of many models is where they will be: there need not be one yet.
        if url and container.get("Mode") != "MultiModel":
            yield cls(url)
        for source in (
            container.get("ModelDataSource", {}),
            *container.get("AdditionalModelDataSources", ()),
        ):
            if where := source.get("S3DataSource"):
                yield cls(where["S3Uri"], where["S3DataType"] == "S3Prefix")


@dataclass
class Artifacts:
    """
    The model data of a region, each object of which is read once.
    """

    surroundings: Surroundings
    _kept: OrderedDict[tuple[Location, str, str], Any] = field(
        default_factory=OrderedDict
    )

    def is_there(self, data: ModelData) -> bool:
        """
        Tell whether SageMaker could load it.
        """
        location = data.location
        if location is None:
            return False
        if location.is_public:
            return True
        if data.prefix:
            return location.key.endswith("/") and self.surroundings.has_objects(
                location
            )
        return self.surroundings.object_version(location) is not None

    def files(self, data: ModelData) -> tuple[str, ...]:
        """
        Return the paths in model data, as they come to lie in ``/opt/ml/model``.
        """
        location = data.location
        if location is None:
            return ()
        if location.is_public:
            return UNREAD
        if data.prefix:
            return self.surroundings.objects_under(location)
        found: tuple[str, ...] | None = self._once(location, "files", _archive_paths)
        return found or ()

    def read(self, data: ModelData, path: str) -> bytes | None:
        """
        Return the contents of a file in model data; ``None`` if it is not there.
        """
        location = data.location
        if location is None:
            return None
        if data.prefix:
            return self.surroundings.read_object(location.child(path))
        found: bytes | None = self._once(
            location, f"file {path}", lambda contents: read_member(contents, path)
        )
        return found

    def options(self, data: ModelData) -> Mapping[str, str]:
        """
        Return the options in model data, of which there may be none.
        """
        location = data.location
        if location is None:
            return {}
        if data.prefix:
            location = location.child(_PROPERTIES)
        read = read_properties if data.prefix else read_archive
        found: Mapping[str, str] | None = self._once(location, "options", read)
        return found or {}

    def _once(self, location: Location, what: str, read: Callable[[bytes], Any]) -> Any:  # noqa: ANN401 - what is read
        """
        Read an object again where its contents have changed alone; ``None`` if it is
        not there.
        """
        version = self.surroundings.object_version(location)
        if version is None:
            return None
        key = (location, version, what)
        if key not in self._kept:
            self._kept[key] = read(self.surroundings.read_object(location) or b"")
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]


def _archive_paths(contents: bytes) -> tuple[str, ...]:
    try:
        with tarfile.open(fileobj=io.BytesIO(contents)) as archive:
            return tuple(
                member.name.removeprefix("./") for member in archive if member.isfile()
            )
    except (tarfile.TarError, EOFError, OSError):
        # Weights in another form: there is something, whatever it is.
        return UNREAD if contents else ()


def read_member(
    contents: bytes, path: str, *, in_any_folder: bool = False
) -> bytes | None:
    """
    Return the contents of a file in an archive; ``None`` if it is not there.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(contents)) as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                if in_any_folder:
                    name = name.rpartition("/")[2]
                if name == path and member.isfile():
                    file = archive.extractfile(member)
                    return file.read() if file else None
    except (tarfile.TarError, EOFError, OSError):
        pass  # Weights in another form.
    return None


def read_archive(contents: bytes) -> dict[str, str]:
    """
    Return the options in an archive.
    """
    text = read_member(contents, _PROPERTIES, in_any_folder=True)
    return {} if text is None else read_properties(text)


def read_properties(contents: bytes) -> dict[str, str]:
    """
    Return the options of a serving.properties by name, without ``option.``.
    """
    text = contents.decode(errors="replace")
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line[:1] not in {"", "#", "!"})
    return {
        key.strip().removeprefix("option."): value.strip() for key, _, value in pairs
    }
