"""
The metrics of an inference component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from cdk_sagemaker_llm.hosting.monitoring.metrics import metric_of

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
    from cdk_sagemaker_llm.hosting.monitoring.options import MetricOptions


class ComponentMetrics:
    """
    The metrics of an inference component, one method each.
    """

    def _metric_subject(self) -> Subject:
        raise NotImplementedError

    def metric_invocations(self, **options: Unpack[MetricOptions]) -> cloudwatch.Metric:
        """
        Requests that were sent to the component, counted.
        """
        return metric_of(self._metric_subject(), "Invocations", options)

    def metric_invocations_per_copy(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that each copy got, counted: the sum of a minute is what
        scaling on invocations keeps near its target.
        """
        return metric_of(self._metric_subject(), "InvocationsPerCopy", options)

    def metric_concurrent_requests_per_copy(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests under way at a time on each copy, those that wait in the
        container included; a stream counts until its last token.

        It comes every 10 seconds, with a minimum and a maximum alone.
        """
        return metric_of(self._metric_subject(), "ConcurrentRequestsPerCopy", options)

    def metric_invocation_4xx_errors(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were answered with a 4xx status, counted.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        return metric_of(self._metric_subject(), "Invocation4XXErrors", options)

    def metric_invocation_5xx_errors(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were answered with a 5xx status, counted.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        return metric_of(self._metric_subject(), "Invocation5XXErrors", options)

    def metric_invocation_model_errors(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that the container did not answer with a 2xx status, counted:
        its time-outs, lost connections and malformed answers as well.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        return metric_of(self._metric_subject(), "InvocationModelErrors", options)

    def metric_model_latency(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that the container took to answer, in microseconds.

        It has percentiles, such as ``p99``.
        """
        return metric_of(self._metric_subject(), "ModelLatency", options)

    def metric_overhead_latency(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that SageMaker took beside the container, in microseconds.

        It has no percentiles.
        """
        return metric_of(self._metric_subject(), "OverheadLatency", options)

    def metric_mid_stream_errors(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Streams that broke after their first part, counted.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        return metric_of(self._metric_subject(), "MidStreamErrors", options)

    def metric_first_chunk_latency(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time to the first part of a streamed answer, in microseconds.

        It is documented for bidirectional streams; it has percentiles.
        """
        return metric_of(self._metric_subject(), "FirstChunkLatency", options)

    def metric_first_chunk_model_latency(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The container's share of the time to the first part, in microseconds.

        It is documented for bidirectional streams; it has percentiles.
        """
        return metric_of(self._metric_subject(), "FirstChunkModelLatency", options)

    def metric_first_chunk_overhead_latency(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        SageMaker's share of the time to the first part, in microseconds.

        It is documented for bidirectional streams; it has percentiles.
        """
        return metric_of(self._metric_subject(), "FirstChunkOverheadLatency", options)

    def metric_no_capacity_invocation_failures(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that came while there was no copy, or no instance, counted.

        An alarm on it wakes what has scaled to zero.
        """
        return metric_of(
            self._metric_subject(), "NoCapacityInvocationFailures", options
        )

    def metric_cpu_utilization_normalized(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The CPU cores' use, in percent from 0 to 100.

        Measured against what copies reserve, or against the limit where they
        reserve none.
        """
        return metric_of(self._metric_subject(), "CPUUtilizationNormalized", options)

    def metric_gpu_memory_utilization_normalized(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of GPU memory, in percent from 0 to 100.

        Measured against what copies reserve, or against the limit where they
        reserve none. Engines reserve most of it when they start.
        """
        return metric_of(
            self._metric_subject(), "GPUMemoryUtilizationNormalized", options
        )

    def metric_gpu_utilization_normalized(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The GPUs' use, in percent from 0 to 100.

        Measured against what copies reserve, or against the limit where they
        reserve none.
        """
        return metric_of(self._metric_subject(), "GPUUtilizationNormalized", options)

    def metric_memory_utilization_normalized(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of memory, in percent from 0 to 100.

        Measured against what copies reserve, or against the limit where they
        reserve none.
        """
        return metric_of(self._metric_subject(), "MemoryUtilizationNormalized", options)
