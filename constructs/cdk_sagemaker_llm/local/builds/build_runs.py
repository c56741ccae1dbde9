"""
A build's life: its phases, run by a thread of its own.

What fails, and what follows it, is CodeBuild's: https://docs.aws.amazon.com/codebuild/
latest/userguide/view-build-details-phases.html. Its words are those of its logs, as in
awslabs/aws-deployment-framework#471.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from cdk_sagemaker_llm.local.aws.clock import CLOCK, now
from cdk_sagemaker_llm.local.aws.surroundings import Surroundings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds import build_records, guard
from cdk_sagemaker_llm.local.builds.build_inputs import (
    PhaseError,
    Variables,
    bring_source,
    read_buildspec,
    surroundings,
)
from cdk_sagemaker_llm.local.builds.build_records import Build

_NOT_INSTALLED = (
    "The embedded AWS does not run the commands of the phase INSTALL: packages are "
    "those of the Python that it runs on itself"
)
# What the commands' exit status came from, if CodeBuild's own ending was not it.
_ENDINGS = {
    build_records.STOPPED: ("", "Build has been stopped."),
    build_records.TIMED_OUT: ("BUILD_TIMED_OUT", "Build has timed out. "),
}
_SILENT = frozenset({"SUBMITTED", "QUEUED", "PROVISIONING"})
_LATE = 1.0  # Seconds for lines that are on their way when a command ends.


class Run:
    """
    The running of one build.

    Args:
        build: The build.

        around: The other services of its place.

        tell: Called when the build's status has changed.
    """

    def __init__(
        self, build: Build, around: Surroundings, tell: Callable[[Build], None]
    ) -> None:
        self._build = build
        self._around = around
        self._tell = tell
        self._group: Group | None = None
        self._readers: list[threading.Thread] = []
        self._ending: str | None = None
        self._hide: Callable[[str], str] = lambda line: line

    def start(self) -> None:
        """
        Begin, with the lock held, which the build itself does not hold.
        """
        for kind in ("SUBMITTED", "QUEUED", "PROVISIONING"):
            self._build.phases.append(build_records.begun(kind))
            self._close_phase(build_records.SUCCEEDED)
        self._build.phases.append(build_records.begun("DOWNLOAD_SOURCE"))
        self._tell(self._build)
        threading.Thread(target=self._live, daemon=True).start()

    def stop(self) -> None:
        """
        End the build, with the lock held.
        """
        self._end_as(build_records.STOPPED)

    def _end_as(self, status: str) -> None:
        if self._build.is_over or self._ending is not None:
            return
        self._ending = status
        if self._group is not None:
            self._group.kill()

    def _time_out(self) -> None:
        with CLOCK.lock:
            self._end_as(build_records.TIMED_OUT)

    def _live(self) -> None:
        speed = CLOCK.speed or 1.0
        limit = threading.Timer(self._build.timeout / speed, self._time_out)
        limit.daemon = True
        limit.start()
        status = build_records.FAULT
        try:
            with tempfile.TemporaryDirectory(
                prefix="embedded-build-", ignore_cleanup_errors=True
            ) as folder:
                status = self._work(Path(folder).resolve())
        except Exception:  # noqa: BLE001 - a fault of the service's own
            traceback.print_exc()
        finally:
            limit.cancel()
            self._finish(status)

    def _work(self, root: Path) -> str:
        group = Group()
        with CLOCK.lock:
            self._group = group
            if self._ending is not None:
                group.kill()
        try:
            return self._run_phases(root)
        except PhaseError as error:
            status = self._ending or build_records.FAILED
            self._close_phase(status, error.code, error.message)
            return build_records.FAILED
        finally:
            with CLOCK.lock:
                self._group = None
                group.kill()
            for reader in self._readers:
                reader.join(_LATE)

    def _run_phases(self, root: Path) -> str:
        folder = root / "src"
        folder.mkdir()
        bring_source(self._build, self._around, folder)
        spec = read_buildspec(str(self._build.request["source"].get("buildspec") or ""))
        variables = Variables(self._build)
        self._hide = variables.hide
        self._close_phase(build_records.SUCCEEDED)
        self._open_phase("INSTALL")
        if spec.install:
            self._say(_NOT_INSTALLED)
        for command in spec.install:
            self._say(f"Not run: {command}")
        self._close_phase(build_records.SUCCEEDED)
        self._pass("PRE_BUILD")
        self._open_phase("BUILD")
        environment = {**surroundings(self._build, root, folder), **variables.values}
        try:
            for command in spec.build:
                self._run(command, folder, environment)
        except PhaseError as error:
            if self._ending is not None:
                raise
            self._close_phase(build_records.FAILED, error.code, error.message)
            self._pass("POST_BUILD")
            return build_records.FAILED
        self._close_phase(build_records.SUCCEEDED)
        self._pass("POST_BUILD")
        self._pass("UPLOAD_ARTIFACTS")
        return build_records.SUCCEEDED

    def _run(self, command: str, folder: Path, environment: dict[str, str]) -> None:
        self._say(f"Running command {command}")
        try:
            reason = self._reason(command, folder, environment)
        except (OSError, ValueError) as error:
            # The second of variables that no process can have.
            reason = str(error)
        if self._ending is not None:
            raise PhaseError(*_ENDINGS[self._ending])
        if reason:
            self._say(f"Command did not exit successfully {command} {reason}")
            raise PhaseError(
                "COMMAND_EXECUTION_ERROR",
                f"Error while executing command: {command}. Reason: {reason}",
            )

    def _reason(self, command: str, folder: Path, environment: dict[str, str]) -> str:
        """
        Run a command and return why it failed; nothing if it did not.
        """
        with CLOCK.lock:
            if self._ending is not None or self._group is None:
                return ""
            process = self._group.start(
                ["bash", "--noprofile", "--norc", "-c", command],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._readers.append(reader)
        reader.start()
        code = process.wait()
        # What it has started in the background may keep the output open.
        reader.join(_LATE)
        if code < 0:
            return f"signal: {_signal_name(-code)}"
        return f"exit status {code}" if code else ""

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdout is None:
            return
        with process.stdout:
            for line in process.stdout:
                self._print([line.rstrip(b"\r\n").decode(errors="replace")])

    def _open_phase(self, kind: str) -> None:
        self._say(f"Entering phase {kind}")
        with CLOCK.lock:
            self._build.phases.append(build_records.begun(kind))

    def _pass(self, kind: str) -> None:
        self._open_phase(kind)
        self._close_phase(build_records.SUCCEEDED)

    def _close_phase(self, status: str, code: str = "", message: str = "") -> None:
        with CLOCK.lock:
            phase = self._build.phases[-1]
            phase.end = max(now(), phase.start)
            phase.status = status
            phase.code, phase.message = self._hide(code), self._hide(message)
        if phase.type in _SILENT:
            return
        self._say(f"Phase complete: {phase.type} State: {status}")
        self._say(f"Phase context status code: {code} Message: {message}")

    def _finish(self, status: str) -> None:
        with CLOCK.lock:
            build = self._build
            ending = self._ending or status
            for kind in ("FINALIZING", "COMPLETED"):
                build.phases.append(build_records.begun(kind))
                if kind == "FINALIZING":
                    phase = build.phases[-1]
                    phase.end, phase.status = now(), build_records.SUCCEEDED
            build.status = ending
            build.ended = max(now(), build.started)
            self._tell(build)
            CLOCK.lock.notify_all()

    def _say(self, words: str) -> None:
        stamp = datetime.fromtimestamp(CLOCK.now, UTC).strftime("%Y/%m/%d %H:%M:%S.%f")
        self._print(f"[Container] {stamp} {words}".split("\n"))

    def _print(self, lines: list[str]) -> None:
        with CLOCK.lock:
            self._around.write_log(
                self._build.log_group,
                self._build.log_stream,
                [self._hide(line) for line in lines],
                CLOCK.now,
            )


def _signal_name(number: int) -> str:
    # As Go has them, in which CodeBuild's agent is written.
    if number == signal.SIGKILL:
        return "killed"
    return str(signal.strsignal(number) or number).lower()


class Group:
    """
    A process group whose leader watches over this process.
    """

    def __init__(self) -> None:
        self._leader = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__],
            stdin=subprocess.PIPE,  # Its end is this process's end.
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        if self._leader.stdout is not None:
            # It takes no more signals from here on, and is there for others to join.
            self._leader.stdout.read(1)

    def start(self, command: list[str], **settings: Untyped) -> subprocess.Popen[bytes]:
        """
        Start a process in the group; the settings are those of ``Popen``.

        Raises:
            OSError: If the group was killed, or there is no such program.
        """
        leader = self._leader.pid
        process: Untyped = subprocess.Popen(command, process_group=leader, **settings)
        started: subprocess.Popen[bytes] = process
        return started

    def kill(self) -> None:
        """
        Kill what is left of the group, and its leader.
        """
        with contextlib.suppress(PermissionError):
            guard.tell(self._leader.pid, signal.SIGKILL)
        self._leader.wait()
        for pipe in (self._leader.stdin, self._leader.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
