"""
The embedded AWS: enough of AWS on this machine to deploy to and to call.

What belongs here answers as AWS does. Importing this package loads neither moto nor
the CDK; the server does, in its own process.
"""

from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.settings import Latency
from cdk_sagemaker_llm.local.embedded import EmbeddedAws, EmbeddedAwsError

__all__ = ["EmbeddedAws", "EmbeddedAwsError", "Fault", "Latency"]
