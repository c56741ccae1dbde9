"""
A build's life: its phases, run by a thread of its own.

What fails, and what follows it, is CodeBuild's: https://docs.aws.amazon.com/codebuild/
latest/userguide/view-build-details-phases.html. Its words are those of its logs, as in
awslabs/aws-deployment-framework#471.
"""

from __future__ import annotations

import tempfile
import threading
import traceback
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from cdk_sagemaker_llm.local.clock import CLOCK, now
from cdk_sagemaker_llm.local.codebuild import records, source
from cdk_sagemaker_llm.local.codebuild.buildspec import Buildspec, BuildspecError
from cdk_sagemaker_llm.local.codebuild.buildspec import Phase as PhaseSpec
from cdk_sagemaker_llm.local.codebuild.records import Build
from cdk_sagemaker_llm.local.codebuild.shell import Shell
from cdk_sagemaker_llm.local.codebuild.source import SourceError
from cdk_sagemaker_llm.local.codebuild.variables import (
    VariableError,
    Variables,
    surroundings,
)
from cdk_sagemaker_llm.local.groups import Group
from cdk_sagemaker_llm.local.sagemaker.surroundings import Surroundings

_NOT_INSTALLED = (
    "The embedded AWS does not run the commands of the phase INSTALL: packages are "
    "those of the Python that it runs on itself"
)
# What the commands' exit status came from, if CodeBuild's own ending was not it.
_ENDINGS = {
    records.STOPPED: ("", "Build has been stopped."),
    records.TIMED_OUT: ("BUILD_TIMED_OUT", "Build has timed out. "),
}


class _FailedError(Exception):
    """
    A phase that failed: CodeBuild's code and words.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


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
        self._shell: Shell | None = None
        self._ending: str | None = None
        self._hide: Callable[[str], str] = lambda line: line

    def start(self) -> None:
        """
        Begin, with the lock held, which the build itself does not hold.
        """
        for kind in ("SUBMITTED", "QUEUED", "PROVISIONING"):
            self._build.phases.append(records.begun(kind))
            self._close_phase(records.SUCCEEDED)
        self._build.phases.append(records.begun("DOWNLOAD_SOURCE"))
        self._tell(self._build)
        threading.Thread(target=self._live, daemon=True).start()

    def stop(self) -> None:
        """
        End the build, with the lock held.
        """
        self._end_as(records.STOPPED)

    def _end_as(self, status: str) -> None:
        if self._build.is_over or self._ending is not None:
            return
        self._ending = status
        if self._group is not None:
            self._group.kill()

    def _time_out(self) -> None:
        with CLOCK.lock:
            self._end_as(records.TIMED_OUT)

    def _live(self) -> None:
        speed = CLOCK.speed or 1.0
        limit = threading.Timer(self._build.timeout / speed, self._time_out)
        limit.daemon = True
        limit.start()
        status = records.FAULT
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
        folder = root / "src"
        folder.mkdir()
        self._begin_group()
        try:
            return self._phases(root, folder)
        finally:
            if self._shell is not None:
                self._end_group()
                self._shell.close()
            self._end_group()

    def _phases(self, root: Path, folder: Path) -> str:
        try:
            spec = self._download(folder)
            variables = Variables(self._build, spec)
        except (SourceError, BuildspecError, VariableError) as error:
            code = (
                "YAML_FILE_ERROR"
                if isinstance(error, BuildspecError)
                else ("CLIENT_ERROR")
            )
            self._phase_failed(_FailedError(code, str(error)))
            return records.FAILED
        self._hide = variables.hide
        self._close_phase(records.SUCCEEDED)
        self._install(spec)
        environment = {
            **surroundings(self._build, root, folder),
            "CODEBUILD_BUILD_SUCCEEDING": "1",
            **variables.given,
        }
        steps = root / "steps"
        steps.mkdir()

        def shell() -> Shell:
            return Shell(self._living_group(), folder, steps, environment, self._print)

        good = self._commands("PRE_BUILD", spec.phases.get("pre_build"), shell)
        goes_on = good or spec.phases["pre_build"].goes_on
        if goes_on and self._ending is None:
            built = self._commands("BUILD", spec.phases.get("build"), shell)
            good = good and built
            environment["CODEBUILD_BUILD_SUCCEEDING"] = "1" if good else "0"
            if self._ending is None:
                said = f"export CODEBUILD_BUILD_SUCCEEDING={int(good)}"
                last = self._commands(
                    "POST_BUILD", spec.phases.get("post_build"), shell, said
                )
                good = good and last
        if good:
            self._pass("UPLOAD_ARTIFACTS")
        return records.SUCCEEDED if good else records.FAILED

    def _download(self, folder: Path) -> Buildspec:
        source.bring(self._build, self._around, folder)
        return source.spec(self._build, folder)

    def _install(self, spec: Buildspec) -> None:
        self._open_phase("INSTALL")
        phase = spec.phases.get("install")
        if phase is not None and (phase.commands or phase.last):
            self._say(_NOT_INSTALLED)
            for command in (*phase.commands, *phase.last):
                self._say(f"Not run: {command}")
        self._close_phase(records.SUCCEEDED)

    def _pass(self, kind: str) -> None:
        self._open_phase(kind)
        self._close_phase(records.SUCCEEDED)

    def _commands(
        self,
        kind: str,
        phase: PhaseSpec | None,
        shell: Callable[[], Shell],
        before: str = "",
    ) -> bool:
        self._open_phase(kind)
        failure: _FailedError | None = None
        phase = phase or PhaseSpec()
        try:
            if before and phase.commands:
                self._run_command(before, shell, is_shown=False)
            self._run_all(phase.commands, shell)
        except _FailedError as error:
            failure = error
        try:
            self._run_all(phase.last, shell)
        except _FailedError as error:
            failure = failure or error
        if failure is not None:
            self._phase_failed(failure)
            return False
        self._close_phase(records.SUCCEEDED)
        return True

    def _run_all(self, commands: Iterable[str], shell: Callable[[], Shell]) -> None:
        for command in commands:
            self._run_command(command, shell)

    def _run_command(
        self, command: str, shell: Callable[[], Shell], *, is_shown: bool = True
    ) -> None:
        if is_shown:
            self._say(f"Running command {command}")
        try:
            # An earlier command may have ended the shell that it was run in.
            if self._shell is None or not self._shell.is_there:
                if self._shell is not None:
                    self._shell.close()
                self._shell = shell()
            reason = self._shell.run(command)
        except (OSError, ValueError) as error:
            # The second of variables that no process can have.
            reason = str(error)
        if self._ending is not None:
            raise _FailedError(*_ENDINGS[self._ending])
        if reason:
            self._say(f"Command did not exit successfully {command} {reason}")
            raise _FailedError(
                "COMMAND_EXECUTION_ERROR",
                f"Error while executing command: {command}. Reason: {reason}",
            )

    def _begin_group(self) -> None:
        group = Group()
        with CLOCK.lock:
            self._group = group
            if self._ending is not None:
                group.kill()

    def _living_group(self) -> Group:
        with CLOCK.lock:
            if self._ending is not None or self._group is None:
                raise ProcessLookupError("the build is over")
            return self._group

    def _end_group(self) -> None:
        with CLOCK.lock:
            group, self._group = self._group, None
            if group is not None:
                group.kill()

    def _open_phase(self, kind: str) -> None:
        self._say(f"Entering phase {kind}")
        with CLOCK.lock:
            self._build.phases.append(records.begun(kind))

    def _phase_failed(self, failure: _FailedError) -> None:
        status = self._ending or records.FAILED
        self._close_phase(status, failure.code, failure.message)

    def _close_phase(self, status: str, code: str = "", message: str = "") -> None:
        with CLOCK.lock:
            phase = self._build.phases[-1]
            phase.end = max(now(), phase.start)
            phase.status = status
            phase.code, phase.message = self._hide(code), self._hide(message)
        if phase.type in {"SUBMITTED", "QUEUED", "PROVISIONING"}:
            return
        self._say(f"Phase complete: {phase.type} State: {status}")
        self._say(f"Phase context status code: {code} Message: {message}")

    def _finish(self, status: str) -> None:
        with CLOCK.lock:
            build = self._build
            ending = self._ending or status
            for kind in ("FINALIZING", "COMPLETED"):
                build.phases.append(records.begun(kind))
                if kind == "FINALIZING":
                    phase = build.phases[-1]
                    phase.end, phase.status = now(), records.SUCCEEDED
            build.status = ending
            build.ended = max(now(), build.started)
            self._tell(build)
            CLOCK.lock.notify_all()

    def _say(self, words: str) -> None:
        stamp = datetime.fromtimestamp(CLOCK.now, UTC).strftime("%Y/%m/%d %H:%M:%S.%f")
        self._print(f"[Container] {stamp} {words}".split("\n"))

    def _print(self, lines: list[str]) -> None:
        if self._build.log_group is None:
            return
        with CLOCK.lock:
            self._around.write_log(
                self._build.log_group,
                self._build.log_stream,
                [self._hide(line) for line in lines],
                CLOCK.now,
            )
