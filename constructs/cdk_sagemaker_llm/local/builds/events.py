"""
EventBridge: what moto's rules match reaches functions as well, which are run.
"""

from __future__ import annotations

import copy
import json
import re
import threading
import traceback
import uuid
from datetime import UTC, datetime
from typing import Any

from moto.events.models import Rule, events_backends

from cdk_sagemaker_llm.local.aws.clock import CLOCK, now
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds.functions import (
    FunctionError,
    NotRunnableError,
    find_function,
    run_function,
)

# Seconds until Lambda tries again what it was not waited for with, and which failed:
# https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
_RETRIES = (60.0, 120.0)
_FUNCTION = ":lambda:"
# What a template consists of: an escaped character, a variable, any other character.
_TOKEN = re.compile(r"\\.|<([^<>\s]+)>|.", re.DOTALL)

Event = dict[str, Any]


def install() -> None:
    sends = Rule.send_to_targets

    def send(rule: Rule, event: Untyped, transform_input: bool = True) -> None:  # noqa: FBT001, FBT002 - moto's signature
        # moto takes no notice of a rule's state, and has one without a pattern, which
        # is one by the clock, match everything.
        if rule.state != "ENABLED" or not rule.event_pattern.get_pattern():
            return
        if not rule.event_pattern.matches_event(event):
            return
        for target in rule.targets:
            if _FUNCTION in target["Arn"]:
                _invoke(rule, target, _input(target, event))
            else:
                alone = copy.copy(rule)
                alone.targets = [target]
                sends(alone, event, transform_input)

    Rule.send_to_targets = send  # type: ignore[method-assign, assignment]  # see above


def publish(  # noqa: PLR0917 - as services call it
    account: str, region: str, source: str, kind: str, detail: Event, resource: str
) -> None:
    """
    Send an event of a service's to the rules of a region, and wait for nobody.
    """
    event: Untyped = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": kind,
        "source": source,
        "account": account,
        "time": now(),
        "region": region,
        "resources": [resource],
        "detail": json.loads(json.dumps(detail)),
    }
    bus = events_backends[account][region].event_buses["default"]
    for rule in list(bus.rules.values()):
        try:
            rule.send_to_targets(copy.deepcopy(event))
        except Exception:  # noqa: BLE001 - a service does not fail for a rule's target
            traceback.print_exc()


def _input(target: dict[str, Any], event: Untyped) -> Untyped:
    visible = {k: v for k, v in event.items() if k != "ingestion-time"}
    moment = datetime.fromtimestamp(float(event["time"]), UTC)
    visible["time"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if "Input" in target:
        return json.loads(target["Input"])
    if "InputPath" in target:
        return _at(visible, target["InputPath"])
    transformer = target.get("InputTransformer")
    return _transformed(transformer, visible) if transformer else visible


def _transformed(transformer: dict[str, Any], event: Event) -> Untyped:
    """
    Fill a template: by itself a value is JSON, and inside quotes it is its text.

    moto has text without quotes in both places, which is no JSON in the first.
    """
    paths = transformer.get("InputPathsMap", {})
    values = {name: _at(event, path) for name, path in paths.items()}
    values["aws.events.event.json"] = event
    parts, is_quoted = [], False
    for token in _TOKEN.finditer(transformer["InputTemplate"]):
        part, name = token[0], token[1]
        if name in values:
            value = values[name]
            part = json.dumps(value)
            if is_quoted:
                part = json.dumps(value if isinstance(value, str) else part)[1:-1]
        elif part == '"':
            is_quoted = not is_quoted
        parts.append(part)
    text = "".join(parts)
    try:
        return json.loads(text)
    except ValueError:
        # A template may be a text as well.
        return text


def _at(event: Event, path: str) -> Untyped:
    value: Untyped = event
    for name in path.removeprefix("$").split("."):
        if name:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def _invoke(rule: Rule, target: dict[str, Any], event: Untyped) -> None:
    arguments = (rule.account_id, rule.region_name, target["Arn"], event)
    threading.Thread(target=_deliver, args=arguments, daemon=True).start()


def _deliver(account: str, region: str, arn: str, event: Untyped) -> None:
    for pause in (0.0, *_RETRIES):
        CLOCK.sleep(pause)
        try:
            with CLOCK.lock:
                function = find_function(arn, account, region)
            run_function(function, event)
        except (NotRunnableError, FunctionError) as error:
            _report(arn, error)
            if isinstance(error, NotRunnableError):
                return
        else:
            return


def _report(arn: str, error: Exception) -> None:
    # Nobody waits for it: the server's own output is where it can be read.
    print(f"{arn}, called by a rule, failed: {error}", flush=True)  # noqa: T201 - see above
