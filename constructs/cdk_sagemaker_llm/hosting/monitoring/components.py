"""
The metrics of an inference component, and the alarms on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from cdk_sagemaker_llm.hosting.common.reporting import checked
from cdk_sagemaker_llm.hosting.monitoring.alarms import Evaluation, make_alarms
from cdk_sagemaker_llm.hosting.monitoring.metrics import metric_of

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.monitoring.metrics import MetricOptions, Subject


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


class ComponentAlarms:
    """
    The alarms of an inference component.
    """

    def _metric_subject(self) -> Subject:
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
        copies: int | None = None,
        no_capacity_failures: float | None = 1,
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
                seconds for one that is not streamed.

            overhead_latency_seconds:
                The average time that requests take beside the container.

            first_chunk_latency_seconds:
                The time to the first part that 99 of 100 bidirectional streams get.
                If omitted, there is no such alarm.

            gpu_memory_percent:
                The use of GPU memory, 0 to 100.
                If omitted, there is no such alarm: engines fill it on purpose.

            concurrency:
                The requests under way on one copy.
                If omitted, there is no such alarm.

            copies:
                So many copies or more, such as scaling's ``max_capacity``. They are
                counted by their requests: without traffic there is nothing to count.
                If omitted, there is no such alarm.

            no_capacity_failures:
                The requests of a period that come while no copy is there; while what
                has scaled to zero wakes, there are some.

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
            "copies": copies,
            "no_capacity_failures": no_capacity_failures,
        }
        evaluation = Evaluation(
            evaluation_periods=evaluation_periods,
            datapoints_to_alarm=datapoints_to_alarm,
            period=period,
            alarm_actions=alarm_actions,
            ok_actions=ok_actions,
            insufficient_data_actions=insufficient_data_actions,
        )
        subject = self._metric_subject()
        return make_alarms(subject, id, "components", thresholds, evaluation)
