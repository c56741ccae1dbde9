"""
boto3's clients of the services that a client asks: what they are made with, and those
that it has open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.client.arguments import (
    check_name,
    check_seconds,
    check_text,
    check_whole,
    refuse,
)
from cdk_sagemaker_llm.client.connections import Places, make_known, renew_after_fork
from cdk_sagemaker_llm.client.errors import from_boto
from cdk_sagemaker_llm.client.reader import MAX_BYTES

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import boto3
    from botocore.config import Config

# Thirty years: sockets take no infinity.
_LONGEST = 1_000_000_000
_ADDRESS = "such as https://HOST"


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeouts:
    """
    How many seconds may pass.

    ``Timeouts(read=30)`` gives up a model that is silent for half a minute.

    Args:
        connect: Until there is a connection.

        read: Until the first part of an answer, and from one part to the next. Blank
            lines and keep-alives are no parts. SageMaker itself ends what is no stream
            after 60 seconds.

        total: From the call to its end, with everything that is waited for and tried
            again. If omitted, only the others count.
    """

    connect: float = 10.0
    read: float = 120.0
    total: float | None = None

    def __post_init__(self) -> None:
        for name, seconds in asdict(self).items():
            if seconds is None and name == "total":
                continue
            if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
                refuse(name, "a number of seconds", seconds)
            if not seconds > 0:
                refuse(name, "more than 0 s", seconds)
            if seconds >= _LONGEST:
                way_out = "leave it out for no bound" if name == "total" else ""
                refuse(name, f"less than {_LONGEST:,} s", seconds, way_out)


MAX_CONNECTIONS = 500
"""How many requests are under way at a time if nothing else is said: half of the files
that a process may mostly open."""

# urllib3 makes a place for each of them at once, and a machine has no more ports.
_MOST_CONNECTIONS = 65_535


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """
    How a client reaches its endpoint, and how patiently, as ``BaseClient`` says.
    """

    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: int = 3
    wait_for_capacity: float = 600.0
    on_wait: Callable[[str], None] | None = None
    max_bytes: int = MAX_BYTES
    max_connections: int = MAX_CONNECTIONS
    region: str | None = None
    endpoint_url: str | None = None
    config: Config | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.timeouts, Timeouts):
            way_out = "write Timeouts(read=30)"
            refuse("timeouts", "Timeouts", self.timeouts, way_out)
        check_whole("retries", self.retries, 0)
        check_seconds("wait_for_capacity", self.wait_for_capacity)
        check_whole("max_bytes", self.max_bytes, 1)
        check_whole("max_connections", self.max_connections, 1)
        if self.max_connections > _MOST_CONNECTIONS:
            refuse(
                "max_connections", f"at most {_MOST_CONNECTIONS}", self.max_connections
            )
        if self.on_wait is not None and not callable(self.on_wait):
            refuse("on_wait", "a function of a text", self.on_wait)


class Opened:
    """
    What a client has open in this process: connections, and the threads of asyncio.
    """

    def __init__(self, settings: Settings, session: boto3.Session | None) -> None:
        self.settings = settings
        self.places = Places(settings.max_connections)
        self._session = session
        self._inherited: list[object] = []
        self._threads: ThreadPoolExecutor | None = None
        self._stores: dict[str | None, Any] = {}
        self._runtime = self._make_runtime()
        renew_after_fork(self._renew)

    @property
    def runtime(self) -> Any:  # noqa: ANN401 - boto3's clients have no class
        """
        boto3's client of the runtime.
        """
        if self._runtime is None:
            self._runtime = self._make_runtime()
        return self._runtime

    @property
    def threads(self) -> ThreadPoolExecutor:
        """
        The threads that wait in place of an event loop.
        """
        if self._threads is None:
            from concurrent.futures import (  # noqa: PLC0415 - of asyncio alone
                ThreadPoolExecutor,
            )

            # A thread waits for each answer until it begins, of a document until it
            # ends.
            count = self.settings.max_connections
            self._threads = ThreadPoolExecutor(count, "llm-client")
        return self._threads

    def store(self, endpoint_url: str | None) -> Any:  # noqa: ANN401 - as above
        """
        Return boto3's client of S3.
        """
        if endpoint_url not in self._stores:
            self._stores[endpoint_url] = make_client(
                "s3",
                self._session,
                region=self.settings.region,
                endpoint_url=endpoint_url,
                config=self.settings.config,
            )
        return self._stores[endpoint_url]

    def credentials(self) -> Any:  # noqa: ANN401 - as above
        """
        Return the keys that requests are signed with, as they are now.
        """
        boto3, _ = _extras()
        session = self._session or boto3.Session()
        found = session.get_credentials()
        if found is None:
            from botocore.exceptions import (  # noqa: PLC0415 - an extra, and slow
                NoCredentialsError,
            )

            raise from_boto(NoCredentialsError())
        return found.get_frozen_credentials()

    def close(self) -> None:
        for client in (self._runtime, *self._stores.values()):
            if client is not None:
                client.close()
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False)

    def _make_runtime(self) -> Any:  # noqa: ANN401 - as above
        runtime = _runtime(self.settings, self._session)
        make_known(runtime)
        return runtime

    def _renew(self) -> None:
        """
        Leave the connections, and the threads, to the process that opened them.
        """
        # Kept: to free them takes locks, which a thread of the parent may have held.
        self._inherited += [self._runtime, self._threads, *self._stores.values()]
        self._runtime, self._threads, self._stores = None, None, {}
        self.places = Places(self.settings.max_connections)


def make_client(
    service: str,
    session: boto3.Session | None,
    *,
    region: str | None,
    endpoint_url: str | None,
    config: Config | None,
) -> Any:  # noqa: ANN401 - boto3's clients have no class
    """
    Make boto3's client of a service, or say what is wrong with what it is made with.
    """
    boto3, _ = _extras()
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - an extra, and slow

    if region is not None:
        check_name("region", region, "leave it out for the session's")
    if endpoint_url:
        check_text("endpoint_url", endpoint_url)
        if not endpoint_url.startswith(("http://", "https://")):
            refuse("endpoint_url", _ADDRESS, endpoint_url)
    maker: Any = boto3 if session is None else session
    if not hasattr(maker, "client"):
        refuse("session", "a boto3.Session", session)
    try:
        return maker.client(
            service, region_name=region, endpoint_url=endpoint_url, config=config
        )
    except BotoCoreError as error:
        raise from_boto(error) from error
    except ValueError as error:
        # Of the environment or the profile, where none was given.
        address = str(error).removeprefix("Invalid endpoint: ")
        refuse("endpoint_url", _ADDRESS, address)


def _runtime(settings: Settings, session: boto3.Session | None) -> Any:  # noqa: ANN401 - boto3's clients have no class
    _, config = _extras()
    # What botocore tries again by itself, a model would do twice.
    ours = config(
        connect_timeout=settings.timeouts.connect,
        read_timeout=settings.timeouts.read,
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=settings.max_connections,
        tcp_keepalive=True,
    )
    chosen = config() if settings.config is None else settings.config
    if not isinstance(chosen, config):
        refuse("config", "a botocore.config.Config", chosen)
    return make_client(
        "sagemaker-runtime",
        session,
        region=settings.region,
        endpoint_url=settings.endpoint_url,
        config=chosen.merge(ours),
    )


def _extras() -> tuple[Any, type[Config]]:
    try:
        import boto3  # noqa: PLC0415 - an extra, and a fifth of a second to import
        from botocore.config import Config  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the client needs boto3: pip install 'cdk-sagemaker-llm[client]'",
            name=error.name,
        ) from error
    return boto3, Config
