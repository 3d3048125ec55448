"""Files both ways: what people send is kept and read, and what tools make is sent back."""

from __future__ import annotations

from tests.handlers.tools.file_tools.sample_documents import pdf, tarred, word
from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.stories.discord_bot import hurried, up
from tests.stories.harness import BotHarness, BotProcess, ask, press, running, tool_results, waiting_files
from tests.stories.kills import kill_after_first_part
from tests.stories.test_media import all_images, patient

__all__ = ["hurried", "patient"]

REPORT = pdf(["The harvest was good.", "The winter was mild."])


def kept(on: BotHarness, person: int = 1) -> dict[str, bytes]:
    """The person's files."""
    root = on.workspace / "files" / str(person)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def test_a_pdf_is_summarised_and_sent_back(on: BotHarness) -> None:
    on.ms.reply("A good year.")
    on.ms.call_tools([("send_file", {"path": "inbox/report.pdf"})])
    on.ms.reply("Here it is.")
    async with running(on):
        on.tg.say_document("report.pdf", REPORT, "application/pdf", caption="Summarise this")
        assert (await on.tg.reply()).text == "A good year.\n\n📂 Kept in your folder: inbox/report.pdf"
        told = on.ms.last.last_user_text
        assert told.startswith("Summarise this\n\ninbox/report.pdf:\n")
        assert "The harvest was good." in told
        assert "The winter was mild." in told
        answer = await ask(on, "Send it back")
        assert answer.text == "Here it is."
        sent = next(each for each in on.tg.private().from_bot() if "document" in each.content)
        assert (on.tg.document(sent).name, on.tg.document(sent).data) == ("report.pdf", REPORT)
    assert kept(on) == {"inbox/report.pdf": REPORT}
    assert waiting_files(on) == []


async def test_a_scanned_pdf_is_shown_as_pictures(on: BotHarness) -> None:
    async with running(on):
        on.tg.say_document("scan.pdf", pdf([""] * 6), "application/pdf", caption="What does it say?")
        answer = (await on.tg.reply()).text
        assert "🖨 inbox/scan.pdf has no text, only 6 pictures of pages. I see the first 4;" in answer
        assert [each[:3] for each in all_images(on.ms.last)] == [b"\xff\xd8\xff"] * 4
        assert "[No text on these pages." in on.ms.last.last_user_text
    assert list(kept(on)) == ["inbox/scan.pdf"]
    async with running(on):
        await ask(on, "And who wrote it?")
        assert len(all_images(on.ms.last)) == 4, "the pages are made again"


async def test_a_scanned_pdf_and_a_model_without_vision(on: BotHarness) -> None:
    on.env["TIER_BALANCED_POOL"] = "openai/o3-mini"
    async with running(on):
        on.tg.say_document("scan.pdf", pdf([""]), "application/pdf", caption="What does it say?")
        answer = (await on.tg.reply()).text
        assert "The PDF has no text, only pictures of pages, and openai/o3-mini can't see pictures." in answer
        assert all_images(on.ms.last) == []
        await ask(on, "/retry smart")
        assert len(all_images(on.ms.last)) == 1


async def test_the_same_file_is_kept_once_and_another_of_its_name_beside_it(on: BotHarness) -> None:
    async with running(on):
        for data in (b"one", b"two", b"one"):
            on.tg.say_document("../../a.txt", data, "text/plain")
            await on.tg.reply()
        on.tg.say_photo(b"\xff\xd8\xff\xe0 photo")
        await on.tg.reply()
    assert kept(on) == {"inbox/a.txt": b"one", "inbox/a-2.txt": b"two", "inbox/photo.jpg": b"\xff\xd8\xff\xe0 photo"}


async def test_a_reply_to_a_file_is_about_that_file(on: BotHarness) -> None:
    async with running(on):
        document = on.tg.say_document("a.txt", b"the content", "text/plain")
        await on.tg.reply()
        on.tg.say("hello")
        await on.tg.reply()
        await on.tg.reply(on.tg.say("what does it say?", reply_to=document))
        assert on.ms.last.last_user_text.endswith("what does it say?\n\ninbox/a.txt:\n```\nthe content\n```")
    assert kept(on) == {"inbox/a.txt": b"the content"}


async def test_what_a_document_says_does_not_choose_tools(on: BotHarness) -> None:
    """Nor where it is kept: `inbox` is a word of the toolkit for mail."""
    letter = b"Send me an email. What's on my calendar tomorrow? Will it rain in Bonn?"
    async with running(on):
        for caption in ("", "Summarise this"):
            said = on.tg.say_document("letter.txt", letter, "text/plain", caption=caption)
            assert "/connect" not in (await on.tg.reply(said, after=said)).text
            assert "get_weather" not in on.ms.last.reading.tool_names
            await ask(on, "/new")
        said = on.tg.say_document("places.txt", b"Bonn", "text/plain", caption="How is the weather there today?")
        await on.tg.reply(said, after=said)
        assert "get_weather" in on.ms.last.reading.tool_names


async def test_a_document_does_not_choose_tools_later_either(on: BotHarness) -> None:
    """Neither with /retry, nor as an earlier question, nor after an edit of its caption."""
    letter = b"What's on my calendar tomorrow? Will it rain in Bonn?"
    async with running(on):
        said = on.tg.say_document("letter.txt", letter, "text/plain", caption="Summarise this")
        await on.tg.reply(said, after=said)
        offer = await on.tg.reply(after=on.tg.edit(said, "Shorten this"))
        on.tg.press("🔁 Answer again", message=offer)
        assert (await on.tg.reply(after=offer)).text.startswith("You said: Shorten this")
        assert "get_weather" not in on.ms.last.reading.tool_names
        for words in ("/retry", "/retry fast", "and shorter?"):
            assert "/connect" not in (await ask(on, words)).text
            assert "get_weather" not in on.ms.last.reading.tool_names


async def test_nobody_reaches_the_files_of_another(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    bob = on.tg.user("bob")
    async with running(on):
        on.tg.say_document("secret.txt", b"alice's", "text/plain")
        await on.tg.reply()
        for path in ("../1/inbox/secret.txt", "/files/../1/inbox/secret.txt", "inbox/secret.txt"):
            on.ms.call_tools([("send_file", {"path": path}), ("read_file", {"path": path})])
            await ask(on, "give me the file", user=bob)
            assert all("Error:" in each for each in tool_results(on)[-2:])
        for typed in ("/files send secret.txt", "/files send ../1/inbox/secret.txt", "/files delete inbox/secret.txt"):
            assert (await ask(on, typed, user=bob)).text.startswith("There is no file")
        assert (await ask(on, "/files", user=bob)).text.startswith("Your folder is empty.")
    assert kept(on) == {"inbox/secret.txt": b"alice's"}


async def test_in_a_group_a_file_is_sent_after_a_press(on: BotHarness) -> None:
    on.ms.reply("Noted.")
    on.ms.call_tools([("send_file", {"path": "inbox/a.txt"})])
    on.ms.reply("Sent.")
    async with running(on):
        on.tg.say_document("a.txt", b"private", "text/plain")
        await on.tg.reply()
        await ask(on, "/access here on", group="Team")
        asked = await ask(on, "@tierbot send the file", group="Team")
        assert "Shall I run send_file" in asked.text
        assert "This shows your own data to everyone here." in asked.text
        assert on.tg.calls("sendDocument") == []
        on.tg.press("✅ Allow once", message=asked)
        await on.tg.wait_for(lambda tg: tg.calls("sendDocument"))
        sent = on.tg.group("Team").from_bot()[-1]
        assert on.tg.document(sent).data == b"private"


async def test_files_are_listed_sent_and_deleted_by_command(on: BotHarness) -> None:
    async with running(on):
        assert (await ask(on, "/files")).text.startswith("Your folder is empty.")
        on.tg.say_document("Plan.docx", word(["Buy seeds"]), "application/msword")
        await on.tg.reply()
        assert "Buy seeds" in on.ms.last.last_user_text
        listed = (await ask(on, "/files")).text
        assert "of 500 MB used" in listed
        assert "inbox/Plan.docx" in listed
        sent = await ask(on, '/files send "plan.docx"')
        assert on.tg.document(sent).data == kept(on)["inbox/Plan.docx"]
        assert "Did you mean Plan.docx?" in (await ask(on, "/files send plan.doc")).text
        asked = await ask(on, "/files delete plan.docx")
        assert asked.text == "Delete inbox/Plan.docx? It can't be brought back."
        assert kept(on)
        assert (await press(on, "🗑 Delete", message=asked)).text == "🗑 inbox/Plan.docx is deleted."
    assert kept(on) == {}
    assert len(on.ms.calls) == 1


async def test_a_full_folder_takes_no_more(on: BotHarness) -> None:
    on.config["sandbox"] = {"folderMb": 1}
    async with running(on):
        on.tg.say_document("big.bin", b"\0" * 1_100_000, "application/octet-stream")
        refused = (await on.tg.reply()).text
    assert refused.startswith("big.bin was not kept: it does not fit into your folder, which may hold 1 MB")
    assert kept(on) == {}
    assert on.ms.calls == []


async def test_files_both_ways_on_discord(on: BotHarness, dc: DiscordServer) -> None:
    on.ms.reply("A good year.")
    on.ms.call_tools([("send_file", {"path": "inbox/report.pdf"})])
    on.ms.reply("Here it is.")
    async with running(on) as app:
        await up(dc, app)
        asked = dc.say("Summarise this", attachments=[("report.pdf", REPORT, "application/pdf")])
        first = await dc.reply(asked, after=asked, matching=lambda message: "Kept in your folder" in message.text)
        assert "The harvest was good." in on.ms.last.last_user_text
        again = dc.say("Send it back")
        answer = await dc.reply(again, after=again, matching=lambda message: bool(message.attachments))
        assert first.text.startswith("A good year.")
        assert [(file.name, file.data) for file in answer.attachments] == [("report.pdf", REPORT)]
        why = dc.say("Why was it good?", reply_to=asked)
        await dc.reply(why, after=why)
        assert "The harvest was good." in on.ms.last.last_user_text
        listed = dc.slash("files")
        await until(lambda: "report.pdf" in "".join(each.text for each in listed.answers))


async def test_a_kill_between_answer_and_file_loses_nothing(on: BotHarness) -> None:
    async with BotProcess(on):
        on.tg.say_document("report.pdf", REPORT, "application/pdf")
        await on.tg.reply()
    on.ms.call_tools([("send_file", {"path": "inbox/report.pdf"})])
    on.ms.reply("Here it is. " * 200)
    await kill_after_first_part(on, "Send it back", "sendDocument")
    sent = on.tg.private().from_bot()[-1]
    assert on.tg.document(sent).data == REPORT
    await until(lambda: waiting_files(on) == [])


async def test_documents_of_an_album_are_one_question(on: BotHarness, patient: None) -> None:
    async with running(on):
        on.tg.say_document("first.pdf", REPORT, "application/pdf", caption="Compare them", media_group="a1")
        on.tg.say_document("second.txt", b"The harvest was poor.", "text/plain", media_group="a1")
        on.tg.say_document("third.docx", word(["It rained."]), "application/msword", media_group="a1")
        answer = (await on.tg.reply()).text
        assert "📂 Kept in your folder: inbox/first.pdf, inbox/second.txt, inbox/third.docx" in answer
        told = on.ms.last.last_user_text
        assert told.startswith("Compare them\n\ninbox/first.pdf:\n")
        assert all(each in told for each in ("The harvest was good.", "The harvest was poor.", "It rained."))
    assert len(on.ms.calls) == 1
    assert sorted(kept(on)) == ["inbox/first.pdf", "inbox/second.txt", "inbox/third.docx"]


async def test_several_files_of_a_discord_message_are_one_question(on: BotHarness, dc: DiscordServer) -> None:
    files = (("a.pdf", REPORT, "application/pdf"), ("b.csv", b"tea,2\n", "text/csv"))
    async with running(on) as app:
        await up(dc, app)
        asked = dc.say("Compare them", attachments=files)
        await dc.reply(asked, after=asked, matching=lambda message: "`inbox/a.pdf`, `inbox/b.csv`" in message.text)
        assert all(each in on.ms.last.last_user_text for each in ("Compare them", "The harvest was good.", "tea,2"))
    folder = on.workspace / "files"
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["a.pdf", "b.csv"]


async def test_a_question_is_answered_though_its_file_is_not_kept(on: BotHarness) -> None:
    on.config["sandbox"] = {"folderMb": 1}
    full = b"tea\n" * 260_000
    async with running(on):
        on.tg.say_document("a.txt", full, "text/plain")
        await on.tg.reply()
        on.tg.say_document("b.txt", b"rain " * 20_000, "text/plain", caption="What does it say?")
        answer = (await on.tg.reply()).text
        assert "⚠️ b.txt was not kept: it does not fit into your folder, which may hold 1 MB" in answer
        assert "Kept in your folder" not in answer
        told = on.ms.last.last_user_text
        assert told.startswith("What does it say?\n\nb.txt:\n```\nrain rain")
        assert told.endswith("The file was not kept.]")
        on.tg.say_photo(b"\xff\xd8\xff" + b"." * 90_000, caption="And this?")
        assert "⚠️ photo.jpg was not kept" in (await on.tg.reply()).text
        assert len(all_images(on.ms.last)) == 1
    assert list(kept(on)) == ["inbox/a.txt"]


async def test_a_guest_reads_a_long_document_to_its_end(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    bob = on.tg.user("bob")
    on.ms.reply("Hello.")
    on.ms.reply("Long.")
    on.ms.call_tools([("read_file", {"path": "inbox/long.txt", "part": 2})])
    on.ms.reply("It ends well.")
    async with running(on):
        await ask(on, "hello", user=bob)
        await ask(on, f"/access role telegram:{bob.id} guest")
        await on.tg.reply(on.tg.say_document("long.txt", b"tea\n" * 20_000, "text/plain", user=bob))
        await ask(on, "How does it end?", user=bob)
        assert "[Part 2 of" in tool_results(on)[-1]


async def test_an_archive_said_to_be_text_is_listed(on: BotHarness) -> None:
    async with running(on):
        on.tg.say_document("a.tgz", tarred({"plan.txt": b"tea"}), "text/plain", caption="What is it?")
        await on.tg.reply()
        assert "'plan.txt': 3 bytes" in on.ms.last.last_user_text


async def test_a_file_too_large_to_send_is_said_in_the_persons_language(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/settings language de")
        (own := on.workspace / "files" / "1").mkdir(parents=True, exist_ok=True)
        with (own / "big.bin").open("wb") as file:
            file.truncate(51 * 2**20)
        refused = (await ask(on, "/files send big.bin")).text
    assert refused == "Das hat nicht geklappt: big.bin hat 51,0 MB; hier lassen sich höchstens 50 MB senden."


async def test_a_picture_that_cannot_be_fetched_is_said(on: BotHarness) -> None:
    async with running(on):
        on.tg.fault("getFile", "bad_request", times=None)
        on.tg.say_photo(b"\xff\xd8\xff picture", caption="What is this?")
        answer = (await on.tg.reply()).text
    assert "🖼 1 of your pictures could not be read, so the model did not see them. Send them again." in answer
    assert all_images(on.ms.last) == []


async def test_a_file_is_found_behind_two_thousand_others(on: BotHarness) -> None:
    photos = on.workspace / "files" / "1" / "photos"
    (photos / "deep").mkdir(parents=True)
    for number in range(2_050):
        (photos / f"{number}.jpg").touch()
    (photos / "deep" / "report.pdf").write_bytes(b"%PDF-")
    async with running(on):
        assert "page 1 of 137" in (await ask(on, "/files")).text
        assert "not listed" not in (await ask(on, "/files")).text
        for name in ("report.pdf", "photos/deep/report.pdf"):
            await ask(on, f"/files send {name}")
            assert on.tg.document(on.tg.private().from_bot()[-1]).data == b"%PDF-"


async def test_a_list_that_is_not_complete_says_so(on: BotHarness) -> None:
    """Programs in the sandbox can make more files than the quota."""
    photos = on.workspace / "files" / "1" / "photos"
    photos.mkdir(parents=True)
    for number in range(20_010):
        (photos / f"{number}.jpg").touch()
    async with running(on):
        listed = (await ask(on, "/files")).text
        assert "I looked at 20,000 files and folders of 20,011; the rest is not listed." in listed
        await ask(on, "/files send photos/7.jpg")
        await ask(on, "/files delete photos/20009.jpg")
        assert "Delete photos/20009.jpg?" in on.tg.private().from_bot()[-1].text
