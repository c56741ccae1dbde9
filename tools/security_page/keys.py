"""
What a key of one's own can encrypt, by instance family.
"""

from __future__ import annotations

from collections import defaultdict

from cdk_sagemaker_llm.catalog.instances import (
    find_instance_type,
    instance_type_names,
)
from tools.engine_page.tables import codes, table

_KEYS = """\
## Keys

| what | whose argument | the role may then |
| --- | --- | --- |
| weights on S3 | `S3Model(..., kms_key=)`, or the bucket's own key | `kms:Decrypt` |
| adapters on S3 | `LoraAdapter(..., kms_key=)` | `kms:Decrypt` |
| volumes of the instances | `kms_key=` of `LlmEndpoint` and `EndpointConfig` | \
`kms:CreateGrant` |
| captured requests | `DataCapture(kms_key=)`, or the bucket's own key | \
`kms:Decrypt`, `kms:Encrypt`, `kms:GenerateDataKey` |
| requests and answers on S3 | `AsyncInference(kms_key=)`, or the bucket's own key | \
the same, and so may callers that are granted `grant_invoke_async` |
| notifications | the topic's own key | the same |

A role is named a key by its ARN, and one that is known by its alias by a condition on \
`kms:ResourceAliases`: IAM takes no alias as a resource.
The key's own policy must let the account's IAM policies decide, as the CDK's does; \
one that names principals has to name the role of the model too.
[customer_managed_key](../examples/customer_managed_key/app.py) uses one key for all.

Volumes take a key where the instance has no NVMe storage: that is encrypted in \
hardware, with a key that nobody has, and SageMaker refuses `kms_key` there (`LLM121`).
"""


def keys() -> str:
    """
    Return the section of keys.
    """
    found: dict[bool, dict[str, None]] = defaultdict(dict)
    for name in instance_type_names():
        takes = find_instance_type(name).volume_size_supported
        found[takes][name.split(".")[1]] = None
    rows = [
        ["a volume, which takes a key", codes(sorted(found[True]))],
        ["NVMe, encrypted in hardware", codes(sorted(found[False]))],
    ]
    return f"{_KEYS}\n{table(('storage', 'families'), rows)}"
