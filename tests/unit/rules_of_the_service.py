"""
What SageMaker, Application Auto Scaling and CloudFormation ask of a template, and how
this library sees to each: by a check with a code, by what a construct writes, or not at
all, with the reason, which docs/support-policy.md has as well.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Held:
    """
    One rule.

    Args:
        rule: In words.

        codes: The checks that find what breaks it.

        by: What makes it impossible to break, where no check is needed.

        reason: Why there is no check; it stands in docs/support-policy.md.
    """

    rule: str
    codes: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""


QUOTAS = (
    "Quotas and capacity of an account: for each type of a pool, for twice the "
    "instances during an update, and free addresses in subnets"
)
RUNNING = (
    "What only shows while a deployment runs: requests that race, a rollback that "
    "fails or that nobody hears of, a container that never starts, capacity that takes "
    "half an hour to be refused"
)
DEPLOYED = (
    "What a template changes against what is deployed: the name of a variant during an "
    "update, or the type of a scaled one, beyond its warning"
)
UNCERTAIN = (
    "What is reported and not documented: how long a pool's time-out is for each type, "
    "on which older types metrics come every ten seconds, in which regions components "
    "are registered, how much of a host's memory can be reserved"
)
NOT_OFFERED = (
    "What the library does not write: serverless variants, core dumps, access by "
    "Systems Manager, marketplace containers, predictive scaling"
)
CALLER = "The permissions of whoever deploys, such as to deregister scalable targets"
NETWORKS = (
    "A VPC in the endpoint's own stack, whose deletion waits for SageMaker's "
    "interfaces: deleting it again succeeds"
)

# Endpoint configurations and their variants.
CONFIGURATIONS = (
    Held("a variant starts with one instance or more", ("LLM105",)),
    Held("a weight is 0 or more", ("LLM111",)),
    Held("a volume has 1 to 512 GiB", ("LLM111",)),
    Held("times of download and start-up are 60 to 3600 whole seconds", ("LLM111",)),
    Held("times are whole seconds, and sizes whole gibibytes", ("LLM129",)),
    Held("waiting for a pool takes 300 to 3600 s", ("LLM111",)),
    Held("a host image is one of five", ("LLM184",)),
    Held("a container's CUDA version runs on its host's driver", ("LLM198", "LLM221")),
    Held("an instance type exists and hosts endpoints", ("LLM101",)),
    Held("managed scaling has a minimum of 0 and a maximum of 1 or more", ("LLM105",)),
    Held("managed scaling is for hosts of components", ("LLM122",)),
    Held("a scale-in policy frees 1 to 100, every 5 to 1440 minutes", ("LLM111",)),
    Held("a scale-in policy is for instances that are managed", ("LLM317",)),
    Held("what a consolidation alone has is given to one", ("LLM414",)),
    Held("a routing strategy is one that CloudFormation has", ("LLM182",)),
    Held("prefixes have 1024 to 65536 bytes, and 1 to 1024 requests", ("LLM111",)),
    Held("routing by prefix has its length and its threshold", by="PrefixAwareRouting"),
    Held("routing by prefix needs two instances or more", ("LLM414",)),
    Held("a capacity reservation is named by its ARN", ("LLM314",)),
    Held("a reservation is for endpoints on types of the p family", ("LLM412",)),
    Held("a configuration has 1 to 10 variants, each with its name", ("LLM123",)),
    Held("names have 63 letters, digits and inner hyphens at most", ("LLM106",)),
    Held("models and configurations have no names of their own", by="Model"),
    Held("a host has a role and no model, any other a model and no role", ("LLM124",)),
    Held("a component's role, VPC and isolation are its endpoint's", ("LLM125",)),
    Held("pools are in place of an instance type", ("LLM311",)),
    Held("there are two to five pools, of different types", ("LLM312",)),
    Held("pools' types can all run one host image", ("LLM313",)),
    Held("pools get the least busy instance", ("LLM411",)),
    Held("types with NVMe take neither a volume size nor its key", ("LLM121",)),
    Held("a volume holds the model", ("LLM246",)),
    Held("large models get longer to download", by="start_up"),
    Held("a VPC has 1 to 16 subnets and 1 to 5 groups", ("LLM199",)),
    Held("subnets are in two zones or more", ("LLM450",)),
    Held("without the internet, weights are on S3", ("LLM247", "LLM119")),
    Held("isolated subnets have an endpoint of S3", ("LLM803",)),
    Held("subnets have two addresses for each instance", ("LLM701", "LLM801")),
    Held("detailed observability is on unless it is switched off", by="EndpointConfig"),
    Held("metrics are published every 10 to 300 s, of seven choices", ("LLM363",)),
    Held("a shadow variant stands beside one variant", ("LLM345", "LLM346")),
    Held("requests and answers are kept on S3, of known kinds", ("LLM347", "LLM348")),
    Held("what is asynchronous is called and scaled as such", ("LLM349", "LLM438")),
    Held("quotas of each type of a pool", reason=QUOTAS),
    Held("a pool's time-out is for all types or for each", reason=UNCERTAIN),
    Held("core dumps, Systems Manager, serverless", reason=NOT_OFFERED),
)
# Inference components.
COMPONENTS = (
    Held("a component has one specification, or one for each type", by="specification"),
    Held("specifications name the types of the host, each once", ("LLM315",)),
    Held("there are two to five specifications", ("LLM312", "LLM315")),
    Held("a copy reserves 128 MiB, a quarter of a core", by="ResourceRequirements"),
    Held("a container on accelerators reserves some", ("LLM197",)),
    Held("copies are 0 or more", by="ResourceRequirements"),
    Held("copies fit the most instances that there may be", ("LLM104", "LLM416")),
    Held("times of start-up are 60 to 3600 s", ("LLM111",)),
    Held("an adapter's artifact is a tar.gz or a prefix", ("LLM325",)),
    Held("an adapter has no resources and no copies of its own", ("LLM330",)),
    Held("an adapter's base serves adapters", ("LLM326", "LLM327", "LLM328")),
    Held("zones are balanced together with a placement strategy", ("LLM316",)),
    Held("an imbalance is 0 to 100", ("LLM111",)),
    Held("a rolling update moves 5 to 50 % of the copies", ("LLM335", "LLM336")),
    Held("an update waits 0 to 3600 s, 600 to 28800 s in all", ("LLM111", "LLM337")),
    Held("a rollback has 1 to 10 alarms", ("LLM105",)),
    Held("old and new copies fit beside each other", ("LLM245",)),
    Held("a container of a component has 16 variables at most", by="Model"),
    Held("an environment has 100 variables in 32 KiB", ("LLM120",)),
    Held("a name is used once", ("LLM183",)),
    Held("a region has components; a host's memory is not all free", reason=UNCERTAIN),
)
# Application Auto Scaling.
SCALING = (
    Held("bounds are in order", ("LLM105",)),
    Held("instances of a real-time endpoint do not go to 0", ("LLM105",)),
    Held("a resource is scaled once, and policies have own names", ("LLM301",)),
    Held("a predefined metric belongs to its dimension", by="scale_on_concurrency"),
    Held("a metric is one that a policy can follow", ("LLM302",)),
    Held("a metric is published of what it is asked of", ("LLM361",)),
    Held("a statistic is one that the metric has", ("LLM360",)),
    Held("cooldowns are whole seconds of 0 or more", ("LLM111", "LLM129")),
    Held("steps join, and the last is open", ("LLM303",)),
    Held("a policy has 20 steps at most, unless the quota is raised", ("LLM401",)),
    Held("a schedule and its time zone can be read", ("LLM304",)),
    Held("zero copies need a host that may have zero instances", ("LLM305",)),
    Held("zero instances need every component at zero", ("LLM404", "LLM403")),
    Held("what sleeps is woken by a step policy and its alarm", by="min_capacity=0"),
    Held("waking takes minutes in which requests fail", ("LLM402",)),
    Held("no role is given to a scalable target", by="ScalableTarget"),
    Held("copies that start are within their bounds", ("LLM248",)),
    Held("scaling stays within what fits", ("LLM203",)),
    Held("predictive scaling is not supported", reason=NOT_OFFERED),
    Held("metrics every ten seconds are of some families", reason=UNCERTAIN),
)
# Deployment guardrails, ordering, pitfalls.
DEPLOYMENTS = (
    Held("a rollout is blue/green or rolling", by="rollout="),
    Held("a canary is 50 % at most, steps 10 to 50, batches 5 to 50", ("LLM111",)),
    Held("a fleet is large enough for its steps", ("LLM336", "LLM425")),
    Held("waits are 0 to 3600 s", ("LLM111",)),
    Held("a rollout takes 600 to 28800 s, more than it waits", ("LLM111", "LLM337")),
    Held("a traffic shift has a type and a wait, a batch its size", by="Canary"),
    Held("Inf1 and several variants take all at once", ("LLM338",)),
    Held("without alarms baking watches nothing", ("LLM426",)),
    Held("the role may look at alarms", ("LLM427",)),
    Held("alarms and endpoint do not wait for each other", ("LLM339",)),
    Held("metrics of alarms are those that the hosts publish", ("LLM428",)),
    Held("a scaled fleet keeps its count through updates", ("LLM429",)),
    Held("a scaled variant keeps its type", ("LLM244",)),
    Held("components go before their endpoint", by="InferenceComponent"),
    Held("the role goes after what it is needed to delete", by="EndpointConfig"),
    Held("interfaces outlive the endpoint", reason=NETWORKS),
    Held("a variant keeps its name through an update", reason=DEPLOYED),
    Held("twice the instances need twice the quota", reason=QUOTAS),
    Held("marketplace containers take all at once", reason=NOT_OFFERED),
    Held("deleting a scaled endpoint needs a permission", reason=CALLER),
    Held("silent rollbacks, races, containers that never start", reason=RUNNING),
)
SECTIONS = {
    "configurations": CONFIGURATIONS,
    "components": COMPONENTS,
    "scaling": SCALING,
    "deployments": DEPLOYMENTS,
}
