"""
The server process: ``python -m cdk_sagemaker_llm.local.server --fd N ...``.

It is started by ``EmbeddedAws``, which hands it a listening socket, and it ends when
its standard input does: no server outlives the process that started it.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

from cdk_sagemaker_llm.local import regions
from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.aws.settings import Settings
from cdk_sagemaker_llm.local.builds import events
from cdk_sagemaker_llm.local.cloudformation import custom_resources, responses
from cdk_sagemaker_llm.local.gateway import Gateway
from cdk_sagemaker_llm.local.hosting import container_starts
from cdk_sagemaker_llm.local.scaling import application_auto_scaling, cloudwatch


class QuietRequestHandler(MotoRequestHandler):
    """
    A handler that leaves its output to what goes wrong, and stalled clients.
    """

    # Seconds of silence in the middle of a request after which it is given up.
    timeout = 30

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """
        Say nothing.
        """


def main(arguments: list[str]) -> None:
    """
    Serve until standard input ends.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--region", required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--reports", type=int)
    parser.add_argument("--custom-resource", action="append", default=[])
    options = parser.parse_args(arguments)

    regions.configure(Settings.from_json(options.settings))
    if options.reports is not None:
        container_starts.report_to(options.reports)
    for assignment in options.custom_resource:
        custom_resources.register_handler(assignment)
    application_auto_scaling.install()
    cloudwatch.install()
    responses.install()
    events.install()
    moto = DomainDispatcherApplication(create_backend_app)
    server = make_server(
        "127.0.0.1",
        0,
        # moto's services read the account from there, at every request.
        Gateway(moto, options.region, os.environ["MOTO_ACCOUNT_ID"]),
        threaded=True,
        request_handler=QuietRequestHandler,
        fd=options.fd,
    )
    threading.Thread(target=_end_with_parent, daemon=True).start()
    CLOCK.follow()
    server.serve_forever()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    # At once: the state ends with the process, there is nothing to save.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
