"""
The metrics of a variant's requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from cdk_sagemaker_llm.hosting.monitoring.metrics import metric_of

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
    from cdk_sagemaker_llm.hosting.monitoring.options import VariantMetricOptions


class VariantRequestMetrics:
    """
    The metrics of a variant's requests, one method each.
    """

    def _metric_subject(self, variant_name: str | None) -> Subject:
        raise NotImplementedError

    def metric_invocations(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were sent to the variant, counted.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "Invocations", options)

    def metric_invocations_per_instance(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that each instance got, counted: the sum of a minute is what
        scaling on invocations keeps near its target.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "InvocationsPerInstance", options)

    def metric_concurrent_requests_per_model(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests under way at a time on each instance, those that wait in the
        container included; a stream counts until its last token.

        It comes every 10 seconds, with a minimum and a maximum alone.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "ConcurrentRequestsPerModel", options)

    def metric_invocation_4xx_errors(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were answered with a 4xx status, counted.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "Invocation4XXErrors", options)

    def metric_invocation_5xx_errors(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that were answered with a 5xx status, counted.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "Invocation5XXErrors", options)

    def metric_invocation_model_errors(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Requests that the container did not answer with a 2xx status, counted:
        its time-outs, lost connections and malformed answers as well.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "InvocationModelErrors", options)

    def metric_model_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that the container took to answer, in microseconds.

        It has percentiles, such as ``p99``.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "ModelLatency", options)

    def metric_overhead_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that SageMaker took beside the container, in microseconds.

        It has no percentiles.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "OverheadLatency", options)

    def metric_mid_stream_errors(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Streams that broke after their first part, counted.

        The ``Average`` is their share of all requests, from 0 to 1.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "MidStreamErrors", options)

    def metric_first_chunk_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time to the first part of a streamed answer, in microseconds.

        It is documented for bidirectional streams; it has percentiles.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "FirstChunkLatency", options)

    def metric_first_chunk_model_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The container's share of the time to the first part, in microseconds.

        It is documented for bidirectional streams; it has percentiles.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "FirstChunkModelLatency", options)

    def metric_first_chunk_overhead_latency(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        SageMaker's share of the time to the first part, in microseconds.

        It is documented for bidirectional streams; it has percentiles.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "FirstChunkOverheadLatency", options)

    def metric_model_setup_time(
        self, **options: Unpack[VariantMetricOptions]
    ) -> cloudwatch.Metric:
        """
        The time that a serverless endpoint took to start, in microseconds.

        Only endpoints that were made elsewhere can be serverless.
        """
        subject = self._metric_subject(options.pop("variant_name", None))
        return metric_of(subject, "ModelSetupTime", options)
