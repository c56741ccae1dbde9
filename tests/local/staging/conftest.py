"""
What tests of the function that starts staging share: where it tells how it went, and
the variables by which it finds the embedded AWS.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.local.conftest import REGION
from tests.local.staging.listener import Listener, Told


@pytest.fixture(name="told")
def _told() -> Iterator[Told]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Told(server)
        server.shutdown()
        thread.join()


@pytest.fixture(name="in_aws")
def _in_aws(embedded_aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> EmbeddedAws:
    """
    The server, which clients of this process find by their variables.
    """
    for name, value in embedded_aws.process_environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    return embedded_aws
