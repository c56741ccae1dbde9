"""
Synthesises every example, and the reference app, in one process:
``python -m tests.examples.synthesis FOLDER [FOLDER_OF_INIT]``.

Each is run as its user runs it, but that cdk-nag looks at it, that the CDK is as strict
as in the reference app, and that it is written to a folder of its own name. What goes
wrong with one is written beside it, and the others go on.

Into the second folder, each example is written as it is with the context that
``cdk init`` writes into a new app.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import aws_cdk
from cdk_nag import AwsSolutionsChecks

from tests.deployments import OF_INIT

STRICT = {
    "@aws-cdk/core:validateAgainstDefaultRules": True,
    "@aws-cdk/core:checkSecretUsage": True,
}
EXAMPLES = Path(__file__).parents[2] / "examples"
# The reference app stands beside the examples.
REFERENCE = "reference"
# Beside the assembly of an example that did not synthesise.
ERROR = "error.txt"

_App = aws_cdk.App


def app_into(
    outdir: Path, *, is_watched: bool = True, settings: dict[str, Any] = STRICT
) -> type[aws_cdk.App]:
    """
    Return an app that is written to a folder, and that cdk-nag looks at.
    """

    class Watched(_App):
        def __init__(self, **given: Any) -> None:  # noqa: ANN401 - whatever an app takes
            context = {**settings, **(given.pop("context", None) or {})}
            super().__init__(outdir=str(outdir), context=context, **given)
            if is_watched:
                checks = AwsSolutionsChecks(self)
                aws_cdk.Validations.of(self).add_plugins(checks)

    return Watched


def synthesise(example: Path, outdir: Path, *, of_init: bool = False) -> None:
    """
    Run one example; write down why it fails, if it does.
    """
    settings = OF_INIT if of_init else STRICT
    # The examples take the class by its name when they are run.
    aws_cdk.App = app_into(  # type: ignore[misc]  # a class of the same base
        outdir, is_watched=not of_init, settings=settings
    )
    try:
        runpy.run_path(str(example), run_name="__main__")
    except Exception:  # noqa: BLE001 - whatever it is, a test shows it
        outdir.mkdir(exist_ok=True, parents=True)
        (outdir / ERROR).write_text(traceback.format_exc(), encoding="utf-8")


if __name__ == "__main__":
    for place, of_init in zip(sys.argv[1:], (False, True), strict=False):
        for app in sorted(EXAMPLES.glob("*/app.py")):
            synthesise(app, Path(place) / app.parent.name, of_init=of_init)
        reference = Path(place) / REFERENCE
        synthesise(EXAMPLES.parent / "app.py", reference, of_init=of_init)
