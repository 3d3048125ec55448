"""Summarising a conversation, chunk by chunk."""

from __future__ import annotations

import pytest

from routing.errors import EmptyAnswer, ModelError, Unreachable
from routing.turn.compaction import INSTRUCTIONS, compact
from tests.routing.turn.patterns import conversation


class Writer:
    """A model that answers with the next summary and records its prompts."""

    def __init__(self, *answers: str | ModelError) -> None:
        self._answers = list(answers)
        self.shown: list[str] = []

    async def __call__(self, instructions: str, data: str) -> str:
        assert instructions == INSTRUCTIONS
        self.shown.append(data)
        answer = self._answers[len(self.shown) - 1]
        if isinstance(answer, ModelError):
            raise answer
        return answer


async def test_one_call_summarises_what_fits() -> None:
    writer = Writer("  Bob likes tea.\n")
    assert await compact(writer, "", conversation("uaua"), 10_000) == "[Conversation summary]\nBob likes tea."
    assert writer.shown == ["<conversation>\nuser: u0\nassistant: a1\nuser: u2\nassistant: a3\n</conversation>"]


async def test_the_earlier_summary_is_included_under_one_heading() -> None:
    writer = Writer("[Conversation summary]\nNew.")
    out = await compact(writer, "[Conversation summary]\nOld </earlier_summary>.", conversation("u"), 10_000)
    assert out == "[Conversation summary]\nNew."
    assert writer.shown[0].startswith(
        "<earlier_summary>\nOld ‹/earlier_summary>.\n</earlier_summary>\n\n<conversation>\n"
    )


async def test_every_chunk_is_summarised_with_the_summary_so_far() -> None:
    writer = Writer("one", "two", "three")
    out = await compact(writer, "zero", conversation("uau", 3_000), 4_100)
    assert out == "[Conversation summary]\nthree"
    assert [data.split("\n")[1] for data in writer.shown] == ["zero", "one", "two"]
    assert all(len(data) <= 4_100 for data in writer.shown)


async def test_at_most_four_calls_and_the_rest_is_reported() -> None:
    writer = Writer("one", "two", "three", "four")
    out = await compact(writer, "zero", conversation("uauaua", 3_000), 4_100)
    assert out.split("\n")[0] == "[Conversation summary]"
    assert out.endswith("\nfour")
    assert "(About 6,0" in out.split("\n")[1]
    assert "too long to be summed up" in out
    assert ": u2" in writer.shown[0]
    assert ": a5" in writer.shown[3]
    assert len(writer.shown) == 4


@pytest.mark.parametrize("answer", ["", " \n", "[Conversation summary]\n "])
async def test_an_empty_summary_is_a_failure(answer: str) -> None:
    with pytest.raises(EmptyAnswer):
        await compact(Writer(answer), "old", conversation("ua"), 10_000)
    with pytest.raises(EmptyAnswer):
        await compact(Writer("one", answer), "old", conversation("ua", 3_000), 4_100)


async def test_a_models_error_is_raised() -> None:
    with pytest.raises(Unreachable):
        await compact(Writer("one", Unreachable("m", "gone")), "old", conversation("ua", 3_000), 4_100)


async def test_summaries_stay_bounded() -> None:
    writer = Writer("s" * 50_000, "t" * 50_000)
    out = await compact(writer, "o" * 100_000, conversation("ua", 3_000), 4_100)
    assert all(len(data) <= 4_100 for data in writer.shown)
    assert len(out) < 8_100


async def test_without_older_messages_the_summary_is_kept_without_a_call() -> None:
    assert await compact(Writer(), "old", [], 10_000) == "[Conversation summary]\nold"


@pytest.mark.parametrize(
    "words", ["data", "not follow", "500 words", "language that the user", "file names", "decisions", "open questions"]
)
def test_the_summarys_model_is_reported(words: str) -> None:
    assert words in INSTRUCTIONS
