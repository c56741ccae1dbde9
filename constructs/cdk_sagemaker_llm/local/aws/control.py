"""
What the embedded AWS tells and takes beside AWS's API: its clock, its faults, its log.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.hosting.container_starts import begin_restarts
from cdk_sagemaker_llm.local.hosting.service import SageMaker
from cdk_sagemaker_llm.local.hosting.states import look

PREFIX = "/_embedded/"


def answer(hosting: SageMaker, request: Request) -> Response:
    """
    Answer a request for one of the server's own pages.
    """
    page = request.path.removeprefix(PREFIX)
    if page == "hosting":
        return _json(hosting.report())
    if page == "clock":
        return _clock(request)
    if page == "log":
        return _json(_log(hosting))
    if page == "faults":
        return _faults(hosting, request)
    return Response("there is no such page", 404)


def _clock(request: Request) -> Response:
    if request.method == "PUT":
        if not CLOCK.is_by_hand:
            return Response("time passes by itself: there is no clock by hand\n", 400)
        try:
            CLOCK.advance(_seconds(request.get_data()))
        except ValueError as error:
            return Response(f"{error}\n", 400)
    return _json(
        {
            "now": CLOCK.now,
            "speed": None if CLOCK.is_by_hand else CLOCK.speed,
            "by_hand": CLOCK.is_by_hand,
        }
    )


def _seconds(body: bytes) -> float:
    asked = json.loads(body)
    seconds = asked.get("advance") if isinstance(asked, dict) else None
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise ValueError(
            f'seconds come as {{"advance": 600}}, 0 or more of them, got {asked!r}'
        )
    return float(seconds)


def _log(hosting: SageMaker) -> dict[str, Any]:
    return {
        endpoint.name: {
            name: [asdict(step) for step in fleet.log]
            for name, fleet in endpoint.fleets.items()
        }
        for endpoint in hosting.world.endpoints
    }


def _faults(hosting: SageMaker, request: Request) -> Response:
    world = hosting.world
    try:
        if request.method == "PUT":
            for fault in _read(request.get_data()):
                world.faults.put(fault)
            begin_restarts(world)
            for endpoint in world.endpoints:
                look(world, endpoint)
        elif request.method == "DELETE":
            world.faults.clear()
            for endpoint in world.endpoints:
                for fleet in endpoint.fleets.values():
                    fleet.retry()
                look(world, endpoint)
    except ValueError as error:
        return Response(f"{error}\n", 400)
    return _json({"faults": world.faults.listed()})


def _read(body: bytes) -> list[Fault]:
    try:
        given = json.loads(body)
    except ValueError as error:
        raise ValueError(f"faults come as a JSON list: {error}") from error
    if not isinstance(given, list):
        raise ValueError(  # noqa: TRY004 - what a client sent
            f"faults come as a JSON list, got {given!r}"
        )
    return [Fault.of(one) for one in given]


def _json(body: dict[str, Any]) -> Response:
    return Response(json.dumps(body), content_type="application/json")
