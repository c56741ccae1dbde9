"""
The wheel in clean environments: each Python, the lowest and the newest CDK.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.release import DISTRIBUTION, Report, StepError, run
from tools.release.api import public_names
from tools.release.candidate import Candidate

UV = (sys.executable, "-m", "uv")
_VERSION = re.compile(r"Programming Language :: Python :: (3\.\d+)")
_EXAMPLE = Path("examples", "one_model", "app.py")
# Loads the public names; what asks for an extra that is not there is counted.
LOAD = """
import importlib, json, sys
loaded, extras = 0, {}
for package, names in json.loads(sys.argv[1]).items():
    for name in names:
        try:
            getattr(importlib.import_module(package), name)
        except ImportError as error:
            extras[f"{package}.{name}"] = str(error)
        else:
            loaded += 1
print(json.dumps({"loaded": loaded, "extras": extras}))
"""


@dataclass(frozen=True)
class Environment:
    """
    What the wheel is installed with.

    Args:
        name: How the report calls it.

        options: Those of the installer.

        extras: What is installed beside it. If omitted, nothing is.
    """

    name: str
    options: tuple[str, ...]
    extras: str = ""


# What the CDK needs itself is not lowered: those bounds are the CDK's own.
ENVIRONMENTS = (
    Environment("lowest", ("--resolution", "lowest-direct")),
    Environment("newest with all extras", (), "[all]"),
)


def pythons(classifiers: Iterable[str]) -> list[str]:
    """
    Return the versions of Python that the metadata promises.

    Args:
        classifiers: Those in pyproject.toml.
    """
    return [match[1] for match in map(_VERSION.fullmatch, classifiers) if match]


def interpreter(version: str, folders: Iterable[Path]) -> Path | None:
    """
    Return the first interpreter of a version that runs, None if there is none.

    Args:
        version: The version, such as 3.12.

        folders: Where to look.
    """
    for folder in folders:
        path = folder / f"python{version}"
        if not path.is_file():
            continue
        # pyenv has a program of each name, which fails where it leads nowhere.
        asked = subprocess.run(
            [path, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"],
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.stdout.strip() == version:
            return path
    return None


def folders_of_interpreters() -> list[Path]:
    """
    Return where interpreters may be: PATH, then what pyenv and uv have installed.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    uv = Path(run(*UV, "python", "dir").strip())
    installed = [*sorted(pyenv.glob("*/bin")), *sorted(uv.glob("*/bin"))]
    return [*map(Path, os.get_exec_path()), *installed]


def check(candidate: Candidate, *, every_python: bool = False) -> Report:
    """
    Install the wheel everywhere, load every public name, and synthesise an example.

    Args:
        candidate: The commit that would be released.

        every_python:
            Whether a Python that is not here is an error.
            If omitted, the report says so and no more.
    """
    notes: list[str] = []
    findings: list[str] = []
    folders = folders_of_interpreters()
    for version in pythons(candidate.project["classifiers"]):
        python = interpreter(version, folders)
        if python is None:
            missing = f"Python {version} is not on this machine, so nothing was tried"
            if every_python:
                findings.append(f"{missing}; install it: uv python install {version}")
            else:
                notes.append(f"{missing}; the workflow that publishes needs it")
            continue
        for environment in ENVIRONMENTS:
            try:
                notes.append(_try(candidate, version, python, environment))
            except StepError as error:
                findings.append(
                    f"Python {version}, {environment.name}: {error}\nmend it, or narrow"
                    " what pyproject.toml promises"
                )
    return Report(notes=notes, findings=findings)


def _try(
    candidate: Candidate, version: str, python: Path, environment: Environment
) -> str:
    home = candidate.folder / "installed" / f"{version} {environment.name}"
    own = installed(candidate, home, python, environment)
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    names = json.dumps(public_names(candidate.source))
    answer = json.loads(run(own, "-c", LOAD, names, cwd=elsewhere))
    if wrong := unexplained(answer["extras"], environment.extras):
        raise StepError("\n".join(wrong))
    run(
        *(own, candidate.source / _EXAMPLE),
        cwd=elsewhere,
        variables={"CDK_OUTDIR": str(elsewhere / "cdk.out")},
    )
    if not [*elsewhere.glob("cdk.out/*.template.json")]:
        raise StepError(f"{_EXAMPLE} wrote no template")
    listed = json.loads(run(*UV, "pip", "list", "--format", "json", "--python", own))
    versions = {package["name"]: package["version"] for package in listed}
    asked = len(answer["extras"])
    return (
        f"Python {version}, {environment.name}: aws-cdk-lib {versions['aws-cdk-lib']}, "
        f"constructs {versions['constructs']}; {answer['loaded']} public names load"
        + (f" and {asked} ask for their extra" if asked else "")
        + "; an example is synthesised"
    )


def installed(
    candidate: Candidate,
    home: Path,
    python: Path | str,
    environment: Environment,
) -> Path:
    """
    Make a clean environment with the wheel, and return its Python.

    Args:
        candidate: The commit whose wheel is installed.

        home: A folder that does not exist yet.

        python: The interpreter that it is of.

        environment: What else is installed, and how.
    """
    run(*UV, "venv", "--quiet", "--python", python, home)
    own = home / "bin" / "python"
    named = f"{DISTRIBUTION}{environment.extras}"
    wheel = f"{named} @ {candidate.packages.wheel.as_uri()}"
    install = (*UV, "pip", "install", "--quiet", *environment.options)
    run(
        *install,
        *("--python", own, wheel),
        # Named once more: the installer lowers what it is asked for, and nothing else.
        *candidate.project["dependencies"],
    )
    return own


def unexplained(errors: Mapping[str, str], extras: str) -> Sequence[str]:
    """
    Return the names that neither load nor say which extra they need.

    Args:
        errors: What was said of each name that did not load.

        extras: The extras that are installed, where no name may ask for more.
    """
    return [
        f"{name} does not load: {said}"
        for name, said in errors.items()
        if extras or f"pip install '{DISTRIBUTION}[" not in said
    ]
