"""
The bearer tokens of SageMaker's route for OpenAI's clients: who may ask, and how long.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from aws_cdk import App, CfnOutput, Environment, Stack
from aws_cdk import aws_iam as iam
from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders

from cdk_sagemaker_llm import HuggingFaceModel, InferenceComponentEndpoint, Vllm
from cdk_sagemaker_llm.local.aws.bearer_tokens import Tokens
from cdk_sagemaker_llm.local.aws.clock import Clock
from cdk_sagemaker_llm.local.aws.errors import AwsError
from tests.local.bearer import HOST, Reply, address, ask, make_token, written
from tests.local.by_hand import NOON, hand_run_aws
from tests.local.hosting_requests import (
    TGI_3,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    serve,
    unique,
)

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.deployments import Deployer

CALL = "sagemaker:CallWithBearerToken"
INVOKE = "sagemaker:InvokeEndpoint"
ACCOUNT, REGION = "123456789012", "us-east-1"
HOUR = 3600.0
PLEASE = "Authentication failed: Please make sure your API Key is valid"


@pytest.fixture(name="aws", scope="module")
def _aws(near_aws: EmbeddedAws) -> EmbeddedAws:
    return near_aws


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(aws: EmbeddedAws) -> str:
    return serve(aws, TGI_3)


def allow(action: str, *resources: str, effect: str = "Allow") -> dict[str, Any]:
    """
    Write a statement.
    """
    return {"Effect": effect, "Action": action, "Resource": list(resources)}


@dataclass(frozen=True, slots=True)
class Caller:
    """
    A role or a user in the embedded AWS, and a token of its own.
    """

    arn: str
    token: str
    put: Callable[..., object]

    def may(self, *statements: dict[str, Any]) -> None:
        """
        Give it a policy in the place of the one it has.
        """
        document = {"Version": "2012-10-17", "Statement": statements}
        self.put(PolicyName="own", PolicyDocument=json.dumps(document))


def a_role(aws: EmbeddedAws) -> Caller:
    """
    Make a role, and assume it.
    """
    name, client = unique("caller"), aws.client("iam")
    made = client.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    session = aws.client("sts").assume_role(
        RoleArn=made["Role"]["Arn"], RoleSessionName="me"
    )
    return Caller(
        session["AssumedRoleUser"]["Arn"],
        token_of(session["Credentials"]),
        lambda **policy: client.put_role_policy(RoleName=name, **policy),
    )


def token_of(keys: dict[str, str]) -> str:
    """
    Make a token of a session.
    """
    return make_token(
        keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"]
    )


def a_user(aws: EmbeddedAws) -> Caller:
    """
    Make a user with a key.
    """
    name, client = unique("caller"), aws.client("iam")
    made = client.create_user(UserName=name)
    keys = client.create_access_key(UserName=name)["AccessKey"]
    return Caller(
        made["User"]["Arn"],
        make_token(keys["AccessKeyId"], keys["SecretAccessKey"]),
        lambda **policy: client.put_user_policy(UserName=name, **policy),
    )


@pytest.mark.parametrize("make", [a_role, a_user], ids=["role", "user"])
def test_both_actions_must_be_granted(
    aws: EmbeddedAws, endpoint: str, make: Callable[[EmbeddedAws], Caller]
) -> None:
    """
    The one on everything, the other on the endpoint; the refusal names what is missing.
    """
    arn = f"arn:aws:sagemaker:{REGION}:{aws.account}:endpoint/{endpoint}"
    caller = make(aws)

    def told() -> str:
        reply = ask(aws, address(endpoint), token=caller.token)
        if reply.status == 200:
            return ""
        assert (reply.status, reply.error["code"]) == (403, "access_denied")
        return reply.error["message"]

    def missing(action: str, resource: str) -> str:
        return (
            f"User: {caller.arn} is not authorized to perform: {action} on resource: "
            f"{resource} because no identity-based policy allows the {action} action"
        )

    assert told() == missing(CALL, "*")
    caller.may(allow(CALL, "*"))
    assert told() == missing(INVOKE, arn)
    caller.may(allow(INVOKE, arn))
    assert told() == missing(CALL, "*")
    # It takes no resource.
    caller.may(allow(INVOKE, arn), allow(CALL, arn))
    assert told() == missing(CALL, "*")
    caller.may(allow(INVOKE, f"{arn}-2"), allow(CALL, "*"))
    assert told() == missing(INVOKE, arn)
    caller.may(allow(INVOKE, arn), allow(CALL, "*"))
    assert told() == ""
    caller.may(allow("*", "*"), allow(INVOKE, arn, effect="Deny"))
    assert told().endswith("with an explicit deny in an identity-based policy")


def test_grants_of_a_stack_let_roles_ask(
    aws: EmbeddedAws, near_deployer: Deployer, tmp_path: Path
) -> None:
    """
    ``grant_invoke`` with a bearer token does, without one it does not, and a component
    is granted with its endpoint.
    """
    app = App(outdir=str(tmp_path), analytics_reporting=False)
    stack = Stack(app, "Granted", env=Environment(account=aws.account, region=REGION))
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g6.2xlarge")
    model = HuggingFaceModel("Qwen/Qwen3-4B", revision="main")
    assistant = host.add_model(
        "Assistant", model=model, serving=Vllm(max_model_len=8192)
    )
    lambdas = iam.ServicePrincipal("lambda.amazonaws.com")
    for name, with_token in (("Asks", True), ("Signs", False)):
        role = iam.Role(stack, name, assumed_by=lambdas)
        assistant.grant_invoke(role, bearer_token=with_token)
        CfnOutput(stack, f"{name}Arn", value=role.role_arn)
    assistant.output_connection()
    app.synth()

    found = near_deployer.deploy(tmp_path).checked().outputs["Granted"]
    (url,) = (value for key, value in found.items() if "OpenAiBaseUrl" in key)
    base = urlsplit(url).path

    def asked(name: str) -> Reply:
        session = aws.client("sts").assume_role(
            RoleArn=found[f"{name}Arn"], RoleSessionName="me"
        )
        return ask(aws, base, token=token_of(session["Credentials"]))

    assert asked("Asks").status == 200
    assert asked("Signs").status == 403
    assert f"perform: {CALL} on" in asked("Signs").error["message"]


def test_managed_policies_and_groups_grant_too(aws: EmbeddedAws, endpoint: str) -> None:
    """
    Wherever IAM keeps what a principal may do.
    """
    client, every = aws.client("iam"), allow("sagemaker:*", "*")
    document = json.dumps({"Version": "2012-10-17", "Statement": every})
    made = client.create_policy(PolicyName=unique("all"), PolicyDocument=document)
    role, user, group = a_role(aws), a_user(aws), unique("group")

    client.attach_role_policy(
        RoleName=role.arn.split("/")[1], PolicyArn=made["Policy"]["Arn"]
    )
    client.create_group(GroupName=group)
    client.put_group_policy(GroupName=group, PolicyName="own", PolicyDocument=document)
    refused = ask(aws, address(endpoint), token=user.token)
    client.add_user_to_group(GroupName=group, UserName=user.arn.split("/")[1])

    assert ask(aws, address(endpoint), token=role.token).status == 200
    assert refused.status == 403
    assert ask(aws, address(endpoint), token=user.token).status == 200


def test_a_component_must_be_granted_beside_its_endpoint(aws: EmbeddedAws) -> None:
    """
    As the service authorization reference has it for ``InvokeEndpoint``.
    """
    host = make_endpoint(aws, make_config(aws))
    component = make_component(aws, host, model=make_model(aws, image=TGI_3))
    own = f"arn:aws:sagemaker:{REGION}:{aws.account}"
    endpoint, place = f"{own}:endpoint/{host}", address(host, component)
    caller = a_role(aws)

    caller.may(allow(CALL, "*"), allow(INVOKE, endpoint))
    refused = ask(aws, place, token=caller.token)
    caller.may(
        allow(CALL, "*"),
        allow(INVOKE, endpoint, f"{own}:inference-component/{component}"),
    )

    assert refused.status == 403
    assert f"inference-component/{component} because" in refused.error["message"]
    assert ask(aws, place, token=caller.token).status == 200


def test_who_may_not_ask_is_not_told_what_there_is(aws: EmbeddedAws) -> None:
    """
    The permission is looked at before the endpoint.
    """
    assert ask(aws, address("nobody"), token=a_role(aws).token).status == 403


def test_a_token_of_another_region(aws: EmbeddedAws, endpoint: str) -> None:
    """
    AWS tells it by the host; here it is told where the endpoint is elsewhere.
    """
    elsewhere = ask(aws, address(endpoint), token=make_token(region="eu-west-1"))
    nowhere = ask(aws, address(endpoint), token=make_token(region="moon-1"))

    assert (elsewhere.status, nowhere.status) == (403, 403)
    assert elsewhere.error["message"] == (
        f"{PLEASE}: it is signed for eu-west-1, and the endpoint is in us-east-1."
    )
    assert nowhere.error["message"].endswith("for moon-1, which is no region.")


def test_a_region_has_endpoints_of_its_own(aws: EmbeddedAws) -> None:
    """
    The token says which region is asked, as a signature does.
    """
    reply = ask(aws, address("nobody"), token=make_token(region="eu-west-1"))

    assert reply.status == 400
    assert reply.error["message"] == (
        f"Endpoint nobody of account {aws.account} not found."
    )


def test_a_signature_is_no_token(aws: EmbeddedAws, endpoint: str) -> None:
    """
    Nor is nothing.
    """
    signed = ask(
        aws,
        address(endpoint),
        headers={
            "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/"
            "sagemaker/aws4_request, SignedHeaders=host, Signature=0"
        },
    )
    empty = ask(aws, address(endpoint), headers={"Authorization": ""})

    assert (signed.status, empty.status) == (403, 403)
    assert "takes a bearer token and no signature" in signed.error["message"]
    assert empty.error["message"] == "Missing Authentication Token"


def url_of(token: str) -> str:
    """
    Return the signed address in a token.
    """
    return base64.b64decode(token.rpartition("-")[2]).decode()


GOOD = make_token(at=NOON)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "sk-proj-1",
        "sagemaker-api-key-",
        "sagemaker-api-key-%%%",
        written("nonsense"),
        written(url_of(GOOD).replace(HOST, "bedrock.amazonaws.com")),
        written(url_of(GOOD).replace("&Version=1", "&X-Amz-Date=")),
        written(url_of(GOOD).replace("X-Amz-Expires", "Expires")),
        written(url_of(GOOD).replace("=43200", "=long")),
        make_token(at=NOON, action="InvokeEndpoint"),
        make_token(at=NOON, service="bedrock"),
        GOOD.replace("sagemaker-api-key", "bedrock-api-key"),
        GOOD[:-1],
    ],
)
def test_what_is_no_token(token: str) -> None:
    """
    Whatever it is, it is refused in one way, and never repeated.
    """
    told = refusal(tokens(NOON), token)

    assert told == f"{PLEASE}: it is no token of SageMaker's generator."


@pytest.mark.parametrize(
    "token",
    [
        make_token("test", "another", at=NOON),
        written(url_of(GOOD).replace("us-east-1", "us-east-2")),
        written(url_of(make_token(at=NOON, expires=60)).replace("=60", "=61")),
    ],
    ids=["secret", "region", "expiry"],
)
def test_what_was_not_signed_so(token: str) -> None:
    """
    Another secret, or what was changed afterwards.
    """
    region = "us-east-2" if "us-east-2" in url_of(token) else REGION

    assert "The request signature we calculated does not match" in refusal(
        tokens(NOON), token, region
    )


def test_credentials_of_elsewhere_are_taken() -> None:
    """
    As for every other request: their secret is not known in here.
    """
    token = make_token("AKIA" + "X" * 16, "theirs", at=NOON)

    bearer = tokens(NOON).check(f"Bearer {token}", ACCOUNT, REGION)

    assert bearer.arn == f"arn:aws:iam::{ACCOUNT}:root"


def test_the_scheme_is_read_in_any_case() -> None:
    """
    As HTTP has it.
    """
    assert tokens(NOON).check(f"bearer  {GOOD}", ACCOUNT, REGION)


class Wall:
    """
    A clock on a wall.
    """

    def __init__(self, seconds: float) -> None:
        self.time = seconds

    def __call__(self) -> float:
        """
        Tell the time.
        """
        return self.time


def tokens(seconds: float) -> Tokens:
    """
    Judge tokens by a wall that stands still.
    """
    return Tokens(Clock(Wall(seconds)))


def refusal(judge: Tokens, token: str, region: str = REGION) -> str:
    """
    Return why a token is refused; nothing for one that is not.
    """
    try:
        judge.check(f"Bearer {token}", ACCOUNT, region)
    except AwsError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    ("expires", "told"),
    [
        (0, "it is for 1 to 43200 seconds, not 0"),
        (1, ""),
        (43_200, ""),
        (43_201, "it is for 1 to 43200 seconds, not 43201"),
    ],
)
def test_a_token_is_for_twelve_hours_at_most(expires: int, told: str) -> None:
    """
    The bounds of the generator.
    """
    assert told in refusal(tokens(NOON), make_token(at=NOON, expires=expires))


@pytest.mark.parametrize(
    ("later", "told"), [(59.0, ""), (61.0, "Bearer Token has expired")]
)
def test_a_token_expires(later: float, told: str) -> None:
    """
    Dates have no fractions: within the last second it may hold or not.
    """
    token = make_token(at=NOON, expires=60)

    assert refusal(tokens(NOON + later), token) == told


@pytest.mark.parametrize(("ahead", "holds"), [(300.0, True), (301.0, False)])
def test_a_clock_may_be_five_minutes_ahead(ahead: float, holds: bool) -> None:  # noqa: FBT001 - what is expected
    """
    As of every signature.
    """
    told = refusal(tokens(NOON), make_token(at=NOON + ahead))

    assert (told == "") is holds
    assert holds or "not yet current" in told


def test_a_token_lasts_by_the_clock_in_there() -> None:
    """
    At a speed of 60, an hour is over in a minute.
    """
    wall = Wall(NOON)
    clock = Clock(wall)
    clock.run_at(60.0)
    judge, token = Tokens(clock), make_token(at=NOON, expires=3600)

    wall.time = NOON + 58.0
    before = refusal(judge, token)
    wall.time = NOON + 62.0
    fresh = make_token(at=wall.time, expires=3600)

    assert (before, refusal(judge, token)) == ("", "Bearer Token has expired")
    assert refusal(judge, fresh) == ""


def test_a_token_expires_when_time_is_moved_by_hand() -> None:
    """
    What was shown before is old afterwards, and what is signed then is new.
    """
    wall = Wall(NOON)
    clock = Clock(wall)
    clock.run_by_hand()
    judge = Tokens(clock)
    shown, kept = make_token(at=NOON), make_token(at=NOON, expires=43_199)
    before = refusal(judge, shown)

    wall.time = NOON + 5.0
    with clock.lock:
        clock.advance(12 * HOUR)
    fresh = make_token(at=wall.time)

    assert before == ""
    assert refusal(judge, shown) == "Bearer Token has expired"
    assert refusal(judge, kept) == "Bearer Token has expired"
    assert refusal(judge, fresh) == ""


def test_the_embedded_aws_judges_by_its_own_clock() -> None:
    """
    A token for an hour, which is over when the test says so.
    """
    token = make_token(at=NOON, expires=3600)
    url = f"http://localhost{address('nobody')}/chat/completions"
    headers = HTTPHeaders()
    headers["Authorization"] = f"Bearer {token}"
    asked = AWSPreparedRequest("POST", url, headers, b"{}", stream_output=False)

    with hand_run_aws() as aws:
        before = aws.send(asked)
        aws.advance(HOUR)
        after = aws.send(asked)

    assert (before.status_code, after.status_code) == (400, 403)
    assert b"Bearer Token has expired" in after.content


def test_a_token_ends_with_the_credentials_that_signed_it(
    aws: EmbeddedAws, endpoint: str
) -> None:
    """
    A session of fifteen minutes signs for no longer, whatever the token says.
    """
    name, now = unique("brief"), time.time()
    made = aws.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    keys = aws.client("sts").assume_role(
        RoleArn=made["Role"]["Arn"], RoleSessionName="me", DurationSeconds=900
    )["Credentials"]
    own = keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"]
    token = make_token(*own, at=now)

    def told(later: float) -> str:
        try:
            tokens(now + later).check(f"Bearer {token}", aws.account, REGION)
        except AwsError as error:
            return error.message
        return ""

    assert (told(890.0), told(905.0)) == ("", "Bearer Token has expired")
    # Without its session token the key is nobody's.
    bare = ask(aws, address(endpoint), token=make_token(*own[:2]))
    assert "its session token is not that of its key" in bare.error["message"]


def test_tokens_that_have_expired_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    So that a server which is shown one for each request does not fill up.
    """
    monkeypatch.setattr("cdk_sagemaker_llm.local.aws.bearer_tokens._MANY", 2)
    wall = Wall(NOON)
    judge = Tokens(Clock(wall))
    for index in range(3):
        assert refusal(judge, make_token(at=NOON, expires=60 + index)) == ""
    wall.time += 13 * HOUR

    assert refusal(judge, make_token(at=wall.time)) == ""
    assert len(judge) == 1
