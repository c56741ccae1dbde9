"""
``make release-check``, in clones that have something to hide.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.package.conftest import run

HISTORY = Path(__file__).parents[2] / ".git"
pytestmark = [
    pytest.mark.whole,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not HISTORY.exists(), reason="a source archive has no history to compare with"
    ),
]

IDENTITY = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.com")
PATTERN = "constructs/cdk_sagemaker_llm/hosting/patterns/llm_endpoint.py"
ARGUMENT = "        network: Network | None = None,\n"
LOG = "## 99.1.0\n\n{}\n\n## 99.0.0 - 2026-01-31\n\n- Everything.\n"
# Writes what time it is into the wheel.
CLOCK = """
import time
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Clock(BuildHookInterface):
    def initialize(self, version, build_data):
        made = Path(self.root, "made.txt")
        made.write_text(str(time.time_ns()))
        build_data["force_include"][str(made)] = "cdk_sagemaker_llm/made.txt"
"""
HOOK = """
[tool.hatch.build.targets.wheel.hooks.custom]
path = "clock.py"
"""


class Clone:
    """
    A clone of this repository, with changes that the original has not.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._python = root / ".venv-release" / "bin" / "python"
        self._root = root
        self.folder = folder
        git("clone", "--quiet", "--depth", "1", "--no-tags", root.as_uri(), folder)

    def change(self, name: str, change: Callable[[str], str]) -> None:
        """
        Change a file and commit it.
        """
        path = self.folder / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        after = change(before)
        assert after != before
        path.write_text(after, encoding="utf-8")
        git("-C", self.folder, "add", name)
        git("-C", self.folder, "commit", "--quiet", "--message", f"Change {name}")

    def say(self, version: str) -> None:
        """
        Write another version into pyproject.toml.
        """
        line = re.compile(r'^version = ".*"', re.MULTILINE)
        self.change(
            "pyproject.toml", lambda text: line.sub(f'version = "{version}"', text, 1)
        )

    def release(self) -> None:
        """
        Release what is there as 99.0.0, and begin 99.1.0.
        """
        self.say("99.0.0")
        git("-C", self.folder, "tag", "v99.0.0")
        self.say("99.1.0")

    def log(self, entry: str) -> None:
        """
        Write a changelog that has this of 99.1.0.
        """
        self.change("CHANGELOG.md", lambda _: LOG.format(entry))

    def check(self, *names: str) -> tuple[int, str]:
        """
        Return the status and the words of these checks.
        """
        assert self._python.exists(), "install it: make .venv-release/.ready"
        only = [word for name in names for word in ("--only", name)]
        at = str(self.folder)
        # From the checkout, so that what is being written is what is tested.
        done = subprocess.run(
            [self._python, "-m", "tools.release", "--root", at, *only],
            cwd=self._root,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


def git(*words: str | Path) -> None:
    """
    Run git as somebody.
    """
    done = run("git", *IDENTITY, *words)
    assert done.returncode == 0, done.stderr


@pytest.fixture(name="clone")
def _clone(root: Path, tmp_path: Path) -> Clone:
    return Clone(root, tmp_path / "clone")


def test_a_commit_after_a_release_is_ready(clone: Clone) -> None:
    """
    Nothing broke, the changelog has its version, and two builds are alike.
    """
    clone.release()
    clone.log("- A new thing.")

    status, words = clone.check("version", "api", "build", "metadata")

    assert status == 0, words
    assert "99.1.0 after v99.0.0" in words
    assert "0 breaks since v99.0.0" in words
    assert words.endswith("ready: 4 checks passed\n")


def test_a_broken_signature_is_not_ready(clone: Clone) -> None:
    """
    The argument that is gone is named, with the line to write; a line that is not bold
    is none.
    """
    clone.release()
    clone.log("- `LlmEndpoint` takes no `network` any more.")
    clone.change(PATTERN, lambda text: text.replace(ARGUMENT, "", 1))

    status, words = clone.check("api")

    assert status == 1
    assert "- LlmEndpoint(network=): Parameter was removed" in words
    assert "or write: - **Breaking: ... `LlmEndpoint` ... `network` ...**" in words
    assert words.endswith("not ready: api failed\n")


def test_a_break_that_the_changelog_tells_needs_a_version_that_may_break(
    clone: Clone,
) -> None:
    """
    The line is there: what is left to do is to raise the version.
    """
    clone.release()
    clone.log("- **Breaking: `LlmEndpoint` takes no `network` any more.**")
    clone.change(PATTERN, lambda text: text.replace(ARGUMENT, "", 1))

    status, words = clone.check("api")

    assert status == 1
    assert "Parameter was removed" not in words
    assert "only a new major version may" in words

    clone.say("100.0.0")
    status, words = clone.check("api")

    assert status == 0, words
    assert "1 breaks since v99.0.0" in words


def test_a_version_without_an_entry_is_not_ready(clone: Clone) -> None:
    """
    The heading to write is named.
    """
    clone.release()

    status, words = clone.check("version")

    assert status == 1
    assert "CHANGELOG.md has no entry for 99.1.0" in words
    assert "under a heading of its own: ## 99.1.0" in words


def test_a_version_is_released_once(clone: Clone) -> None:
    """
    Its tag is another commit's.
    """
    clone.release()
    clone.log("- A new thing.")
    clone.say("99.0.0")

    status, words = clone.check("version")

    assert status == 1
    assert "99.0.0 is released already, from another commit" in words


def test_an_unreproducible_build_is_not_ready(clone: Clone) -> None:
    """
    The file that differs is named.
    """
    clone.change("clock.py", lambda _: CLOCK)
    first = '  "/assets",\n'
    clone.change(
        "pyproject.toml",
        lambda text: text.replace(first, f'{first}  "/clock.py",\n', 1) + HOOK,
    )

    status, words = clone.check("build")

    assert status == 1
    assert "py3-none-any.whl has other bytes when it is built again" in words
    assert "cdk_sagemaker_llm/made.txt" in words
