"""The journal of a sweep: a line of JSON for each cell that is done, on disk before the next one is waited for.

Its first line binds it to a sweep by hash. What a kill leaves of a last line is dropped, and that cell done again.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from solver.api.frames import Row
from solver.errors import BadInputError
from solver.sweep.work import Answers

_VERSION = 1


def journal_path(output: Path) -> Path:
    """Return where the journal of a result lies."""
    return output.with_name(f"{output.name}.journal")


def _line(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


class Journal:
    """Cells that are done, in memory and in a file that is locked while the journal is open.

    Parameters
    ----------
    path
        The file; a new one is begun where there is none.
    sweep
        Hash of the sweep.

    Raises
    ------
    BadInputError
        If the file cannot be written, is that of another sweep or no journal, or is in use.

    """

    def __init__(self, path: Path, sweep: str) -> None:
        self._path = path
        self.done: dict[int, list[Row]] = {}
        head = {"journal": _VERSION, "sweep": sweep}
        try:
            self._file: BinaryIO = path.open("a+b")
        except OSError as error:
            raise self._refusal(f"cannot be written: {error.strerror}.", "Name a file in a folder that exists.") from (
                error
            )
        try:
            self._lock()
            self._read(head)
        except BaseException:
            self._file.close()
            raise

    def _refusal(self, what: str, mend: str) -> BadInputError:
        return BadInputError(what, where=str(self._path), mend=mend)

    def _lock(self) -> None:
        # Elsewhere than on POSIX nothing keeps two sweeps apart.
        with suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise self._refusal("another sweep is writing it.", "Wait for that, or name another output.") from error

    def _read(self, head: dict[str, object]) -> None:
        """Read what is there, and cut off what a kill left of a last line."""
        self._file.seek(0)
        text = self._file.read()
        whole = text.rfind(b"\n") + 1
        lines = text[:whole].splitlines()
        anew = f"Delete it to begin anew, or name another output: `rm {self._path}`."
        if lines:
            try:
                found, *entries = map(json.loads, lines)
                self.done = {int(entry["cell"]): entry["rows"] for entry in entries}
            except (ValueError, KeyError, TypeError) as error:
                raise self._refusal("is no journal of a sweep.", anew) from error
            if found != head:
                raise self._refusal("belongs to another sweep, or to other profiles or another version.", anew)
        elif whole != len(text) and not _line(head).startswith(text):
            raise self._refusal("is no journal of a sweep.", anew)
        self._file.truncate(whole)
        if not lines:
            self._write(_line(head))

    def _write(self, text: bytes) -> None:
        try:
            self._file.write(text)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            mend = "Make room; the same command resumes."
            raise self._refusal(f"cannot be written: {error.strerror}.", mend) from error

    def add(self, answers: Answers) -> None:
        """Record cells as done; they are on disk when this returns."""
        self.done |= dict(answers)
        self._write(b"".join(_line({"cell": number, "rows": rows}) for number, rows in answers))

    def remove(self) -> None:
        """Delete the file: its result is written."""
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file, which frees it for others."""
        self._file.close()
