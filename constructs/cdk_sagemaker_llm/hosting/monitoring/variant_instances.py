"""
The metrics of a variant's instances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from cdk_sagemaker_llm.hosting.monitoring.metrics import metric_of, normalised

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
    from cdk_sagemaker_llm.hosting.monitoring.options import VariantMetricOptions


class VariantInstanceMetrics:
    """
    The metrics of a variant's instances, one method each.
    """

    def _metric_subject(self, variant_name: str | None) -> Subject:
        raise NotImplementedError

    def metric_cpu_reservation(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The CPU cores that components reserve, in percent from 0 to 100.

        Of hosts of components.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "CPUReservation", options)

    def metric_cpu_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The CPU cores' use, in percent from 0 to 100 times the cores.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "CPUUtilization", options)

    def metric_cpu_utilization_normalized(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric | cloudwatch.MathExpression:
        """
        The CPU cores' use, in percent from 0 to 100.

        SageMaker publishes it of hosts of components; where a model fills the
        instances, it is computed from the raw metric and their type.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return normalised(subject, "CPUUtilizationNormalized", options, by="vcpus")

    def metric_disk_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of the disk, in percent from 0 to 100.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "DiskUtilization", options)

    def metric_gpu_memory_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of GPU memory, in percent from 0 to 100 times the GPUs.

        Engines reserve most of it when they start.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "GPUMemoryUtilization", options)

    def metric_gpu_memory_utilization_normalized(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric | cloudwatch.MathExpression:
        """
        The use of GPU memory, in percent from 0 to 100.

        SageMaker publishes it of hosts of components; where a model fills the
        instances, it is computed from the raw metric and their type. Engines
        reserve most of it when they start.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return normalised(
            subject, "GPUMemoryUtilizationNormalized", options, by="accelerators"
        )

    def metric_gpu_reservation(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The accelerators that components reserve, in percent from 0 to 100.

        Of hosts of components.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "GPUReservation", options)

    def metric_gpu_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The GPUs' use, in percent from 0 to 100 times the GPUs.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "GPUUtilization", options)

    def metric_gpu_utilization_normalized(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric | cloudwatch.MathExpression:
        """
        The GPUs' use, in percent from 0 to 100.

        SageMaker publishes it of hosts of components; where a model fills the
        instances, it is computed from the raw metric and their type.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return normalised(
            subject, "GPUUtilizationNormalized", options, by="accelerators"
        )

    def metric_memory_reservation(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The memory that components reserve, in percent from 0 to 100.

        Of hosts of components.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "MemoryReservation", options)

    def metric_memory_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of memory, in percent from 0 to 100.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "MemoryUtilization", options)
