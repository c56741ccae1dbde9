"""
The reference stacks as the app defines them, in one synthesis.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from aws_cdk import App
from aws_cdk.cx_api import CloudAssembly

import app as reference
from tests.conftest import STRICT


@pytest.fixture(name="assembly", scope="session", params=["agnostic", "us-east-1"])
def _assembly(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> CloudAssembly:
    """
    Without a region, where registries are looked up, and with one.
    """
    context: dict[str, object] = dict(STRICT)
    if request.param != "agnostic":
        context |= {"account": "111111111111", "region": request.param}
    app = App(context=context, outdir=str(tmp_path_factory.mktemp("cdk.out")))
    reference.define(app)
    return app.synth()


@pytest.fixture(name="outdir")
def _outdir(assembly: CloudAssembly) -> Path:
    return Path(assembly.directory)
