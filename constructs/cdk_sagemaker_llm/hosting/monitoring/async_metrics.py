"""
The metrics of an asynchronous endpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from cdk_sagemaker_llm.hosting.monitoring.metrics import metric_of

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.monitoring.metrics import (
        Subject,
        VariantMetricOptions,
    )


class AsyncMetrics:
    """
    The metrics of an asynchronous endpoint, one method each.
    """

    def _metric_subject(self, variant_name: str | None) -> Subject:
        raise NotImplementedError

    def metric_approximate_backlog_size(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The requests in the queue, those being processed included.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject.endpoint, "ApproximateBacklogSize", options)

    def metric_approximate_backlog_size_per_instance(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The requests in the queue for each instance, which scaling keeps near
        its target.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject.endpoint, "ApproximateBacklogSizePerInstance", options)

    def metric_approximate_age_of_oldest_request(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The age of the oldest request in the queue, in seconds.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject.endpoint, "ApproximateAgeOfOldestRequest", options)

    def metric_has_backlog_without_capacity(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Whether requests wait and no instance is there: 1 if so, else 0.

        An alarm on it wakes what has scaled to zero.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject.endpoint, "HasBacklogWithoutCapacity", options)

    def metric_request_download_failures(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that could not be read from their bucket, counted.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "RequestDownloadFailures", options)

    def metric_response_upload_failures(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Answers that could not be written to their bucket, counted.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "ResponseUploadFailures", options)

    def metric_notification_failures(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Notifications that could not be sent, counted.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "NotificationFailures", options)

    def metric_request_download_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that reading a request took, in microseconds.

        It has no percentiles.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "RequestDownloadLatency", options)

    def metric_response_upload_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that writing an answer took, in microseconds.

        It has no percentiles.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "ResponseUploadLatency", options)

    def metric_expired_requests(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that waited longer than they may, counted.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "ExpiredRequests", options)

    def metric_invocation_failures(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that failed for any reason, counted.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "InvocationFailures", options)

    def metric_invocations_processed(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were processed, counted.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "InvocationsProcessed", options)

    def metric_time_in_backlog(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that requests waited in the queue, in microseconds.

        It has no percentiles.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "TimeInBacklog", options)

    def metric_total_processing_time(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time from the request to its answer's notification, in milliseconds.

        It has no percentiles.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "TotalProcessingTime", options)
