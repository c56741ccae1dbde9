"""
The embedded AWS inside the test's own process, with its time run by hand.

boto3 talks to the real front door, and neither a socket nor a second passes.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    create_backend_app,
)
from werkzeug.test import Client

from cdk_sagemaker_llm.local import regions
from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.settings import BY_HAND, Settings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds import codebuild, functions
from cdk_sagemaker_llm.local.cloudformation import responses
from cdk_sagemaker_llm.local.hosting.service import SageMaker
from cdk_sagemaker_llm.local.scaling import application_auto_scaling, cloudwatch
from cdk_sagemaker_llm.local.scaling.watching import Watching
from cdk_sagemaker_llm.local.server import Gateway
from cdk_sagemaker_llm.simulation.fleet import FleetTimes

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

# A Sunday, at a full hour.
NOON = 1_800_187_200.0
REGION = "us-east-1"
# Instances come in 200 s, and a server of a model in 400.
TIMES = FleetTimes(
    provision=200.0, image_pull=100.0, model_start=100.0, drain=40.0, retry=0.0
)

_accounts = itertools.count(200_000_000_000)
_running: list[HandRunAws] = []


class HandRunAws:
    """
    An AWS of one account, in which time passes when a test says so.

    Args:
        account: The account.
    """

    def __init__(self, account: str) -> None:
        self._account = account
        self._wall = NOON
        self._gateway = Client(Gateway(moto(), REGION, account))

    @property
    def hosting(self) -> SageMaker:
        """
        Its SageMaker.
        """
        return regions.sagemaker(self._account, REGION)

    @property
    def watching(self) -> Watching:
        """
        What watches it.
        """
        return regions.watching(self._account, REGION)

    @property
    def minute(self) -> float:
        """
        The minutes since noon.
        """
        return (self._wall - NOON) / 60

    def wall(self) -> float:
        """
        Return the time.
        """
        return self._wall

    def run(self, seconds: float) -> None:
        """
        Let time pass, on the wall as in there.
        """
        self._wall += seconds
        if CLOCK.is_by_hand:
            with CLOCK.lock:
                CLOCK.advance(seconds)

    @property
    def now(self) -> float:
        """
        The time, as ``EmbeddedAws`` tells it.
        """
        return self._wall

    def advance(self, seconds: float) -> None:
        """
        Let time pass, as ``EmbeddedAws`` does.
        """
        self.run(seconds)

    def run_to_the_hour(self) -> float:
        """
        Let time pass until the next full hour, and return it.
        """
        self.run(3600 - self._wall % 3600)
        return self._wall

    def fault(self, kind: str, target: str = "", **settings: Untyped) -> None:
        """
        Have something go wrong from now on.
        """
        self.hosting.world.faults.put(Fault(kind=kind, target=target, **settings))

    def clear_faults(self) -> None:
        """
        Have nothing go wrong any more.
        """
        self.hosting.world.faults.clear()

    def client(self, service: str, **settings: Untyped) -> Untyped:
        """
        Give a boto3 client that talks to it, without retries.
        """
        return _client(service) if not settings else _new_client(service, **settings)

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """
        Answer a request of such a client.
        """
        answer = self._gateway.open(
            request.url,
            method=request.method,
            headers=[(k, _text(v)) for k, v in request.headers.items()],
            data=request.body,
            buffered=True,  # A stream has ended when it is closed.
        )
        headers = HTTPHeaders()
        for name, value in answer.headers:
            headers[name] = value
        raw = _Raw(answer.get_data())
        return AWSResponse(request.url, answer.status_code, headers, raw)


@functools.cache
def _client(service: str) -> Untyped:
    # To make one takes as long as many of its calls, and there is one AWS at a time.
    return _new_client(service)


def _new_client(service: str, **settings: Untyped) -> Untyped:
    settings.setdefault("config", Config(retries={"max_attempts": 0}))
    client = boto3.client(  # type: ignore[call-overload]  # any service by name
        service,
        region_name=REGION,
        endpoint_url="http://localhost",
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - no secret: any value does
        **settings,
    )
    client.meta.events.register("before-send", _send)
    return client


def _send(request: AWSPreparedRequest, **_: Untyped) -> AWSResponse:
    return _running[-1].send(request)


class _Raw:
    """
    A body that urllib3 would have read from a socket.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: Untyped, **__: Untyped) -> Iterator[bytes]:
        """
        Return the body in one part.
        """
        yield self._body

    def read(self, *_: Untyped) -> bytes:
        """
        Return the body, once.
        """
        body, self._body = self._body, b""
        return body


@contextmanager
def hand_run_aws(
    times: FleetTimes | None = None, *, takes_time: bool = True
) -> Iterator[HandRunAws]:
    """
    Give an AWS of an account of its own, with a clock by hand.

    Args:
        times: How long instances and copies take. If omitted, they take no time.

        takes_time: Whether anything takes time, as by default nothing does.
    """
    account = next_account()
    aws = HandRunAws(account)
    settings = Settings(clock=BY_HAND, times=times or FleetTimes.instant())
    with (
        mock.patch.dict(os.environ, {"MOTO_ACCOUNT_ID": account}),
        mock.patch.object(CLOCK, "_wall", aws.wall),
    ):
        regions.configure(settings if takes_time else Settings())
        _running.append(aws)
        try:
            yield aws
        finally:
            _running.remove(aws)
            regions.configure(Settings())


def next_account() -> str:
    """
    Return an account that nothing is in.
    """
    return str(next(_accounts))


@functools.cache
def moto() -> WSGIApplication:
    """
    Return moto with the services of this package in it, one for all accounts.
    """
    application_auto_scaling.install()
    cloudwatch.install()
    responses.install()
    functions.send_to_functions()
    codebuild.refuse_logins()
    application: WSGIApplication = DomainDispatcherApplication(create_backend_app)
    return application


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
