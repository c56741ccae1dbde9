"""
The alarms of a region, watched while time runs; ``simulation/alarms.py`` judges them.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from moto.cloudwatch.models import Alarm as KeptAlarm
from moto.cloudwatch.models import Dimension, MetricDataQuery

from cdk_sagemaker_llm.local.scaling.alarm_words import (
    ACTIONS,
    notification,
    reason,
    reason_data,
    region_name,
    stamp,
    subject,
)
from cdk_sagemaker_llm.simulation.alarms import ALARM, OK, Alarm, AlarmRule, Watch
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.from_api import alarm_rule
from cdk_sagemaker_llm.simulation.metrics import MetricDelays, Reader

_TOPIC = ":sns:"
_REMEMBERED = 1000  # Changes of state, of all alarms together.

Act = Callable[[str, Alarm], None]
# The topic, the message, its subject and the alarm's ARN.
Tell = Callable[[str, str, str, str], object]

# What moto calls the members of PutMetricAlarm, but for dimensions and queries.
ALARM_MEMBERS = {
    "name": "AlarmName",
    "description": "AlarmDescription",
    "namespace": "Namespace",
    "metric_name": "MetricName",
    "statistic": "Statistic",
    "extended_statistic": "ExtendedStatistic",
    "period": "Period",
    "evaluation_periods": "EvaluationPeriods",
    "datapoints_to_alarm": "DatapointsToAlarm",
    "comparison_operator": "ComparisonOperator",
    "threshold": "Threshold",
    "threshold_metric_id": "ThresholdMetricId",
    "unit": "Unit",
    "treat_missing_data": "TreatMissingData",
    "evaluate_low_sample_count_percentile": "EvaluateLowSampleCountPercentile",
    "actions_enabled": "ActionsEnabled",
    "alarm_actions": "AlarmActions",
    "ok_actions": "OKActions",
    "insufficient_data_actions": "InsufficientDataActions",
    "rule": "AlarmRule",
}

_TOKEN = re.compile(
    r"\s*(?:(?P<state>ALARM|OK|INSUFFICIENT_DATA)\s*\(\s*"
    r"(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^\")\s]+))\s*\)"
    r"|(?P<word>AND\b|OR\b|NOT\b|TRUE\b|FALSE\b|[()]))"
)
StateOf = Callable[[str], str | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """
    One change of an alarm's state, for its history.
    """

    alarm: str
    time: float
    before: str
    after: str
    reason: str
    is_composite: bool


class Alarms:
    """
    Watches every metric alarm that the engine understands, and composites of them.

    Args:
        act: Called with the ARN of each action of an alarm that is in ALARM: when it
            comes there and, as scaling is, every minute for as long as it stays.
        tell: Called with each topic that a change of state is to be told to.
    """

    def __init__(self, timeline: Timeline, read: Reader, act: Act, tell: Tell) -> None:
        self.history: deque[Change] = deque(maxlen=_REMEMBERED)
        self._timeline = timeline
        self._read = read
        self._act = act
        self._tell = tell
        self._delays = MetricDelays()
        self._kept: dict[str, KeptAlarm] = {}
        self._watches: dict[str, Watch] = {}
        self._joining: set[str] = set()

    def put(self, kept: KeptAlarm) -> None:
        """
        Watch an alarm that is new or has changed; it goes on from its state.
        """
        self.drop(kept.name)
        self._kept[kept.name] = kept
        kept.configuration_updated_timestamp = moment(self._timeline.now)
        if kept.rule is not None:
            why = f"{kept.alarm_arn} was created and its alarm rule was evaluated"
            self._judge(kept, why)
            return
        rule = rule_of(kept)
        if rule is None:
            return
        alarm = Alarm(rule)
        alarm.state = kept.state_value
        self._watches[kept.name] = Watch(
            self._timeline,
            alarm,
            read=self._read,
            delay=self._delays.of(rule.query),
            act=self._look,
        )

    def drop(self, name: str) -> None:
        self._kept.pop(name, None)
        watch = self._watches.pop(name, None)
        if watch is not None:
            watch.stop()

    def force(self, kept: KeptAlarm, before: str) -> None:
        """
        Take on a state that a client has set, until the next evaluation.

        A scaling policy reads the metric's value from the data that came with it, and
        does nothing without (API reference: SetAlarmState).
        """
        self._note(kept, before)
        watch = self._watches.get(kept.name)
        if watch is None:
            return
        watch.alarm.state = kept.state_value
        value = _newest(kept.state_reason_data)
        if value is not None and before != kept.state_value:
            watch.alarm.latest = value
            self._invoke(kept, watch.alarm)

    def _look(self, alarm: Alarm) -> None:
        kept = self._kept[alarm.rule.name]
        before = kept.state_value
        if alarm.state != before:
            data = reason_data(alarm, self._timeline.now)
            kept.update_state(reason(alarm), data, alarm.state)
            self._note(kept, before)
        self._invoke(kept, alarm)

    def _note(self, kept: KeptAlarm, before: str) -> None:
        now = self._timeline.now
        stamp = moment(now)
        kept.state_updated_timestamp = stamp
        kept.state_transitioned_timestamp = stamp  # type: ignore[attr-defined]  # shown if there
        kept.history.clear()  # It would grow for ever; the changes are kept here.
        self.history.append(
            Change(
                alarm=kept.name,
                time=now,
                before=before,
                after=kept.state_value,
                reason=kept.state_reason,
                is_composite=kept.rule is not None,
            )
        )
        if before != kept.state_value:
            self._notify(kept, before)
        self._join(f"{kept.alarm_arn} transitioned to {kept.state_value}")

    def _notify(self, kept: KeptAlarm, before: str) -> None:
        settings = spell_alarm(kept)
        actions = settings[ACTIONS[kept.state_value]] if kept.actions_enabled else None
        topics = [each for each in actions or () if _TOPIC in each]
        if not topics:
            return
        account = kept.alarm_arn.split(":")[4]
        updated = kept.configuration_updated_timestamp.replace(tzinfo=UTC)
        change = {
            "AWSAccountId": account,
            "AlarmConfigurationUpdatedTimestamp": stamp(updated.timestamp()),
            "NewStateValue": kept.state_value,
            "NewStateReason": kept.state_reason,
            "StateChangeTime": stamp(self._timeline.now),
            "Region": region_name(kept.region_name),
            "AlarmArn": kept.alarm_arn,
            "OldStateValue": before,
        }
        line = subject(kept.name, kept.state_value, kept.region_name)
        for topic in topics:
            self._tell(topic, notification(settings, change), line, kept.alarm_arn)

    def _join(self, news: str) -> None:
        # One that changes has those that are made of it looked at in turn.
        when = f"{moment(self._timeline.now):%A %d %B, %Y %H:%M:%S} UTC"
        for kept in [one for one in self._kept.values() if one.rule is not None]:
            if kept.name not in self._joining:
                self._joining.add(kept.name)
                self._judge(kept, f"{news} at {when}")
                self._joining.discard(kept.name)

    def _judge(self, kept: KeptAlarm, why: str) -> None:
        before = kept.state_value
        state = composite_state(str(kept.rule), self._state_of)
        if state is not None and state != before:
            kept.update_state(why, "{}", state)
            self._note(kept, before)

    def _state_of(self, name: str) -> str | None:
        found = self._kept.get(name)
        return None if found is None else found.state_value

    def _invoke(self, kept: KeptAlarm, alarm: Alarm) -> None:
        if alarm.state == ALARM and kept.actions_enabled:
            for action in list(kept.alarm_actions or ()):
                self._act(action, alarm)


def rule_of(alarm: KeptAlarm) -> AlarmRule | None:
    """
    Return when an alarm goes off; ``None`` if that cannot be computed here.

    Percentiles of others than the runtime's latencies, anomaly detection and functions
    of metric math that the engine does not know cannot.
    """
    if alarm.threshold is None or alarm.rule is not None:
        return None
    settings = {k: v for k, v in spell_alarm(alarm).items() if v is not None}
    try:
        return alarm_rule(settings, alarm.name)
    except ValueError:
        return None


def spell_metric(
    namespace: str | None, name: str | None, dimensions: Iterable[Dimension]
) -> dict[str, Any]:
    """
    Spell a metric of moto's as the API does.
    """
    return {
        "Namespace": namespace,
        "MetricName": name,
        "Dimensions": [{"Name": one.name, "Value": one.value} for one in dimensions],
    }


def spell_alarm(alarm: KeptAlarm) -> dict[str, Any]:
    """
    Spell an alarm of moto's as PutMetricAlarm takes it, with ``None`` for what is not.
    """
    return {
        **{member: getattr(alarm, name) for name, member in ALARM_MEMBERS.items()},
        **spell_metric(alarm.namespace, alarm.metric_name, alarm.dimensions or ()),
        "Metrics": [_spell_query(one) for one in alarm.metric_data_queries or ()],
    }


def _spell_query(query: MetricDataQuery) -> dict[str, Any]:
    spelled: dict[str, Any] = {
        "Id": query.id,
        "Label": query.label,
        "Period": query.period,
        "ReturnData": query.return_data,
    }
    stat = query.metric_stat
    if stat is None:
        return {**spelled, "Expression": query.expression}
    one = stat.metric
    spelled["MetricStat"] = {
        "Metric": spell_metric(one.namespace, one.metric_name, one.dimensions),
        "Period": stat.period,
        "Stat": stat.stat,
        "Unit": stat.unit,
    }
    return spelled


def moment(time: float) -> datetime:
    """
    Return a time as moto keeps them: in UTC, without saying so.
    """
    return datetime.fromtimestamp(time, UTC).replace(tzinfo=None)


def _newest(data: str | None) -> float | None:
    try:
        return float(json.loads(data or "{}")["recentDatapoints"][-1])
    except (ValueError, TypeError, LookupError):
        return None


def composite_state(rule: str, state_of: StateOf) -> str | None:
    """
    Return the state of a composite alarm; ``None`` if its rule cannot be read.
    """
    try:
        return ALARM if _Reading(rule, state_of).result() else OK
    except (ValueError, IndexError):
        return None


class _Reading:
    """
    One rule, read from left to right; NOT binds closest, then AND, then OR.
    """

    def __init__(self, rule: str, state_of: StateOf) -> None:
        self._tokens = list(_tokens(rule, state_of))

    def result(self) -> bool:
        value = self._any()
        if self._tokens:
            raise ValueError(self._tokens[0])
        return value

    def _any(self) -> bool:
        value = self._all()
        while self._tokens and self._tokens[0] == "OR":
            del self._tokens[0]
            value = self._all() or value
        return value

    def _all(self) -> bool:
        value = self._one()
        while self._tokens and self._tokens[0] == "AND":
            del self._tokens[0]
            value = self._one() and value
        return value

    def _one(self) -> bool:
        token = self._tokens.pop(0)
        if token == "NOT":  # noqa: S105 - a word of the language
            return not self._one()
        if token == "(":  # noqa: S105 - the same
            value = self._any()
            if self._tokens.pop(0) != ")":
                raise ValueError(token)
            return value
        if token not in {"TRUE", "FALSE"}:
            raise ValueError(token)
        return token == "TRUE"  # noqa: S105 - the same


def _tokens(rule: str, state_of: StateOf) -> list[str]:
    found, place, text = [], 0, rule.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(text[place:])
        if match["state"]:
            name = (match["quoted"] or match["plain"]).rpartition(":alarm:")[2]
            met = state_of(name) == match["state"]
            found.append("TRUE" if met else "FALSE")
        else:
            found.append(match["word"])
        place = match.end()
    return found
