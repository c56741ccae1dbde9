"""
How each engine says that it takes no request.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from cdk_sagemaker_llm.local.runtime.engines.shapes import dump

_KINDS = {
    400: "BadRequestError",
    404: "NotFoundError",
    422: "UnprocessableEntityError",
    500: "InternalServerError",
    501: "NotImplementedError",
}


class RefusedError(Exception):
    """
    A request that an engine refuses.

    Args:
        status: The HTTP status.

        body: What the container answers.
    """

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status = status
        self.body = body


def nested(
    message: str,
    parameter: str | None = None,
    *,
    status: int = 400,
    kind: str | None = None,
) -> RefusedError:
    """
    Make vLLM's refusal of a request.

    Args:
        message: What is wrong.

        parameter: The field that is.

        status: The HTTP status.

        kind: The type. If left out, it is the one that vLLM has for the status.
    """
    error = {
        "message": message,
        "type": kind or _KINDS[status],
        "param": parameter,
        "code": status,
    }
    return _refused(status, {"error": error})


def raised(message: str, *, status: int = 400) -> RefusedError:
    """
    Make vLLM's refusal where an HTTPException was raised: its type is the status.
    """
    return nested(message, status=status, kind=HTTPStatus(status).phrase)


def plain(status: int) -> RefusedError:
    """
    Make the refusal of a path that is not there, or not for POST: Starlette's own.
    """
    return _refused(status, {"detail": HTTPStatus(status).phrase})


def flat(message: str, *, kind: str = "BadRequest") -> RefusedError:
    """
    Make SGLang's refusal of a request, which is a 400 always.
    """
    error = {"object": "error", "message": message, "type": kind}
    return _refused(400, {**error, "param": None, "code": 400})


def counted(
    message: str, *, status: int = 400, kind: str = "invalid_request_error", **more: int
) -> RefusedError:
    """
    Make llama.cpp's refusal of a request.
    """
    error = {"code": status, "message": message, "type": kind, **more}
    return _refused(status, {"error": error})


def _refused(status: int, body: dict[str, Any]) -> RefusedError:
    return RefusedError(status, dump(body).decode())
