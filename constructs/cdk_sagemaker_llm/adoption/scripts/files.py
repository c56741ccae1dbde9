"""
Files that a script writes, packs and uploads, as far as its text holds them.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from cdk_sagemaker_llm.adoption.scripts.cells import SHELL, WRITE
from cdk_sagemaker_llm.adoption.scripts.functions import json_of
from cdk_sagemaker_llm.adoption.scripts.values import (
    Called,
    Text,
    Thing,
    Unknown,
    joined,
)

Content = str | Text | Unknown

_HOLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_JOINED = re.compile(r"&&|;|\|\|")


@dataclass
class Files:
    """
    The files by path; what packages hold, by their names; and what was uploaded, by
    its addresses.
    """

    contents: dict[str, Content] = field(default_factory=dict)
    packages: dict[str, dict[str, Content]] = field(default_factory=dict)
    uploads: list[tuple[object, Mapping[str, Content]]] = field(default_factory=list)

    def write(self, path: str, content: Content, *, adds: bool = False) -> None:
        """
        Write a file, or add to it.
        """
        path = posixpath.normpath(path)
        if adds and path in self.contents:
            content = joined([self.contents[path], content], path)
        self.contents[path] = content

    def read(self, path: str) -> Content | None:
        """
        Return what a file holds; ``None`` if the script did not write it.
        """
        return self.contents.get(posixpath.normpath(path))

    def call(self, called: Called) -> object:
        """
        Return what a call does to files; ``NotImplemented`` of one that does nothing.
        """
        work = _CALLS.get(called.name)
        return NotImplemented if work is None else work(self, called)

    def uploaded(self, address: object) -> Mapping[str, Content]:
        """
        Return what was uploaded to an address last, as it lies in a model's tarball.
        """
        parts = address.parts if isinstance(address, Text) else ()
        near = (address, _without_slash(address), *parts)
        return next((held for at, held in reversed(self.uploads) if at in near), {})

    def run(self, commands: str) -> None:
        """
        Do what shell commands do to files: copy, move, remove and pack.
        """
        for line in commands.replace("\\\n", " ").splitlines():
            folder = "."
            for command in _JOINED.split(line):
                try:
                    words = shlex.split(command, comments=True)
                except ValueError:
                    continue
                if words[:1] == ["cd"] and words[1:]:
                    folder = posixpath.join(folder, words[1])
                elif words:
                    self._do(words[0], words[1:], folder)

    def _do(self, command: str, words: list[str], folder: str) -> None:
        options = [one for one in words if one.startswith("-")]
        paths = [
            posixpath.normpath(posixpath.join(folder, one))
            for one in words
            if not one.startswith("-")
        ]
        if command in ("mv", "cp") and len(paths) > 1:
            for one in paths[:-1]:
                self._copy(one, paths[-1], keeps=command == "cp")
        elif command == "rm":
            recursive = any("r" in one.lower() for one in options)
            for one in paths:
                self._remove(one, recursive=recursive)
        elif command == "tar":
            self._tar(words, folder)

    def _copy(self, source: str, target: str, *, keeps: bool) -> None:
        for path, name in list(self._under(source)):
            content = self.contents[path]
            is_file = name == posixpath.basename(path) == posixpath.basename(target)
            self.write(target if is_file else posixpath.join(target, name), content)
            if not keeps:
                del self.contents[path]

    def _remove(self, path: str, *, recursive: bool) -> None:
        for one, _ in list(self._under(path)):
            if recursive or one == path:
                del self.contents[one]

    def _tar(self, words: list[str], folder: str) -> None:
        mode, *rest = words or [""]
        if "c" not in mode or not rest:
            return
        package, *members = rest
        if "-C" in members:
            at = members.index("-C")
            folder = posixpath.join(folder, members[at + 1])
            members = members[:at] + members[at + 2 :]
        paths = [
            posixpath.join(folder, one) for one in members if not one.startswith("-")
        ]
        self.empty(package)
        self.pack(package, paths)

    def pack(self, package: str, members: list[str]) -> None:
        """
        Make a package of files and folders.
        """
        packed = self.packages.setdefault(posixpath.basename(package), {})
        for one in members:
            packed |= self._within(posixpath.normpath(one))

    def empty(self, package: str) -> None:
        """
        Begin a package anew.
        """
        self.packages.pop(posixpath.basename(package), None)

    def upload(self, path: object, *places: object) -> None:
        """
        Note what a package, a folder or a file holds when it is uploaded.
        """
        if isinstance(path, str):
            packed = self.packages.get(posixpath.basename(path))
            held = self._within(posixpath.normpath(path)) if packed is None else packed
            self.uploads += [(one, dict(held)) for one in places if one is not None]

    def _within(self, path: str) -> dict[str, Content]:
        found = self._under(path.removesuffix("*").rstrip("/") or ".")
        return {name: self.contents[at] for at, name in found}

    def _under(self, path: str) -> Iterator[tuple[str, str]]:
        folder = "" if path in (".", "") else f"{path.rstrip('/')}/"
        for one in self.contents:
            if one == path:
                yield one, posixpath.basename(one)
            elif one.startswith(folder) and (folder or "/" not in one):
                yield one, one.removeprefix(folder)


def _open(files: Files, called: Called) -> object:
    if called.text == "tarfile.open":
        name = called.by_name("name").get("name")
        files.empty(str(name))
        return Thing("file", {"path": name})
    is_method = isinstance(called.owner, str)
    path = called.owner if is_method else called.first
    arguments = called.by_name("mode") if is_method else called.by_name("file", "mode")
    if "w" in str(arguments.get("mode")) and isinstance(path, str):
        files.write(path, "")
    return Thing("file", {"path": path})


def _read(files: Files, called: Called) -> object:
    owner = called.owner
    path = owner.get("path") if isinstance(owner, Thing) else owner
    found = files.read(path) if isinstance(path, str) else None
    return called.unknown() if found is None else found


def _write(files: Files, called: Called) -> object:
    target, value = called.owner, called.first
    if called.name == "dump":
        target, value = (*called.arguments, None, None)[1], json_of(value, {})
    if isinstance(value, list):
        value = joined(value, called.text)
    path = target.get("path") if isinstance(target, Thing) else target
    if isinstance(path, str):
        files.write(path, joined([value], path), adds=isinstance(target, Thing))
    return None


def _pack(files: Files, called: Called) -> object:
    if called.name == "make_archive":
        arguments = called.by_name("base_name", "format", "root_dir")
        files.pack(
            f"{arguments.get('base_name')}.tar.gz",
            [str(arguments.get("root_dir", "."))],
        )
    elif isinstance(called.owner, Thing) and called.owner.kind == "file":
        files.pack(str(called.owner.get("path")), [str(called.first)])
    else:
        return NotImplemented
    return None


def _upload(files: Files, called: Called) -> object:
    if called.name == "upload_file":
        arguments = called.by_name("Filename", "Bucket", "Key")
        parts = ["s3://", arguments.get("Bucket"), "/", arguments.get("Key")]
        files.upload(arguments.get("Filename"), joined(parts, called.text))
        return None
    if called.name == "upload" and not called.text.endswith("S3Uploader.upload"):
        return NotImplemented
    arguments = called.by_name("local_path", "desired_s3_uri")
    answer = called.unknown()
    place = arguments.get("desired_s3_uri") if called.name == "upload" else None
    files.upload(arguments.get("path", arguments.get("local_path")), answer, place)
    return answer


def _template(_: Files, called: Called) -> object:
    return Thing("Template", {"text": called.first})


def _render(_: Files, called: Called) -> object:
    """
    Return a template with the values of its names, as Jinja fills it in; what it cannot
    be filled in with stays unknown.
    """
    template = called.owner.get("text") if isinstance(called.owner, Thing) else None
    if not isinstance(template, str):
        return called.unknown()
    parts: list[object] = []
    end = 0
    for found in _HOLE.finditer(template):
        parts.append(template[end : found.start()])
        parts.append(called.keywords.get(found[1], Unknown(found[1], name=found[1])))
        end = found.end()
    return joined([*parts, template[end:]], called.text)


def _shell(files: Files, called: Called) -> None:
    files.run(called.first if isinstance(called.first, str) else "")


def _cell(files: Files, called: Called) -> None:
    if isinstance(called.first, str):
        files.write(called.first, called.arguments[1])


_CALLS: Mapping[str, Callable[[Files, Called], object]] = {
    SHELL: _shell,
    WRITE: _cell,
    "Template": _template,
    "add": _pack,
    "dump": _write,
    "from_string": _template,
    "make_archive": _pack,
    "open": _open,
    "read": _read,
    "read_text": _read,
    "render": _render,
    "upload": _upload,
    "upload_data": _upload,
    "upload_file": _upload,
    "write": _write,
    "write_text": _write,
    "writelines": _write,
}


def _without_slash(address: object) -> object:
    if isinstance(address, str):
        return address.rstrip("/")
    if isinstance(address, Text) and isinstance(address.parts[-1], str):
        return joined([*address.parts[:-1], address.parts[-1].rstrip("/")], "")
    return address
