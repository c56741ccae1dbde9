"""
The embedded AWS: enough of AWS on this machine to deploy to and to call.

What belongs here answers as AWS does. Importing this package loads neither moto nor
the CDK; the server does, in its own process.
"""

from cdk_sagemaker_llm.local.aws.embedded import EmbeddedAws, EmbeddedAwsError
from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.runtime.latency import Latency

__all__ = ["EmbeddedAws", "EmbeddedAwsError", "Fault", "Latency"]
