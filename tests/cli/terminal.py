"""A real pseudo-terminal around the command, driven like a person does: read until something is asked, answer."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9])")
_PATIENCE = 30.0
"""Seconds after which a terminal that stays silent fails the test; nothing waits that long when all is well."""


def without_escapes(text: str) -> str:
    """Return what a terminal would show: escape sequences and carriage returns left out."""
    return _ESCAPE.sub("", text).replace("\r", "")


class Terminal:
    """A child process whose stdin and stderr (and stdout, unless a file takes it) are one terminal."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdout: Path | None = None,
        columns: int = 100,
    ) -> None:
        self.raw = ""
        self._read_to = 0
        self._main, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        output = child if stdout is None else os.open(stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self._process = subprocess.Popen(
                command,
                cwd=cwd,
                env=dict(env),
                stdin=child,
                stdout=output,
                stderr=child,
                start_new_session=True,
                # The terminal of a session of its own: Ctrl-C typed into it interrupts the child, not the tests.
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
        finally:
            if output != child:
                os.close(output)
            os.close(child)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._main)

    @property
    def text(self) -> str:
        """All that the terminal has shown."""
        return without_escapes(self.raw)

    def _read(self, deadline: float) -> bool:
        """Read what there is; False at the end of the output."""
        ready, _, _ = select.select([self._main], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"nothing more came; so far the terminal shows:\n{self.text}")
        try:
            chunk = os.read(self._main, 65536)
        except OSError:  # Linux reports the end of a terminal so
            return False
        self.raw += chunk.decode(errors="replace")
        return bool(chunk)

    def until(self, words: str) -> str:
        """Read until `words` appear after what was read before; return the text up to their end."""
        deadline = time.monotonic() + _PATIENCE
        while (found := self.text.find(words, self._read_to)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"the command ended before {words!r}; the terminal shows:\n{self.text}")
        start, self._read_to = self._read_to, found + len(words)
        return self.text[start : self._read_to]

    def say(self, line: str) -> None:
        """Type a line."""
        os.write(self._main, f"{line}\n".encode())

    def press(self, key: bytes) -> None:
        """Press one key, for example Ctrl-C."""
        os.write(self._main, key)

    def end(self) -> int:
        """Read to the end and return the exit code."""
        deadline = time.monotonic() + _PATIENCE
        while self._read(deadline):
            pass
        return self._process.wait(_PATIENCE)
