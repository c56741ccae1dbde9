"""
The alarms of an endpoint's variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.monitoring.alarms import Evaluation, make_alarms

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject


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
                If left out, there is no such alarm: the fault is the callers'.

            model_latency_seconds:
                The time to an answer that 99 of 100 requests get; SageMaker waits 60
                seconds for one that is not streamed, and an hour for asynchronous ones.

            overhead_latency_seconds:
                The average time that requests take beside the container.

            first_chunk_latency_seconds:
                The time to the first part that 99 of 100 bidirectional streams get.
                If left out, there is no such alarm.

            gpu_memory_percent:
                The use of GPU memory, 0 to 100.
                If left out, there is no such alarm: engines fill it on purpose.

            concurrency:
                The requests under way on one instance.
                If left out, there is no such alarm.

            instances:
                So many instances or more, such as scaling's ``max_capacity``. They are
                counted by their requests: without traffic there is nothing to count.
                If left out, there is no such alarm.

            backlog_per_instance:
                The requests in an asynchronous endpoint's queue, for each instance.
                If left out, there is no such alarm.

            variant_name:
                Which variant; give the alarms of another an ``id`` of their own.
                If left out, it is the only one.

            period:
                The time that one value stands for.
                If left out, it is a minute.

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
