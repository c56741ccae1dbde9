"""
Read-only calls: each is declared with the action that it needs before it can be made,
so that the policy that a command prints is the calls that it makes.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from cdk_sagemaker_llm.permissions import policy_document

if TYPE_CHECKING:
    import boto3

# What IAM's services, and STS since 2023, answer to somebody who may not ask.
_DENIED = {
    "AccessDenied",
    "AccessDeniedException",
    "UnauthorizedOperation",
    "AuthorizationError",
    "403",
}
_T = TypeVar("_T")
_ABSENT = re.compile(r"(?i)could not find|does not exist|not ?found|no such")
_ATTEMPTS = 10
_THREADS = 8
_CONNECT_SECONDS = 10
_READ_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """
    One operation that may be called.

    Args:
        service: The name of boto3's client, such as ``sagemaker``.

        operation: The name of its method, such as ``describe_endpoint``.

        actions: What IAM calls it: most operations need one action.

        why: What it is asked for, for people who review the policy.

        resources: The ARNs that it may be asked about; what SageMaker's actions cannot
            be narrowed to, everything.
    """

    service: str
    operation: str
    actions: tuple[str, ...]
    why: str
    resources: tuple[str, ...] = ("*",)


def calls_named_alike(
    purposes: Mapping[tuple[str, str], Mapping[str, str]],
) -> tuple[ReadCall, ...]:
    """
    Return calls whose action in IAM has the name of the operation in boto3.

    Args:
        purposes: For each service, by its name for boto3 and its prefix for IAM, the
            operations with what each is asked for.
    """
    return tuple(
        ReadCall(
            service=service,
            operation=operation,
            actions=(f"{prefix}:{operation.title().replace('_', '')}",),
            why=why,
        )
        for (service, prefix), operations in purposes.items()
        for operation, why in operations.items()
    )


@dataclass(frozen=True, slots=True)
class NotAsked:
    """
    A question without an answer, and why there is none.
    """

    what: str
    why: str


class RefusedError(Exception):
    """
    The service's answer to a call was an error.

    Args:
        code: Its code, such as ``ValidationException``.

        message: Its words.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class AccountReader:
    """
    Asks an account, and notes what it could not ask.

    Throttled calls are tried again, as botocore's standard mode does.

    Args:
        session: The credentials and the region.

        calls: Every call that may be made.

        endpoint_url: Where every service is, such as the embedded AWS. If omitted,
            AWS is asked.

        now: What tells the time.

        not_asked: What could not be asked so far.
    """

    session: boto3.Session
    calls: Sequence[ReadCall]
    endpoint_url: str | None = None
    now: Callable[[], datetime] = _now
    not_asked: list[NotAsked] = field(default_factory=list)
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict, init=False)
    # A session makes one client at a time.
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    @property
    def region(self) -> str:
        """
        The region that is asked.
        """
        return self.session.region_name or "us-east-1"

    def ask(
        self, service: str, operation: str, *, region: str = "", **arguments: object
    ) -> Mapping[str, Any] | None:
        """
        Make one call; ``None`` where it may not be made, which is noted.

        Raises:
            RefusedError: If the service has no such thing, or refuses for another
                reason than permissions.

            KeyError: If the call is not among the declared ones.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

        call = self._call(service, operation)
        try:
            client = self._client(service, region)
            answer: Mapping[str, Any] = getattr(client, operation)(**arguments)
        except ClientError as fault:
            error = fault.response["Error"]
            code, message = error.get("Code", ""), error.get("Message", "")
            if code not in _DENIED:
                raise RefusedError(code, message) from fault
            self._note(call, f"{' and '.join(call.actions)} is not allowed: {message}")
        except BotoCoreError as fault:
            self._note(call, str(fault))
        else:
            return answer
        return None

    def pages(
        self,
        service: str,
        operation: str,
        key: str,
        *,
        most: int = 10_000,
        **arguments: object,
    ) -> Iterator[Any]:
        """
        List what an operation lists under a key, page by page.

        Args:
            most: How many are listed at most.

        Raises:
            RefusedError: As of ``ask``.
        """
        request: dict[str, Any] = dict(arguments)
        while most > 0:
            answer = self.ask(service, operation, **request)
            if answer is None:
                return
            found = list(answer.get(key, ()))
            yield from found[:most]
            most -= len(found)
            name = next(
                (n for n in ("NextToken", "nextToken", "Marker") if answer.get(n)), None
            )
            if name is None:
                return
            request[name] = answer[name]

    def found(
        self,
        service: str,
        operation: str,
        **arguments: Any,  # noqa: ANN401 - as boto3
    ) -> dict[str, Any]:
        """
        Return what one call answers; nothing where there is no such thing, and where it
        may not be asked or is refused, which is noted.
        """
        try:
            answer = self.ask(service, operation, **arguments)
        except RefusedError as fault:
            self._note_refusal(service, operation, fault)
            return {}
        return {k: v for k, v in (answer or {}).items() if k != "ResponseMetadata"}

    def rows(
        self,
        service: str,
        operation: str,
        key: str,
        **arguments: Any,  # noqa: ANN401 - as boto3
    ) -> list[Any]:
        """
        Return what ``pages`` lists; what is absent, refused or denied as in ``found``.
        """
        try:
            return list(self.pages(service, operation, key, **arguments))
        except RefusedError as fault:
            self._note_refusal(service, operation, fault)
            return []

    def _note_refusal(self, service: str, operation: str, fault: RefusedError) -> None:
        is_misnamed = fault.code in {"ValidationException", "ValidationError"}
        if not is_misnamed and not _ABSENT.search(str(fault)):
            self._note(self._call(service, operation), str(fault))

    @property
    def _is_near(self) -> bool:
        host = urlsplit(self.endpoint_url or "").hostname
        return host in {"localhost", "127.0.0.1", "::1"}

    def _call(self, service: str, operation: str) -> ReadCall:
        for call in self.calls:
            if (call.service, call.operation) == (service, operation):
                return call
        raise KeyError(f"{service}.{operation} is not among the declared calls")

    def _note(self, call: ReadCall, why: str) -> None:
        note = NotAsked(call.why, why)
        if note not in self.not_asked:
            self.not_asked.append(note)

    def _client(self, service: str, region: str) -> Any:  # noqa: ANN401 - as boto3
        from botocore.config import Config  # noqa: PLC0415 - an extra

        with self._lock:
            found = self._clients.get((service, region))
            if found is None:
                # Its stubs name each service.
                make: Any = self.session.client
                found = make(
                    service,
                    region_name=region or self.region,
                    endpoint_url=self.endpoint_url,
                    config=Config(
                        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
                        connect_timeout=_CONNECT_SECONDS,
                        read_timeout=_READ_SECONDS,
                        max_pool_connections=_THREADS * 2,
                        # No proxy stands before this machine.
                        proxies={"http": "", "https": ""} if self._is_near else None,
                    ),
                )
                self._clients[service, region] = found
        return found


def together(questions: Iterable[Callable[[], _T]]) -> list[_T]:
    """
    Ask several questions at a time; return their answers in the questions' order.
    """
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(lambda question: question(), questions))


def policy_of(calls: Iterable[ReadCall]) -> dict[str, Any]:
    """
    Return the policy that allows the calls, a statement for each set of resources.
    """
    actions: dict[tuple[str, ...], set[str]] = {}
    for call in calls:
        actions.setdefault(call.resources, set()).update(call.actions)
    return policy_document(
        {"Effect": "Allow", "Action": sorted(names), "Resource": list(resources)}
        for resources, names in actions.items()
    )
