"""
The least a CDK app can be: its price is paid by every other.
"""

import sys

from aws_cdk import App, CfnResource, Stack

if __name__ == "__main__":
    app = App()
    for index in range(int(sys.argv[1])):
        # CloudFormation refuses a stack without a resource.
        CfnResource(
            Stack(app, f"Empty{index}"),
            "Handle",
            type="AWS::CloudFormation::WaitConditionHandle",
        )
    app.synth()
