"""
Lambda functions: found, run in processes of their own, answered by address, and called
by the rules of EventBridge.

The code runs with this user's rights: it is the code that this user has deployed.
"""

from __future__ import annotations

import copy
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
import uuid
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from moto.awslambda.models import lambda_backends
from moto.core.exceptions import ServiceException
from moto.events.models import Rule, events_backends
from moto.sns.models import sns_backends

from cdk_sagemaker_llm.local.aws.clock import CLOCK, now
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds import python_runner

_INLINE = {"index.py", "cfnresponse.py"}
_LEAST_TIMEOUT = 60.0  # Seconds that every function gets: a laptop is no Lambda.
# Seconds until Lambda tries again what it was not waited for with, and which failed:
# https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
_RETRIES = (60.0, 120.0)
RESPONSE_PATH = "/_embedded/custom-resource-response/"
_responses: dict[str, dict[str, Any]] = {}
_expected: dict[str, threading.Event] = {}

# Handlers send their response by https and without a port, which S3 has; here it is
# the embedded AWS's own address, and that is plain http.
NODE_SCRIPT = r"""
const [handler, result] = process.argv.slice(1);
const fs = require('fs'), http = require('http'), https = require('https');
const path = require('path'), { pathToFileURL } = require('url');
const here = new URL(process.env.AWS_ENDPOINT_URL);
const secure = https.request;
https.request = (target, ...rest) => {
  const plain = typeof target === 'object' && !(target instanceof URL);
  const options = plain ? target : null;
  const host = options ? (options.hostname || options.host) : new URL(target).hostname;
  if (host !== here.hostname) return secure(target, ...rest);
  if (!options) return http.request(String(target).replace(/^https/, 'http'), ...rest);
  return http.request({ ...options, port: here.port, agent: undefined }, ...rest);
};
const dot = handler.lastIndexOf('.');
const stem = path.resolve(handler.slice(0, dot)), name = handler.slice(dot + 1);
const file = ['.js', '.mjs', '.cjs'].map((end) => stem + end).find(fs.existsSync);
const deadline = Date.now() + 1000 * Number(process.env.EMBEDDED_TIMEOUT);
const stream = process.env.AWS_LAMBDA_LOG_STREAM_NAME;
const context = {
  functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
  functionVersion: '$LATEST',
  invokedFunctionArn: process.env.EMBEDDED_FUNCTION_ARN,
  memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
  logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
  logStreamName: stream,
  awsRequestId: stream,
  getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
};
const keep = (value) => fs.writeFileSync(result, JSON.stringify(value ?? null));
async function load() {
  const module = await import(pathToFileURL(file).href);
  return module[name] ?? module.default[name];
}
async function main() {
  let run;
  try {
    run = await load();
    if (typeof run !== 'function') throw new Error(`${handler} is not a function`);
  } catch (error) {
    console.log(error.message.split('\n')[0]);
    process.exit(86);
  }
  const event = JSON.parse(fs.readFileSync(0, 'utf8'));
  const done = (error, value) => {
    if (error) { console.log(error.message ?? error); process.exit(1); }
    keep(value);
  };
  context.done = done;
  context.succeed = (value) => done(null, value);
  context.fail = (error) => done(error ?? new Error('failed'));
  const value = run(event, context, done);
  if (value && typeof value.then === 'function') keep(await value);
}
main().catch((error) => { console.log(error.message ?? error); process.exit(1); });
"""

# What Lambda gives to inline code under this name.
NODE_RESPONSE_MODULE = r"""
exports.SUCCESS = 'SUCCESS';
exports.FAILED = 'FAILED';
exports.send = (event, context, status, data, id, noEcho) => {
  const body = JSON.stringify({
    Status: status,
    Reason: `See the details in CloudWatch Log Stream: ${context.logStreamName}`,
    PhysicalResourceId: id || context.logStreamName,
    StackId: event.StackId,
    RequestId: event.RequestId,
    LogicalResourceId: event.LogicalResourceId,
    NoEcho: noEcho || false,
    Data: data,
  });
  const headers = { 'content-length': Buffer.byteLength(body) };
  const options = { method: 'PUT', headers };
  require('http').request(event.ResponseURL, options).end(body);
};
"""


class NotRunnableError(Exception): ...


class FunctionError(Exception):
    """
    A function that ended with an error, or did not end in time.
    """


@dataclass(frozen=True, slots=True)
class Function:
    """
    A function as it was deployed.
    """

    arn: str
    name: str
    runtime: str
    handler: str
    code: bytes
    environment: dict[str, str]
    timeout: float
    memory: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    How a function ended: what it returned, and the last line it printed.
    """

    returned: Untyped
    printed: str


def find_function(token: str, account: str, region: str) -> Function:
    """
    Find a function by its ARN.
    """
    try:
        found = lambda_backends[account][region].get_function(token)
    except Exception as error:
        raise NotRunnableError(f"no Lambda function has the ARN {token}") from error
    variables = found.environment_vars or {}
    return Function(
        arn=found.function_arn,
        name=found.function_name,
        runtime=str(found.run_time or ""),
        handler=str(found.handler or ""),
        code=bytes(getattr(found, "code_bytes", b"")),
        environment={key: str(value) for key, value in variables.items()},
        timeout=max(_LEAST_TIMEOUT, float(found.timeout or 0)),
        memory=int(found.memory_size or 128),
    )


def run_function(function: Function, event: dict[str, Any]) -> Outcome:
    """
    Run a function on an event, and wait until it ends.

    Raises:
        NotRunnableError: If its code cannot be loaded here.

        FunctionError: If it fails, or takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="embedded-function-") as folder:
        root, result = Path(folder) / "code", Path(folder) / "result.json"
        command = [*_command(function), function.handler, str(result)]
        _unpack(function, root)
        printed = _process(command, function, event, root)
        try:
            return Outcome(json.loads(result.read_text()), printed)
        except (OSError, ValueError):
            # Handlers that answer by ResponseURL may end without returning.
            return Outcome(None, printed)


def _command(function: Function) -> list[str]:
    if function.runtime.startswith("python"):
        return [sys.executable, python_runner.__file__]
    if not function.runtime.startswith("nodejs"):
        raise NotRunnableError(
            f"functions of runtime {function.runtime or 'image'} are not run"
        )
    node = shutil.which("node")
    if node is None:
        raise NotRunnableError("there is no node on the PATH to run it with")
    return [node, "-e", NODE_SCRIPT]


def _unpack(function: Function, root: Path) -> None:
    root.mkdir()
    try:
        with zipfile.ZipFile(io.BytesIO(function.code)) as archive:
            archive.extractall(root)
    except zipfile.BadZipFile as error:
        raise NotRunnableError("its code is not there, or no ZIP archive") from error
    if {path.name for path in root.iterdir()} != _INLINE:
        return
    # moto packs inline code as Python, with a helper of its own that is out of date.
    (root / "cfnresponse.py").unlink()
    stem = root / function.handler.rpartition(".")[0]
    ending = ".py" if function.runtime.startswith("python") else ".js"
    (root / "index.py").rename(stem.with_suffix(ending))
    if ending == ".js":
        module = root / "node_modules" / "cfn-response"
        module.mkdir(parents=True)
        (module / "index.js").write_text(NODE_RESPONSE_MODULE)


def _process(
    command: list[str], function: Function, event: dict[str, Any], root: Path
) -> str:
    region = function.arn.split(":")[3]
    environment = {
        **os.environ,
        **function.environment,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": uuid.uuid4().hex,
        "LAMBDA_TASK_ROOT": str(root),
        "EMBEDDED_FUNCTION_ARN": function.arn,
        "EMBEDDED_TIMEOUT": str(function.timeout),
    }
    try:
        process = subprocess.run(
            command,
            input=json.dumps(event, default=str),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=root,
            env=environment,
            text=True,
            timeout=function.timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise FunctionError(
            f"{function.name} timed out after {function.timeout:.0f} seconds"
        ) from error
    last = (process.stdout.strip().splitlines() or ["it printed nothing"])[-1]
    if process.returncode == python_runner.NOT_RUNNABLE:
        raise NotRunnableError(last)
    if process.returncode:
        raise FunctionError(last)
    return last


class Callback:
    """
    An address for one response.
    """

    def __init__(self) -> None:
        self._token = uuid.uuid4().hex
        _expected[self._token] = threading.Event()

    @property
    def url(self) -> str:
        """
        The address, which CloudFormation calls ``ResponseURL``.
        """
        return f"{os.environ['AWS_ENDPOINT_URL']}{RESPONSE_PATH}{self._token}"

    def response(self, wait: float) -> dict[str, Any] | None:
        """
        Return what was sent, within some seconds, and take the address away.
        """
        _expected[self._token].wait(wait)
        del _expected[self._token]
        return _responses.pop(self._token, None)


def receive_response(path: str, body: bytes) -> int:
    """
    Take a response in, and return the HTTP status to answer with.
    """
    arrived = _expected.get(path.removeprefix(RESPONSE_PATH))
    try:
        response = json.loads(body)
    except ValueError:
        return 400
    if arrived is None or not isinstance(response, dict):
        return 403
    _responses[path.removeprefix(RESPONSE_PATH)] = response
    arrived.set()
    return 200


def send_to_functions() -> None:
    """
    Have rules send to functions and topics, before any is made.
    """
    sends = Rule.send_to_targets

    def send(rule: Rule, event: Untyped, transform_input: bool = True) -> None:  # noqa: FBT001, FBT002 - moto's signature
        # moto takes no notice of a rule's state, and has one without a pattern, which
        # is one by the clock, match everything.
        if rule.state != "ENABLED" or not rule.event_pattern.get_pattern():
            return
        if not rule.event_pattern.matches_event(event):
            return
        for target in rule.targets:
            if any(each in target["Arn"] for each in (":lambda:", ":sns:")):
                # moto changes the event for some of its own targets.
                own = copy.deepcopy(event)
                arguments = (rule.account_id, rule.region_name, target, own)
                threading.Thread(target=_deliver, args=arguments, daemon=True).start()
            else:
                alone = copy.copy(rule)
                alone.targets = [target]
                sends(alone, event, transform_input)

    Rule.send_to_targets = send  # type: ignore[method-assign, assignment]  # see above


def publish(  # noqa: PLR0917 - as services call it
    account: str,
    region: str,
    source: str,
    kind: str,
    detail: dict[str, Any],
    resource: str,
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
    for name in ("InputPath", "InputTransformer"):
        if name in target:
            raise NotRunnableError(f"not emulated: {name} of a rule's target")
    if "Input" in target:
        return json.loads(target["Input"])
    visible = {k: v for k, v in event.items() if k != "ingestion-time"}
    moment = datetime.fromtimestamp(float(event["time"]), UTC)
    return {**visible, "time": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}


def _deliver(account: str, region: str, target: dict[str, Any], event: Untyped) -> None:
    for pause in (0.0, *_RETRIES):
        CLOCK.sleep(pause)
        try:
            if ":sns:" in target["Arn"]:
                message = json.dumps(_input(target, event))
                sns_backends[account][region].publish(message, arn=target["Arn"])
                return
            with CLOCK.lock:
                function = find_function(target["Arn"], account, region)
            run_function(function, _input(target, event))
        except (NotRunnableError, FunctionError, ServiceException) as error:
            # Nobody waits for it: the server's own output is where it can be read.
            print(f"{target['Arn']}, called by a rule, failed: {error}", flush=True)  # noqa: T201 - see above
            if not isinstance(error, FunctionError):
                return
        else:
            return
