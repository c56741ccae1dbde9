"""
Where the browser comes from, and what is said if it comes from nowhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.browser.__main__ import BrowserError, chromium


def program(folder: Path, name: str, text: str = "") -> Path:
    """
    Write a shell script that can be run.
    """
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_ones_own_comes_first(tmp_path: Path) -> None:
    """
    By its path or by its name; an empty variable names none.
    """
    program(tmp_path, "chromium")
    own = program(tmp_path, "my-browser")
    path = {"PATH": str(tmp_path)}

    assert chromium({**path, "CHROMIUM": str(own)}) == str(own)
    assert chromium({**path, "CHROMIUM": "my-browser"}) == str(own)
    assert chromium({**path, "CHROMIUM": ""}) == str(tmp_path / "chromium")


def test_other_names_of_it_are_known(tmp_path: Path) -> None:
    """
    Distributions call it differently.
    """
    found = program(tmp_path, "chromium-browser")

    assert chromium({"PATH": str(tmp_path)}) == str(found)


def test_fails_if_ones_own_is_not_there(tmp_path: Path) -> None:
    """
    None is installed in its place.
    """
    program(tmp_path, "chromium")
    with pytest.raises(BrowserError, match="CHROMIUM=/gone is no program; install it"):
        chromium({"PATH": str(tmp_path), "CHROMIUM": "/gone"})


def test_root_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    By Debian's own tool, after it has read what there is.
    """
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    made = tmp_path / "chromium"
    program(
        tmp_path,
        "apt-get",
        f'echo "$@" >> {tmp_path}/log\n'
        f'case "$*" in *install*) echo > {made}; /bin/chmod 755 {made};; esac',
    )

    assert chromium({"PATH": str(tmp_path)}) == str(made)
    assert (tmp_path / "log").read_text().splitlines() == [
        "--quiet update",
        "--quiet --yes --no-install-recommends install chromium fonts-dejavu-core",
    ]


def test_fails_with_what_apt_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Its last line, and the way out.
    """
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program(tmp_path, "apt-get", "echo reading; echo no network; exit 100")

    with pytest.raises(BrowserError, match="update failed: no network; install it"):
        chromium({"PATH": str(tmp_path)})


def test_fails_if_nothing_comes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A package of that name may hold something else.
    """
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program(tmp_path, "apt-get")

    with pytest.raises(BrowserError, match="apt-get installed no Chromium in PATH"):
        chromium({"PATH": str(tmp_path)})


@pytest.mark.parametrize(("user", "why"), [(1000, "only root"), (0, "no apt-get")])
def test_fails_where_it_cannot_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, why: str
) -> None:
    """
    Not as anybody else, and not on other systems.
    """
    monkeypatch.setattr(os, "geteuid", lambda: user)

    with pytest.raises(BrowserError, match=f"there is no Chromium, and {why}"):
        chromium({"PATH": str(tmp_path)})


def test_the_command_prints_the_path_or_the_way_out(tmp_path: Path, root: Path) -> None:
    """
    Alone on its line, for the make target.
    """
    found = program(tmp_path, "chromium")

    def run(path: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tools.browser"],
            cwd=root,
            env={"PATH": str(tmp_path), "CHROMIUM": path},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("").stdout == f"{found}\n"
    assert run("/gone").returncode == 1
    assert run("/gone").stderr.startswith("browser-test: CHROMIUM=/gone is no program")
