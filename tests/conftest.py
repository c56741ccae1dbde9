"""
What every test may use: an app as strict as the real one, and a stack in it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from unittest import mock

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Template
from botocore import loaders
from hypothesis import settings

from tests.forking import forked_servers
from tests.secrecy import TOKEN, in_files

ACCOUNT = "111111111111"
REGION = "us-east-1"
STRICT = {
    "@aws-cdk/core:validateAgainstDefaultRules": True,
    "@aws-cdk/core:checkSecretUsage": True,
}
ROOT = Path(__file__).parent.parent

# A busy machine is no fault of the code; and `make test` judges a change, not the luck
# of a draw: `make test-all` draws new examples (`--hypothesis-profile=anew`).
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("anew", deadline=None)
settings.load_profile("same")

# Each session of boto3 would read the descriptions of AWS's services anew.
mock.patch.object(
    loaders, "create_loader", functools.cache(loaders.create_loader)
).start()


def pytest_xdist_auto_num_workers() -> int:
    """
    Take a worker more than there are cores: some tests wait rather than work.
    """
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """
    Look for no garbage meanwhile, nor later among what is made there: it stays.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 50)
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[
    None, pytest.TestReport, pytest.TestReport
]:
    """
    Fail what prints or logs the token that tests keep in secrets.
    """
    report = yield
    if any(TOKEN in text for _, text in report.sections):
        report.outcome = "failed"
        report.longrepr = "the token of the tests was printed or logged"
    return report


@pytest.fixture(scope="session", autouse=True)
def _tells_no_token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """
    When all is done, no file that a test wrote has that token.
    """
    yield
    assert in_files(tmp_path_factory.getbasetemp()) == []


@pytest.fixture(scope="session", autouse=True)
def _forked_servers() -> Iterator[None]:
    """
    Start servers of the embedded AWS in a moment, unless what they run is recorded.
    """
    recorded = "COVERAGE_PROCESS_START" in os.environ
    with contextlib.nullcontext() if recorded else forked_servers():
        yield


@pytest.fixture(name="app")
def _app(tmp_path: Path) -> App:
    return App(context=STRICT, outdir=str(tmp_path / "cdk.out"))


@pytest.fixture(name="stack")
def _stack(app: App) -> Stack:
    return Stack(app, "Test", env=Environment(account=ACCOUNT, region=REGION))


@pytest.fixture(name="agnostic_stack")
def _agnostic_stack(app: App) -> Stack:
    return Stack(app, "Test")


@pytest.fixture(name="properties")
def _properties() -> Callable[[Stack, str], dict[str, object]]:
    """
    Return the properties of a stack's only resource of a type.
    """

    def only(stack: Stack, resource_type: str) -> dict[str, object]:
        found = Template.from_stack(stack).find_resources(resource_type)
        (resource,) = found.values()
        properties: dict[str, object] = resource["Properties"]
        return properties

    return only


@pytest.fixture(name="root", scope="session")
def _root() -> Path:
    return ROOT
