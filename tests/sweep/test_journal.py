"""What is done is on disk, and what a kill leaves is resumed; the journal of another sweep is not."""

from pathlib import Path
from typing import Any

import pytest

from solver.errors import BadInputError, PlannerError
from solver.sweep import Progress, SweepResult, read_rows
from solver.sweep.journal import Journal, journal_path
from tests.sweep.conftest import Run, spec

ROWS: list[tuple[int, list[dict[str, Any]]]] = [
    (0, [{"cell": 0, "model": "é\n", "delta_nll": 0.1 + 0.2}, {"cell": 0, "model": "b"}]),
    (1, [{"cell": 1, "model": "c"}]),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Journal(tmp_path / "journal", "hash") as journal:
        for item in ROWS:
            journal.add([item])
    return tmp_path / "journal"


class TestJournal:
    def test_reads_back_what_was_added(self, path: Path) -> None:
        with Journal(path, "hash") as journal:
            assert journal.done == dict(ROWS)

    def test_survives_a_cut_at_every_byte(self, path: Path) -> None:
        text = path.read_bytes()
        ends = [index + 1 for index, byte in enumerate(text) if byte == ord("\n")]
        for length in range(len(text)):
            path.write_bytes(text[:length])
            with Journal(path, "hash") as journal:
                assert journal.done == dict(ROWS[: max(0, sum(end <= length for end in ends) - 1)])
                journal.add(ROWS)
            with Journal(path, "hash") as journal:
                assert journal.done == dict(ROWS)

    def test_of_another_sweep_is_refused_and_kept(self, path: Path) -> None:
        before = path.read_bytes()
        with pytest.raises(BadInputError, match="belongs to another sweep") as caught:
            Journal(path, "other")
        assert f"rm {path}" in str(caught.value)
        assert path.read_bytes() == before

    @pytest.mark.parametrize(
        "content", [b"no journal", b"{}\n[]\n", b"1\n2\n", b'{"journal":1,"sweep":"hash"}\n{"cell":']
    )
    def test_what_is_none_is_refused_and_kept(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        path.write_bytes(content)
        if content.endswith(b":"):  # a line that a kill cut short
            with Journal(path, "hash") as journal:
                assert journal.done == {}
            return
        with pytest.raises(BadInputError):
            Journal(path, "hash")
        assert path.read_bytes() == content

    def test_in_use_is_refused(self, path: Path) -> None:
        with Journal(path, "hash"), pytest.raises(BadInputError, match="another sweep is writing it"):
            Journal(path, "hash")
        Journal(path, "hash").__exit__(None, None, None)

    def test_in_no_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(BadInputError, match="cannot be written"):
            Journal(tmp_path / "nowhere" / "journal", "hash")


class TestResume:
    def test_does_the_rest_and_gives_the_same_bytes(self, run: Run, tmp_path: Path) -> None:
        output, asked = tmp_path / "rows.parquet", spec(budgets=("2.1GB", "999TB"), contexts=(None, "4k"))

        def stop(progress: Progress) -> None:
            if progress.done > progress.resumed:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(asked, output=output, tell=stop)
        first = read_rows(output)
        assert {row["cell"] for row in first} == {0, 1}
        assert journal_path(output).is_file()
        seen: list[Progress] = []
        resumed = run(asked, output=output, tell=seen.append)
        assert (seen[0], resumed.resumed, resumed.cells) == (Progress(2, 4, 2), 2, 4)
        assert not journal_path(output).exists()
        assert read_rows(output)[: len(first)] == first
        run(asked).save(tmp_path / "again.parquet")
        assert output.read_bytes() == (tmp_path / "again.parquet").read_bytes()

    def test_of_a_whole_journal_writes_the_result_alone(self, run: Run, whole: SweepResult, tmp_path: Path) -> None:
        output = tmp_path / "rows.csv"
        run(spec(), output=output)
        first = output.read_bytes()
        output.unlink()
        output.mkdir()
        with pytest.raises(PlannerError, match="cannot be written"):
            run(spec(), output=output)
        assert len(list(tmp_path.iterdir())) == 2
        output.rmdir()
        again = run(spec(), output=output)
        assert again.resumed == again.cells == 4
        assert output.read_bytes() == first

    def test_of_another_sweep_is_refused(self, run: Run, tmp_path: Path) -> None:
        output = tmp_path / "rows.parquet"
        Journal(journal_path(output), "other").__exit__(None, None, None)
        with pytest.raises(BadInputError, match="belongs to another sweep"):
            run(spec(), output=output)
        assert not output.exists()
