"""
The embedded AWS as its users have it: a process that starts, takes orders and stops.
"""

from __future__ import annotations

import errno
import functools
import importlib.util
import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.settings import (
    CREDENTIAL,
    LONGEST_ADVANCE,
    Latency,
    Settings,
)
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation.fleet import FleetTimes

if TYPE_CHECKING:
    import boto3

_START_LIMIT = 60.0  # Seconds; a loaded machine takes ten times the usual two.
_STOP_LIMIT = 5.0
_PROBE_LIMIT = 1.0
_TAIL = 20
_NEEDED = ("moto", "flask", "boto3")
_SERVER = "cdk_sagemaker_llm.local"
_ACCOUNT = re.compile(r"[0-9]{12}")
_REGION = re.compile(r"[a-z]{2,}(?:-[a-z]+)+-[0-9]+")
_HANDLER = re.compile(r"[\w.]+:\w+")

DEFAULT_ACCOUNT = "123456789012"
"""The account that everything is in if none is named."""

HEALTH_PATH = "/_embedded/health"
"""Where the server says that it is there."""


class EmbeddedAwsError(Exception):
    """
    The embedded AWS cannot start, or has ended by itself.
    """


class MissingPackageError(EmbeddedAwsError):
    """
    What the embedded AWS needs is not installed.
    """


class EmbeddedAws:
    """
    A server on this machine that answers as AWS does, for as long as it is open.

    ``with EmbeddedAws() as aws: aws.client("sagemaker").list_endpoints()``

    Args:
        region: The region of requests that name none.

        port: The port on the loopback interface. If omitted, any free one is taken.

        account: The account that everything is in.

        custom_resources: Python callables that stand for custom resources, as
            ``{"Custom::Name": "module:function"}``. If omitted, the functions that
            are deployed with them are run.

        clock: ``"by hand"`` has time stand still until ``advance``, so that a test of
            an hour takes a moment and always ends alike; answers then take no time.
            If omitted, time passes by the speed.

        speed: How many seconds pass there in one: 1 for real time, 60 for a minute a
            second, at most 86,400. If omitted, nothing takes any time.

        times: How long instances and copies take, with a speed or by hand.
            If omitted, they are the defaults of ``FleetTimes``.

        latency: How long answers take, with a speed.
            If omitted, it is the default ``Latency``.

        faults: What goes wrong from the beginning. If omitted, nothing does.

        forward: Model servers on this machine that answer for endpoints and inference
            components, by name: ``{"chat": "http://127.0.0.1:8000"}``.
            If omitted, the stand-in answers.

        forward_anywhere: Whether they may be on other machines, or use TLS.

        reports_to: The descriptor of an open file, such as 2 for standard error, that
            gets the log of containers that do not start, at once.
            If omitted, only their log groups have it.

    Raises:
        ValueError: If an argument is of another kind than it says, the account is no
            account's number, region, clock or speed is none, a custom resource has
            no function, or a model server has no address that is allowed.
    """

    @held
    def __init__(
        self,
        *,
        region: str = "us-east-1",
        port: int = 0,
        account: str = DEFAULT_ACCOUNT,
        clock: str | None = None,
        speed: float | None = None,
        times: FleetTimes | None = None,
        latency: Latency | None = None,
        faults: Sequence[Fault] = (),
        forward: Mapping[str, str] | None = None,
        forward_anywhere: bool = False,
        custom_resources: Mapping[str, str] | None = None,
        reports_to: int | None = None,
    ) -> None:
        if not _ACCOUNT.fullmatch(account):
            raise ValueError(f"account must be 12 digits, got {account!r}")
        if not _REGION.fullmatch(region):
            raise ValueError(f"region must be such as us-east-1, got {region!r}")
        _refuse_no_handlers(custom_resources or {})
        self.region = region
        self.account = account
        self.port = port
        self._settings = Settings(
            clock=clock,
            speed=speed,
            times=times,
            latency=latency,
            faults=faults,
            forward=dict(forward or {}),
            forward_anywhere=forward_anywhere,
        )
        self.custom_resources = dict(custom_resources or {})
        self._reports_to = reports_to
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] = io.BytesIO()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """
        The address of every service.

        By name: the CDK CLI and moto recognise an S3 address by its ``localhost``.
        """
        return f"http://localhost:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """
        The variables that point the AWS tools here.
        """
        direct = _direct()
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": CREDENTIAL,
            "AWS_SECRET_ACCESS_KEY": CREDENTIAL,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            # The CDK CLI reports its use to AWS, wherever it deploys to.
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "NO_PROXY": direct,
            # Python and Node read this one first, where there is one.
            "no_proxy": direct,
        }

    @property
    def process_environment(self) -> dict[str, str]:
        """
        This process's variables for a subprocess, pointed here and nowhere else.

        A profile, a session token or an endpoint of the caller's would win otherwise.
        """
        return {**_without_aws(os.environ), **self.environment}

    @property
    def is_running(self) -> bool:
        """
        Whether the server is there.
        """
        return self._process is not None and self._process.poll() is None

    @functools.cached_property
    def session(self) -> boto3.Session:
        """
        A boto3 session with credentials and a region that the server takes.
        """
        import boto3  # noqa: PLC0415 - an extra, and a quarter of a second to import

        # One for all clients: it keeps the service models that it has read.
        return boto3.Session(
            aws_access_key_id=CREDENTIAL,
            aws_secret_access_key=CREDENTIAL,
            region_name=self.region,
        )

    def client(self, service: str, **settings: Untyped) -> Untyped:
        """
        Make a boto3 client that talks to this server, without retries.

        Args:
            service: The service, as boto3 calls it.

        Raises:
            EmbeddedAwsError: If the server does not run.
        """
        self._refuse_stopped()
        from botocore.config import Config  # noqa: PLC0415 - an extra

        config = Config(retries={"max_attempts": 0}, proxies={"http": ""})
        settings.setdefault("config", config)
        return self.session.client(  # type: ignore[call-overload]  # any service by name
            service, endpoint_url=self.url, **settings
        )

    @property
    def speed(self) -> float | None:
        """
        How many seconds pass there in one second here; ``None`` where nothing takes any
        time.
        """
        return self._settings.speed

    @property
    def is_by_hand(self) -> bool:
        """
        Whether time stands still until ``advance``.
        """
        return self._settings.is_by_hand

    @held
    def advance(self, seconds: float) -> float:
        """
        Let time pass in there, and return what time it is then.

        Everything that is due meanwhile has happened when the call returns: instances
        start, alarms go off, policies scale, stacks go on.

        ``aws.advance(600)``

        Args:
            seconds: How many seconds pass, at most 31 days of them.

        Raises:
            ValueError: If the clock is not run by hand, or the seconds are none or too
                many for one call.
        """
        if not self.is_by_hand:
            raise ValueError(
                "advance needs a clock by hand: start EmbeddedAws(clock='by hand')"
            )
        if not 0 <= seconds <= LONGEST_ADVANCE:
            raise ValueError(
                f"seconds must be 0 to {LONGEST_ADVANCE:,} (31 days), got {seconds}; "
                "let more of them pass in several calls"
            )
        answer = self._ask("PUT", "clock", {"advance": seconds}, limit=None)
        return float(answer["now"])

    @property
    def forward(self) -> dict[str, str]:
        """
        The model servers that answer for endpoints and components, by their names.
        """
        return dict(self._settings.forward)

    @property
    def now(self) -> float:
        """
        The time in there, in seconds since the epoch; with a speed it runs ahead.
        """
        return float(self._ask("GET", "clock")["now"])

    def fault(self, kind: str, target: str = "", **settings: Untyped) -> Fault:
        """
        Have something go wrong from now on, until ``clear_faults``.

        ``aws.fault("no-capacity", "ml.g5.12xlarge")``

        Args:
            kind: What; see ``Fault``.

            target: Whom it befalls. If omitted, it befalls all.

            settings: The other settings of ``Fault``.

        Raises:
            ValueError: If it is no fault.
        """
        fault = Fault.of({"kind": kind, "target": target, **settings})
        self._ask("PUT", "faults", [asdict(fault)])
        return fault

    def clear_faults(self) -> None:
        """
        Have everything go well again; what was refused is tried again.
        """
        self._ask("DELETE", "faults")

    def _refuse_stopped(self) -> None:
        if not self.is_running:
            raise EmbeddedAwsError(
                "the embedded AWS does not run; use it inside of "
                "`with EmbeddedAws() as aws:`, or call start() before"
            )

    def _ask(
        self,
        method: str,
        page: str,
        body: object = None,
        limit: float | None = _START_LIMIT,
    ) -> Untyped:
        self._refuse_stopped()
        request = urllib.request.Request(  # noqa: S310 - this server's own address
            f"{self.url}/_embedded/{page}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=limit) as response:
            return json.load(response)

    def start(self) -> None:
        """
        Start the server and wait until it answers.

        Raises:
            EmbeddedAwsError: If it runs already, something it needs is not installed,
                the port is in use, or it ends while starting.
        """
        if self.is_running:
            raise EmbeddedAwsError(
                f"the embedded AWS runs already, at {self.url}; make another for a "
                "second one"
            )
        _refuse_missing_packages()
        with _listen(self.port) as listener:
            self.port = listener.getsockname()[1]
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
            self._process = self._spawn(listener.fileno())
        try:
            self._await_answer()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """
        Stop the server; its state is gone.
        """
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(_STOP_LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._log.close()

    def wait(self) -> None:
        """
        Wait until the server ends by itself.

        Raises:
            EmbeddedAwsError: When it has; the message has what it printed last.
        """
        if self._process is not None:
            self._process.wait()
            raise self.failure("ended unexpectedly")

    def failure(self, what: str) -> EmbeddedAwsError:
        """
        Describe what happened to the server, with what it printed last.

        Args:
            what: What happened, such as ``did not start``.
        """
        code = self._process.poll() if self._process is not None else None
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()[-_TAIL:]
        printed = "\n".join(f"  {line}" for line in lines) or "  (nothing)"
        return EmbeddedAwsError(
            f"the embedded AWS {what} (exit status {code}); it printed last:\n{printed}"
        )

    def _spawn(self, descriptor: int) -> subprocess.Popen[bytes]:
        arguments = ["--fd", str(descriptor), "--region", self.region]
        arguments += ["--settings", self._settings.to_json()]
        for name, place in self.custom_resources.items():
            arguments += ["--custom-resource", f"{name}={place}"]
        descriptors = [descriptor]
        if self._reports_to is not None:
            # Of its own: the server's standard streams are others.
            descriptors.append(os.dup(self._reports_to))
            arguments += ["--reports", str(descriptors[1])]
        try:
            return subprocess.Popen(
                [sys.executable, "-m", _SERVER, *arguments],
                env={
                    **_without_aws(os.environ),
                    **self.environment,
                    "MOTO_ACCOUNT_ID": self.account,
                },
                pass_fds=descriptors,
                stdin=subprocess.PIPE,  # Its end is the server's end.
                stdout=self._log,
                stderr=subprocess.STDOUT,
                process_group=0,  # Ctrl-C is for this process, which then stops it.
            )
        finally:
            for own in descriptors[1:]:
                os.close(own)

    def _await_answer(self) -> None:
        deadline = time.monotonic() + _START_LIMIT
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while self.is_running and time.monotonic() < deadline:
            try:
                # The socket listens already: a request waits for its answer.
                with opener.open(self.url + HEALTH_PATH, timeout=_PROBE_LIMIT):
                    return
            except (OSError, urllib.error.URLError):
                continue
        raise self.failure("did not start")


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listener.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise EmbeddedAwsError(
                f"port {port} is in use; choose another one, or 0 for any free one"
            ) from error
        raise EmbeddedAwsError(f"port {port} cannot be used: {error}") from error
    listener.listen(128)
    return listener


def _refuse_no_handlers(handlers: Mapping[str, str]) -> None:
    for name, place in handlers.items():
        if not name or not _HANDLER.fullmatch(place):
            raise ValueError(
                "custom_resources must be a name and a function, as Custom::Name and "
                f"module:function, got {name!r} and {place!r}"
            )


def _refuse_missing_packages() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"the embedded AWS needs {', '.join(missing)}; install it with: "
            "pip install 'cdk-sagemaker-llm[local]'"
        )


def _without_aws(environment: os._Environ[str]) -> dict[str, str]:
    return {k: v for k, v in environment.items() if not k.startswith("AWS_")}


def _direct() -> str:
    # What is reached without a proxy: what the caller says, and this machine.
    names = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    # All that there is, and nothing if something stands beside it.
    if names.strip() == "*":
        return names
    return ",".join(filter(None, ("localhost", names)))
