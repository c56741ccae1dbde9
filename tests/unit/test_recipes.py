"""
The workflows that the guide shows are the one that a new app has.
"""

from __future__ import annotations

import yaml

from tests.recipes import ROOT, blocks

TEMPLATE = (
    ROOT / "constructs/cdk_sagemaker_llm/cli/starter/templates/ci.yml.template"
).read_text(encoding="utf-8")


def test_githubs_workflow_is_a_new_apps() -> None:
    """
    Line for line, below the name of its file.
    """
    shown, _ = blocks("ci-workflow", "yaml")

    assert shown.split("\n", 1)[1] == TEMPLATE.replace("$$", "$")


def test_gitlabs_runs_the_same_commands() -> None:
    """
    After Node.js, which its image has not.
    """
    github, gitlab = map(yaml.safe_load, blocks("ci-workflow", "yaml"))
    steps = [step["run"] for step in github["jobs"]["test"]["steps"] if "run" in step]
    commands = [line for step in steps for line in step.splitlines()]
    job = gitlab["test"]

    assert [*job["before_script"][1:], *job["script"]] == commands
