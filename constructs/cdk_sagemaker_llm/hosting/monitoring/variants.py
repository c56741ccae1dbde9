"""
The metrics of an endpoint's variants, of their requests and of their instances, and the
alarms on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from cdk_sagemaker_llm.hosting.common.reporting import checked
from cdk_sagemaker_llm.hosting.monitoring.alarms import Evaluation, make_alarms
from cdk_sagemaker_llm.hosting.monitoring.metrics import metric_of, normalised

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.monitoring.metrics import (
        Subject,
        VariantMetricOptions,
    )


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


class VariantMetrics(VariantRequestMetrics, VariantInstanceMetrics):
    """
    The metrics of an endpoint's variants.
    """


class VariantAlarms:
    """
    The alarms of an endpoint's variants.
    """

    def _metric_subject(self, variant_name: str | None) -> Subject:
        raise NotImplementedError

    @checked
    def add_alarms(
        self,
        id: str = "Alarms",
        *,
        server_error_rate: float | None = 0.05,
        model_error_rate: float | None = 0.05,
        mid_stream_error_rate: float | None = 0.05,
        client_error_rate: float | None = None,
        model_latency_seconds: float | None = 50,
        overhead_latency_seconds: float | None = 1,
        first_chunk_latency_seconds: float | None = None,
        gpu_memory_percent: float | None = None,
        concurrency: float | None = None,
        instances: int | None = None,
        backlog_per_instance: float | None = None,
        variant_name: str | None = None,
        period: Duration | None = None,
        evaluation_periods: int = 5,
        datapoints_to_alarm: int = 3,
        alarm_actions: Sequence[cloudwatch.IAlarmAction] = (),
        ok_actions: Sequence[cloudwatch.IAlarmAction] = (),
        insufficient_data_actions: Sequence[cloudwatch.IAlarmAction] = (),
    ) -> dict[str, cloudwatch.Alarm]:
        """
        Raise alarms where requests fail, or take too long.

        Each threshold is one alarm, and ``None`` is none. Where there is no traffic,
        none goes off.

        Args:
            id: The id of the alarms together, for another call.

            server_error_rate: The share of requests with a 5xx status, 0 to 1.

            model_error_rate:
                The share of requests that the container does not answer, 0 to 1.

            mid_stream_error_rate: The share of requests whose stream breaks, 0 to 1.

            client_error_rate:
                The share of requests with a 4xx status, 0 to 1.
                If omitted, there is no such alarm: the fault is the callers'.

            model_latency_seconds:
                The time to an answer that 99 of 100 requests get; SageMaker waits 60
                seconds for one that is not streamed, and an hour for asynchronous ones.

            overhead_latency_seconds:
                The average time that requests take beside the container.

            first_chunk_latency_seconds:
                The time to the first part that 99 of 100 bidirectional streams get.
                If omitted, there is no such alarm.

            gpu_memory_percent:
                The use of GPU memory, 0 to 100.
                If omitted, there is no such alarm: engines fill it on purpose.

            concurrency:
                The requests under way on one instance.
                If omitted, there is no such alarm.

            instances:
                So many instances or more, such as scaling's ``max_capacity``. They are
                counted by their requests: without traffic there is nothing to count.
                If omitted, there is no such alarm.

            backlog_per_instance:
                The requests in an asynchronous endpoint's queue, for each instance.
                If omitted, there is no such alarm.

            variant_name:
                Which variant; give the alarms of another an ``id`` of their own.
                If omitted, it is the only one.

            period:
                The time that one value stands for.
                If omitted, it is a minute.

            evaluation_periods: Of how many periods an alarm looks at the values.

            datapoints_to_alarm: How many of them must be too much.

            alarm_actions: What is done when an alarm goes off: ``[SnsAction(topic)]``.

            ok_actions: What is done when it is over.

            insufficient_data_actions: What is done when there is nothing to judge by.

        Returns:
            The alarms by their thresholds' keywords.

        Raises:
            ValueError: If a threshold, or the evaluation, is impossible.
        """
        thresholds = {
            "server_error_rate": server_error_rate,
            "model_error_rate": model_error_rate,
            "mid_stream_error_rate": mid_stream_error_rate,
            "client_error_rate": client_error_rate,
            "model_latency_seconds": model_latency_seconds,
            "overhead_latency_seconds": overhead_latency_seconds,
            "first_chunk_latency_seconds": first_chunk_latency_seconds,
            "gpu_memory_percent": gpu_memory_percent,
            "concurrency": concurrency,
            "instances": instances,
            "backlog_per_instance": backlog_per_instance,
        }
        evaluation = Evaluation(
            evaluation_periods=evaluation_periods,
            datapoints_to_alarm=datapoints_to_alarm,
            period=period,
            alarm_actions=alarm_actions,
            ok_actions=ok_actions,
            insufficient_data_actions=insufficient_data_actions,
        )
        subject = self._metric_subject(variant_name)
        return make_alarms(subject, id, "variants", thresholds, evaluation)
