"""
What other constructs take a construct for, by the name of the CDK's interface.

``aws_ec2`` costs half a second to load, which a class that names its interface would
make every app pay; the interface is all that jsii asks of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsii

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2


class Connectable:
    """
    Something that ports can be opened to and from, as ``ec2.IConnectable`` is.
    """

    __jsii_type__ = "aws-cdk-lib.aws_ec2.IConnectable"

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """
        The security groups.
        """
        raise NotImplementedError
