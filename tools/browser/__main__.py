"""
Print where Chromium is, after installing it if need be: ``python -m tools.browser``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

NAMES = ("chromium", "chromium-browser", "google-chrome")
_WAY_OUT = (
    "install it (on Debian, as root: apt-get install chromium) or name one of yours: "
    "make browser-test CHROMIUM=/path/to/chromium"
)
_STEPS = (
    ("apt-get", "--quiet", "update"),
    (
        *("apt-get", "--quiet", "--yes", "--no-install-recommends"),
        *("install", "chromium", "fonts-dejavu-core"),
    ),
)


class BrowserError(Exception):
    """
    There is no Chromium, and why none was installed.
    """


def chromium(environment: Mapping[str, str]) -> str:
    """
    Return the path of Chromium, installed if need be.

    Args:
        environment: The variables: ``CHROMIUM`` names one's own, ``PATH`` leads to one.

    Raises:
        BrowserError: If there is none, and none can be installed.
    """
    path = environment.get("PATH")
    if own := environment.get("CHROMIUM"):
        if found := shutil.which(own, path=path):
            return found
        raise BrowserError(f"CHROMIUM={own} is no program; {_WAY_OUT}")
    if found := _found(path):
        return found
    _install(environment)
    if found := _found(path):
        return found
    raise BrowserError(f"apt-get installed no Chromium in PATH; {_WAY_OUT}")


def _found(path: str | None) -> str | None:
    return next(filter(None, (shutil.which(name, path=path) for name in NAMES)), None)


def _install(environment: Mapping[str, str]) -> None:
    path = environment.get("PATH")
    if os.geteuid() != 0:
        raise BrowserError(
            f"there is no Chromium, and only root installs it; {_WAY_OUT}"
        )
    if not shutil.which("apt-get", path=path):
        raise BrowserError(f"there is no Chromium, and no apt-get; {_WAY_OUT}")
    quiet = {**environment, "DEBIAN_FRONTEND": "noninteractive"}
    sys.stderr.write("setup: Chromium, from Debian's packages\n")
    for step in _STEPS:
        done = subprocess.run(
            step,
            env=quiet,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            last = done.stdout.strip().splitlines()[-1:]
            said = " ".join([" ".join(step), "failed:", *last])
            raise BrowserError(f"there is no Chromium, and {said}; {_WAY_OUT}")


def main() -> None:
    """
    Print the path, or what to do.
    """
    try:
        path = chromium(os.environ)
    except BrowserError as error:
        sys.exit(f"browser-test: {error}")
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
