"""
Requests that are under way while something is deployed.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

from botocore.config import Config
from botocore.exceptions import ClientError

from tests.local.hosting_requests import prompt

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

# Seconds on the wall from one request to the next of a subject.
_PAUSE = 0.05


class Traffic:
    """
    Requests to endpoints and components, each one after the other, until the block
    ends.

    Args:
        aws: Where they are.

        subjects: Each endpoint, with the name of a component or ``None``.
    """

    def __init__(self, aws: EmbeddedAws, *subjects: tuple[str, str | None]) -> None:
        self.answered = dict.fromkeys(subjects, 0)
        """How many requests each answered."""
        self.refused: list[str] = []
        """What was said to the others."""
        self._aws = aws
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._send, args=(each,), daemon=True)
            for each in subjects
        ]

    def __enter__(self) -> Self:
        """
        Begin.
        """
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """
        Send no more, and wait for the answers that are due.
        """
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=30)

    def _send(self, subject: tuple[str, str | None]) -> None:
        endpoint, component = subject
        config = Config(retries={"max_attempts": 0}, proxies={"http": ""})
        client = self._aws.client("sagemaker-runtime", config=config)
        named = {"InferenceComponentName": component} if component else {}
        while not self._stop.wait(_PAUSE):
            try:
                answer = client.invoke_endpoint(
                    EndpointName=endpoint, Body=prompt("Once"), **named
                )
                answer["Body"].read()
            except ClientError as refusal:
                self.refused.append(f"{endpoint}: {refusal}")
            else:
                self.answered[subject] += 1
