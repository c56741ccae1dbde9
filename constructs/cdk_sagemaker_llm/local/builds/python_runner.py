"""
Runs a Python handler: ``python .../python_runner.py HANDLER RESULT < event``.

It is run as a file, in the folder of the function's code.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import time
import types
import urllib.request
from pathlib import Path
from typing import Any

NOT_RUNNABLE = 86
"""The exit status for code that cannot be loaded here."""


class Context:
    """
    What a handler is told about its invocation.
    """

    def __init__(self) -> None:
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = "$LATEST"
        self.invoked_function_arn = os.environ["EMBEDDED_FUNCTION_ARN"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.aws_request_id = self.log_stream_name
        self._deadline = time.time() + float(os.environ["EMBEDDED_TIMEOUT"])

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._deadline - time.time()) * 1000))


def send(  # noqa: PLR0917 - the signature of Lambda's own module
    event: dict[str, Any],
    context: Context,
    responseStatus: str,  # noqa: N803 - Lambda's spelling, which handlers use
    responseData: dict[str, Any] | None,  # noqa: N803 - the same
    physicalResourceId: str | None = None,  # noqa: N803 - the same
    noEcho: bool = False,  # noqa: FBT001, FBT002, N803 - the same
    reason: str | None = None,
) -> None:
    """
    Send a response, as the ``cfnresponse`` of Lambda's inline code does.
    """
    default_reason = (
        f"See the details in CloudWatch Log Stream: {context.log_stream_name}"
    )
    response = {
        "Status": responseStatus,
        "Reason": reason or default_reason,
        "PhysicalResourceId": physicalResourceId or context.log_stream_name,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "NoEcho": noEcho,
        "Data": responseData,
    }
    request = urllib.request.Request(  # noqa: S310 - the embedded AWS's own address
        event["ResponseURL"], data=json.dumps(response).encode(), method="PUT"
    )
    urllib.request.urlopen(request).close()  # noqa: S310 - the same


def main(handler: str, result: str) -> int:
    """
    Load the handler, call it, and keep what it returns.
    """
    sys.path[0] = str(Path.cwd())
    if importlib.util.find_spec("cfnresponse") is None:
        provided = types.ModuleType("cfnresponse")
        vars(provided).update(send=send, SUCCESS="SUCCESS", FAILED="FAILED")
        sys.modules["cfnresponse"] = provided
    module, _, name = handler.rpartition(".")
    try:
        function = getattr(importlib.import_module(module.replace("/", ".")), name)
    except (ImportError, AttributeError) as error:
        print(error)  # noqa: T201 - what is printed is the reason
        return NOT_RUNNABLE
    returned = function(json.load(sys.stdin), Context())
    Path(result).write_text(json.dumps(returned, default=str))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
