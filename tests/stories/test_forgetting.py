"""Forgetting a person deletes all their data."""

from tests.stories.databases import tables
from tests.stories.harness import BotHarness, ask, press, running

SECRET = "xyzzy-plugh"


def tables_containing(on: BotHarness, words: str) -> list[str]:
    """The tables that contain a text."""
    return [name for name, rows in tables(on.rows).items() if words in str(rows)]


async def test_forget_me_deletes_a_persons_rows_everywhere(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    bob = on.tg.user("robert")
    async with running(on):
        await ask(on, f"My secret is {SECRET}", user=bob)
        await ask(on, "/tier deep force", user=bob)
        await ask(on, "/model smart openai/gpt-4.1", user=bob)
        await ask(on, f"/settings instructions Call me {SECRET}", user=bob)
        await ask(on, f"/memory add My secret is {SECRET}", user=bob)
        await ask(on, f"/remind in 2 hours {SECRET}", user=bob)
        await on.tg.reply(on.tg.say_document("secret.txt", SECRET.encode(), user=bob))
        await ask(on, "hi from Alice")
        assert {"messages", "preferences", "facts", "schedules"} <= set(tables_containing(on, SECRET))
        assert list((on.workspace / "files").rglob("secret.txt"))
        warning = await ask(on, "/access forget me", user=bob)
        assert "for good" in warning.text
        assert tables_containing(on, SECRET) != []
        await press(on, "🗑 Delete it all", warning)
        assert warning.text == "🗑 Done. I don't know you any more."
        assert tables_containing(on, SECRET) == []
        assert tables_containing(on, "Robert") == []
        assert not list((on.workspace / "files").rglob("secret.txt"))
        for table in ("preferences", "overrides", "usage", "identities", "people"):
            column = "id" if table == "people" else "person_id"
            assert on.rows(f"select count(*) from {table} where {column} not in (select id from people)") == [(0,)]
        assert on.rows("select count(*) from identities") == [(1,)]
        assert (await ask(on, "/tier", user=bob)).text.startswith("Tier: balanced, Force: off")
        assert (await ask(on, "do you know me?", user=bob)).text == "You said: do you know me?"
        assert SECRET not in str(on.ms.last.body)
        assert (await ask(on, "and me?")).text == "You said: and me?"
        assert ("user", "hi from Alice") in on.ms.last.reading.turns


async def test_someone_who_returns_is_known_by_username_again(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "hello", user="bob")
        await press(on, "🗑 Delete it all", await ask(on, "/access forget me", user="bob"))
        await ask(on, "hello again", user="bob")
        assert "@bob" in (await ask(on, "/access")).text


async def test_being_forgotten_needs_a_second_word(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/access forget me")
        assert (await ask(on, "/whoami")).text.endswith("role owner.")
