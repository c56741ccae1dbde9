"""
The metrics of endpoints and inference components, one method for each that the service
publishes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from cdk_sagemaker_llm.hosting.monitoring.metrics import metric_of, normalised

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.monitoring.metrics import (
        MetricOptions,
        Subject,
        VariantMetricOptions,
    )


class RequestMetrics:
    """
    The metrics of requests, which endpoints and components have in common.
    """

    def _metric_subject(self, variant_name: str | None) -> Subject:
        raise NotImplementedError

    def _metric(self, name: str, options: VariantMetricOptions) -> cloudwatch.Metric:
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, name, options)

    def metric_invocations(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were sent to the endpoint or the component, counted.
        """
        return self._metric("Invocations", options)

    def metric_invocation_4xx_errors(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were answered with a 4xx status, counted.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        return self._metric("Invocation4XXErrors", options)

    def metric_invocation_5xx_errors(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were answered with a 5xx status, counted.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        return self._metric("Invocation5XXErrors", options)

    def metric_invocation_model_errors(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that the container did not answer with a 2xx status, counted:
        its time-outs, lost connections and malformed answers as well.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        return self._metric("InvocationModelErrors", options)

    def metric_mid_stream_errors(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Streams that broke after their first part, counted.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        return self._metric("MidStreamErrors", options)

    def metric_model_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that the container took to answer, in microseconds.

        It has percentiles, such as ``p99``.
        """
        return self._metric("ModelLatency", options)

    def metric_overhead_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that SageMaker took beside the container, in microseconds.

        It has no percentiles.
        """
        return self._metric("OverheadLatency", options)

    def metric_first_chunk_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time to the first part of a streamed answer, in microseconds.

        It is documented for bidirectional streams; it has percentiles.
        """
        return self._metric("FirstChunkLatency", options)

    def metric_first_chunk_model_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The container's share of the time to the first part, in microseconds.

        It is documented for bidirectional streams; it has percentiles.
        """
        return self._metric("FirstChunkModelLatency", options)

    def metric_first_chunk_overhead_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        SageMaker's share of the time to the first part, in microseconds.

        It is documented for bidirectional streams; it has percentiles.
        """
        return self._metric("FirstChunkOverheadLatency", options)


class ComponentMetrics(RequestMetrics):
    """
    The metrics of an inference component, one method each.
    """

    def _of_copies(self, name: str, options: MetricOptions) -> cloudwatch.Metric:
        return metric_of(self._metric_subject(None), name, options)

    def metric_invocations_per_copy(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that each copy got, counted: the sum of a minute is what
        scaling on invocations keeps near its target.
        """
        return self._of_copies("InvocationsPerCopy", options)

    def metric_concurrent_requests_per_copy(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests under way at a time on each copy, those that wait in the
        container included; a stream counts until its last token.

        It comes every 10 seconds, with a minimum and a maximum alone.
        """
        return self._of_copies("ConcurrentRequestsPerCopy", options)

    def metric_no_capacity_invocation_failures(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that came while there was no copy, or no instance, counted.

        An alarm on it wakes what has scaled to zero.
        """
        return self._of_copies("NoCapacityInvocationFailures", options)

    def metric_cpu_utilization_normalized(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The CPU cores' use, in percent from 0 to 100.

        Measured against what copies reserve, or against the limit where they
        reserve none.
        """
        return self._of_copies("CPUUtilizationNormalized", options)

    def metric_gpu_utilization_normalized(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The GPUs' use, in percent from 0 to 100.

        Measured against what copies reserve, or against the limit where they
        reserve none.
        """
        return self._of_copies("GPUUtilizationNormalized", options)

    def metric_gpu_memory_utilization_normalized(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of GPU memory, in percent from 0 to 100.

        Measured against what copies reserve, or against the limit where they
        reserve none. Engines reserve most of it when they start.
        """
        return self._of_copies("GPUMemoryUtilizationNormalized", options)

    def metric_memory_utilization_normalized(
        self, **options: Unpack[MetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of memory, in percent from 0 to 100.

        Measured against what copies reserve, or against the limit where they
        reserve none.
        """
        return self._of_copies("MemoryUtilizationNormalized", options)


class VariantMetrics(RequestMetrics):
    """
    The metrics of an endpoint's variants, of their requests and of their instances, one
    method each.
    """

    def _normalised(
        self, name: str, options: VariantMetricOptions
    ) -> cloudwatch.Metric | cloudwatch.MathExpression:
        subject = self._metric_subject(options.pop("variant_name", None))
        return normalised(subject, name, options)

    def metric_invocations_per_instance(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that each instance got, counted: the sum of a minute is what
        scaling on invocations keeps near its target.
        """
        return self._metric("InvocationsPerInstance", options)

    def metric_concurrent_requests_per_model(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests under way at a time on each instance, those that wait in the
        container included; a stream counts until its last token.

        It comes every 10 seconds, with a minimum and a maximum alone.
        """
        return self._metric("ConcurrentRequestsPerModel", options)

    def metric_model_setup_time(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that a serverless endpoint took to start, in microseconds.

        Only endpoints that were made elsewhere can be serverless.
        """
        return self._metric("ModelSetupTime", options)

    def metric_cpu_reservation(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The CPU cores that components reserve, in percent from 0 to 100.

        Of hosts of components.
        """
        return self._metric("CPUReservation", options)

    def metric_cpu_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The CPU cores' use, in percent from 0 to 100 times the cores.
        """
        return self._metric("CPUUtilization", options)

    def metric_cpu_utilization_normalized(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric | cloudwatch.MathExpression:
        """
        The CPU cores' use, in percent from 0 to 100.

        SageMaker publishes it of hosts of components; where a model fills the
        instances, it is computed from the raw metric and their type.
        """
        return self._normalised("CPUUtilizationNormalized", options)

    def metric_disk_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of the disk, in percent from 0 to 100.
        """
        return self._metric("DiskUtilization", options)

    def metric_gpu_memory_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of GPU memory, in percent from 0 to 100 times the GPUs.

        Engines reserve most of it when they start.
        """
        return self._metric("GPUMemoryUtilization", options)

    def metric_gpu_memory_utilization_normalized(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric | cloudwatch.MathExpression:
        """
        The use of GPU memory, in percent from 0 to 100.

        SageMaker publishes it of hosts of components; where a model fills the
        instances, it is computed from the raw metric and their type. Engines
        reserve most of it when they start.
        """
        return self._normalised("GPUMemoryUtilizationNormalized", options)

    def metric_gpu_reservation(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The accelerators that components reserve, in percent from 0 to 100.

        Of hosts of components.
        """
        return self._metric("GPUReservation", options)

    def metric_gpu_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The GPUs' use, in percent from 0 to 100 times the GPUs.
        """
        return self._metric("GPUUtilization", options)

    def metric_gpu_utilization_normalized(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric | cloudwatch.MathExpression:
        """
        The GPUs' use, in percent from 0 to 100.

        SageMaker publishes it of hosts of components; where a model fills the
        instances, it is computed from the raw metric and their type.
        """
        return self._normalised("GPUUtilizationNormalized", options)

    def metric_memory_reservation(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The memory that components reserve, in percent from 0 to 100.

        Of hosts of components.
        """
        return self._metric("MemoryReservation", options)

    def metric_memory_utilization(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The use of memory, in percent from 0 to 100.
        """
        return self._metric("MemoryUtilization", options)


class AsyncMetrics(RequestMetrics):
    """
    The metrics of an asynchronous endpoint, one method each.
    """

    def _of_queue(self, name: str, options: VariantMetricOptions) -> cloudwatch.Metric:
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject.endpoint, name, options)

    def metric_approximate_backlog_size(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The requests in the queue, those being processed included.
        """
        return self._of_queue("ApproximateBacklogSize", options)

    def metric_approximate_backlog_size_per_instance(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The requests in the queue for each instance, which scaling keeps near
        its target.
        """
        return self._of_queue("ApproximateBacklogSizePerInstance", options)

    def metric_approximate_age_of_oldest_request(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The age of the oldest request in the queue, in seconds.
        """
        return self._of_queue("ApproximateAgeOfOldestRequest", options)

    def metric_has_backlog_without_capacity(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Whether requests wait and no instance is there: 1 if so, else 0.

        An alarm on it wakes what has scaled to zero.
        """
        return self._of_queue("HasBacklogWithoutCapacity", options)

    def metric_request_download_failures(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that could not be read from their bucket, counted.
        """
        return self._metric("RequestDownloadFailures", options)

    def metric_response_upload_failures(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Answers that could not be written to their bucket, counted.
        """
        return self._metric("ResponseUploadFailures", options)

    def metric_notification_failures(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Notifications that could not be sent, counted.
        """
        return self._metric("NotificationFailures", options)

    def metric_request_download_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that reading a request took, in microseconds.

        It has no percentiles.
        """
        return self._metric("RequestDownloadLatency", options)

    def metric_response_upload_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that writing an answer took, in microseconds.

        It has no percentiles.
        """
        return self._metric("ResponseUploadLatency", options)

    def metric_expired_requests(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that waited longer than they may, counted.
        """
        return self._metric("ExpiredRequests", options)

    def metric_invocation_failures(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that failed for any reason, counted.
        """
        return self._metric("InvocationFailures", options)

    def metric_invocations_processed(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were processed, counted.
        """
        return self._metric("InvocationsProcessed", options)

    def metric_time_in_backlog(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that requests waited in the queue, in microseconds.

        It has no percentiles.
        """
        return self._metric("TimeInBacklog", options)

    def metric_total_processing_time(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time from the request to its answer's notification, in milliseconds.

        It has no percentiles.
        """
        return self._metric("TotalProcessingTime", options)
