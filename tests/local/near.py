"""
The embedded AWS on a thread of the test's own process, where nothing takes any time.

It answers at an address as the server does, so that functions and custom resources find
it; there is no process to start, and what a test runs of the package runs beside it.
"""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING
from unittest import mock

from werkzeug.serving import BaseWSGIServer, make_server

from cdk_sagemaker_llm.local import EmbeddedAws, regions
from cdk_sagemaker_llm.local.aws.settings import Settings
from cdk_sagemaker_llm.local.server import Gateway, QuietRequestHandler
from tests.local.by_hand import moto, next_account

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cdk_sagemaker_llm.local.aws.untyped import Untyped

_POLL = 0.02  # Seconds until it sees that it is to stop.


class NearAws(EmbeddedAws):
    """
    An AWS of an account of its own.
    """

    def __init__(self) -> None:
        super().__init__(account=next_account())
        self._server: BaseWSGIServer | None = None
        self._clients: dict[str, Untyped] = {}

    @property
    def is_running(self) -> bool:
        """
        Whether it answers.
        """
        return self._server is not None

    def client(self, service: str, **settings: Untyped) -> Untyped:
        """
        Give a boto3 client, the same one to all who set nothing.
        """
        if settings:
            return super().client(service, **settings)
        if service not in self._clients:
            self._clients[service] = super().client(service)
        return self._clients[service]

    def start(self) -> None:
        """
        Answer from now on; what runs in this process finds it by the environment.
        """
        regions.configure(Settings())
        self._server = make_server(
            "127.0.0.1",
            0,
            Gateway(moto(), self.region, self.account),
            threaded=True,
            request_handler=QuietRequestHandler,
        )
        self.port = self._server.server_port
        serve = partial(self._server.serve_forever, poll_interval=_POLL)
        threading.Thread(target=serve, daemon=True).start()
        self._patch = mock.patch.dict(os.environ, self._variables)
        self._patch.start()

    def stop(self) -> None:
        """
        Answer no more.
        """
        server, self._server = self._server, None
        if server is not None:
            self._patch.stop()
            server.shutdown()
            server.server_close()
            regions.configure(Settings())

    @property
    def _variables(self) -> Mapping[str, str]:
        return {**self.environment, "MOTO_ACCOUNT_ID": self.account}
