"""Lookups in the shipped glossary, and in one written for the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.training.build_glossary import compiled
from routing.tools.selection.glossary import ENGLISH, Glossary
from routing.tools.selection.words import written

ROOT = Path(__file__).parents[4]
SENTENCES = {
    "ar": "ما هو الطقس غدا في القاهرة",
    "bn": "আগামীকাল ঢাকায় আবহাওয়া কেমন হবে",
    "cs": "jaké bude zítra v Praze počasí",
    "da": "hvordan bliver vejret i morgen",
    "de": "wie wird das Wetter morgen in Berlin",
    "el": "τι καιρό θα κάνει αύριο στην Αθήνα",
    "en": "what will the weather be like tomorrow in London",
    "es": "qué tiempo hará mañana por la tarde",
    "fa": "فردا هوای تهران چطور است",
    "fi": "millainen sää huomenna on Helsingissä",
    "fr": "quel temps fera-t-il demain à Paris",
    "he": "מה יהיה מזג האוויר מחר בתל אביב",
    "hi": "कल दिल्ली में मौसम कैसा रहेगा",
    "hu": "milyen idő lesz holnap Budapesten",
    "id": "bagaimana cuaca besok di Jakarta",
    "it": "che tempo farà domani a Roma",
    "ja": "明日の東京の天気はどうですか",
    "kk": "ертең ауа райы қандай болады",
    "ko": "내일 서울 날씨 어때",
    "lt": "koks rytoj bus oras Vilniuje",
    "nl": "wat voor weer wordt het morgen in Utrecht",
    "no": "hvordan blir været i morgen i Bergen",
    "pl": "jaka będzie jutro pogoda w Warszawie",
    "pt": "como vai estar o tempo amanhã em Lisboa",
    "ro": "cum va fi vremea mâine la București",
    "ru": "какая завтра будет погода в Москве",
    "sr": "kakvo će biti vreme sutra u Beogradu",
    "sv": "hur blir vädret i morgon i Malmö",
    "th": "พรุ่งนี้อากาศที่เชียงใหม่เป็นยังไง",
    "tr": "yarın İstanbul'da hava nasıl olacak",
    "uk": "яка завтра буде погода у Львові",
    "ur": "کل لاہور میں موسم کیسا ہوگا",
    "vi": "thời tiết ngày mai ở Đà Nẵng thế nào",
    "zh": "明天北京的天气怎么样",
}
GERMAN = """\
the\tdas, die, der
light\tLicht
switch off\tschalte aus, ausschalten
switch\tschalte
make\tmach
wake up\tmach wach
open\tmach auf
open at once\tmach auf sofort
purchase\tEinkauf
list\tListe
kitchen\tKüche
(a) lamp\tLampe (in a room)
reminder\tErinnerung
in\tim, in
inside\tim
"""
KOREAN = "weather\t날씨\ntell\t알려줘\nset\t맞춰줘\nalarm\t알람\n"
CHINESE = "weather\t天气\nweather forecast\t天气预报\nopen\t打开\nof\t的\nset\t设置\noff\tOFF\n"
JAPANESE = "weather\t天気\nsong\t曲\nplay\tかけて\nin\tで\n"


@pytest.fixture(scope="module")
def shipped() -> Glossary:
    return Glossary.load()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Glossary:
    folder = tmp_path_factory.mktemp("glossaries")
    for code, lines in (("de", GERMAN), ("ko", KOREAN), ("zh", CHINESE), ("ja", JAPANESE)):
        (folder / f"{code}.tsv").write_text(lines, "utf-8")
    return Glossary(compiled(folder))


@pytest.mark.parametrize("code", SENTENCES)
def test_the_language_of_a_plain_sentence(shipped: Glossary, code: str) -> None:
    assert shipped.language(SENTENCES[code]) == code


@pytest.mark.parametrize("code", sorted({*SENTENCES} - {ENGLISH}))
def test_every_language_knows_tomorrows_weather(shipped: Glossary, code: str) -> None:
    gloss = shipped.gloss(SENTENCES[code]).split()
    assert "tomorrow" in gloss
    assert {"weather", "time"} & {*gloss}


def test_every_language_on_disk_has_a_sentence_here() -> None:
    folder = ROOT / "routing" / "tools" / "selection" / "glossaries"
    assert {path.stem for path in folder.glob("*.tsv")} == {*SENTENCES} - {ENGLISH}


@pytest.mark.parametrize(
    "text",
    [
        "what will the weather be like tomorrow in London",
        "Set an Alarm  for 7 AM, please!",
        "play some jazz by Miles Davis",
        "find the list of tools",
        "send an email to Jürgen",
        "please open the page on GitHub",
        "hi",
        "42",
        "",
        "   ",
        "😶‍🌫️",
        "Quibblefax",
    ],
)
def test_english_and_empty_text_are_unchanged(shipped: Glossary, text: str) -> None:
    assert shipped.gloss(text) == text


def test_a_word_in_both_english_and_french_is_english(shipped: Glossary) -> None:
    assert shipped.gloss("active alarms") == "active alarms"
    assert shipped.gloss("une application active") != "une application active"


def test_articles_are_glossed_as_articles(shipped: Glossary) -> None:
    assert shipped.gloss("das Wetter").split()[0] == "the"


def test_meanings_are_separated_by_one_space(ours: Glossary) -> None:
    assert ours.gloss("天气打开") == "weather open"


def test_korean_endings_after_names_are_removed(shipped: Glossary) -> None:
    assert "github" in shipped.gloss("GitHub에서 이슈를 보여줘").split()


def test_a_separable_verb_is_one_word(shipped: Glossary) -> None:
    assert "switch off" in shipped.gloss("schalte das Licht aus")
    assert "off" in shipped.gloss("schalte das Licht im Flur aus").split()
    assert "light in hallway" in shipped.gloss("schalte das Licht im Flur aus")


@pytest.mark.parametrize(
    ("text", "gloss"),
    [
        ("schalte das Licht aus", "switch off the light"),
        ("schalte aus das Licht", "switch off the light"),
        ("schalte das Licht im Flur aus", "switch off the light in flur"),
        ("schalte das Licht", "switch the light"),
        ("mach das Licht wach", "wake up the light"),
        ("mach auf sofort", "open at once"),
        ("mach das Licht", "make the light"),
        ("die Einkaufsliste", "the purchase list"),
        ("die Küchenlampe", "the kitchen lamp"),
        ("die Listen", "the list"),
        ("Erinnerungen", "reminder"),
        ("das Quibblefax", "the quibblefax"),
        ("im Licht", "in light"),
        ("DAS LICHT!", "the light"),
    ],
)
def test_german_compounds(ours: Glossary, text: str, gloss: str) -> None:
    assert ours.gloss(text) == gloss


@pytest.mark.parametrize(
    ("text", "gloss"),
    [
        ("날씨", "weather"),
        ("날씨를 알려줘", "weather tell"),
        ("알람은 맞춰줘", "alarm set"),
        ("알람날씨", "alarm weather"),
        ("비행기 날씨", "비행기 weather"),
    ],
)
def test_korean_particles_and_endings_are_removed(ours: Glossary, text: str, gloss: str) -> None:
    assert ours.language(text) == "ko"
    assert ours.gloss(text) == gloss


@pytest.mark.parametrize(
    ("text", "gloss"),
    [
        ("天气预报", "weather forecast"),
        ("天气预", "weather 预"),
        ("打开GitHub的设置", "open github of set"),
        ("设置XQ7天气", "set xq7 weather"),
        ("打开Office", "open office"),
        ("猫的天气", "猫 of weather"),
        ("天気", "天気"),
    ],
)
def test_chinese_uses_the_longest_match_and_keeps_names(ours: Glossary, text: str, gloss: str) -> None:
    assert ours.language(text) == "zh"
    assert " ".join(ours.gloss(text).split()) == gloss


def test_japanese_uses_the_longest_match_and_keeps_names(ours: Glossary) -> None:
    assert ours.language("Spotifyで曲をかけて") == "ja"
    assert " ".join(ours.gloss("Spotifyで曲をかけて").split()) == "spotify in song を play"


HUNGARIAN = "more\tmég\nturn off\tkapcsold ki\nwatch\tnézd meg\nfog\tköd\ncode\tkód\n"
HINDI = "light\tलाइट\nturn off\tबंद करो\nfix\tठीक करो\n"
THAI = "air conditioner\tเครื่องปรับอากาศ\nturn on\tเปิด\nair\tอากาศ\n"
VIETNAMESE = "buy\tmua\nrain\tmưa\ntonight\ttối nay\ncan\tcan\n"


KAZAKH = """\
reminder\tеске салғыш
song\tән
answer\tжауап
rain\tжау
hour\tсағат
find\tтап
me\tмаған
soundtrack\tсаундтрек
"""
SERBIAN = "play\tpusti\nmusic\tmuzika\nset\tpodesi\nshopping list\tlista za kupovinu\nfor\tza\n"
FRENCH = """\
has\ta
to\tà
the\tla, l'
time\theure
like\tj'aime
today\taujourd'hui
mine\tà moi
give\tdonne
me\tmoi
"""
ITALIAN = "where is\tdov'è\nand\te\nis\tè\nmusic\tmusica\nlight\tluce\nlights\tluci\n"


@pytest.fixture(scope="module")
def further(tmp_path_factory: pytest.TempPathFactory) -> Glossary:
    folder = tmp_path_factory.mktemp("further")
    four = (("hu", HUNGARIAN), ("hi", HINDI), ("th", THAI), ("vi", VIETNAMESE))
    for code, lines in (*four, ("kk", KAZAKH), ("sr", SERBIAN), ("fr", FRENCH), ("it", ITALIAN)):
        (folder / f"{code}.tsv").write_text(lines, "utf-8")
    (folder / "en.txt").write_text("can\n", "utf-8")
    return Glossary(compiled(folder))


@pytest.mark.parametrize(
    ("text", "language", "gloss"),
    [
        ("köd", "hu", "fog"),
        ("kód", "hu", "code"),
        ("még", "hu", "more"),
        ("kapcsold már végre ki", "hu", "turn off már végre"),
        ("लाइट बंद करो", "hi", "light turn off"),
        ("ठीक सात बजे करो", "hi", "ठीक सात बजे करो"),
        ("เปิดเครื่องปรับอากาศ", "th", "turn on air conditioner"),
        ("trời mưa", "vi", "trời rain"),
        ("mưa", "vi", "rain"),
        ("mua gì", "vi", "buy gì"),
        ("tối mua nay", "vi", "tối buy nay"),
        ("can", "en", "can"),
        ("әнін", "kk", "song"),
        ("сағаттарында", "kk", "hour"),
        ("жауапты", "kk", "answer"),
        ("саундтрегі", "kk", "soundtrack"),
        ("жауады", "kk", "rain"),
        ("еске салғышымды тап", "kk", "find reminder"),
        ("маған The Time of the Lights тап", "kk", "find me the time of the lights"),
        ("Pusti muziku", "sr", "play music"),
        ("Пусти музику", "sr", "play music"),
        ("подеси листа за куповину", "sr", "set shopping list"),
        ("l'heure aujourd’hui", "fr", "the time today"),
        ("j'aime la", "fr", "like the"),
        ("à l'heure", "fr", "to the time"),
        ("il a l'heure", "fr", "il has the time"),
        ("à 50 donne moi l'heure", "fr", "to 50 give me the time"),
        ("dov’è la musica e la luce", "it", "where is la music and la light"),
        ("la musica è qui", "it", "la music is qui"),
    ],
)
def test_diacritics_spaces_and_separable_verbs_depend_on_the_language(
    further: Glossary, text: str, language: str, gloss: str
) -> None:
    assert further.language(text) == language
    assert " ".join(further.gloss(text).split()) == gloss


def test_a_thai_face_or_currency_makes_no_thai_message(shipped: Glossary) -> None:
    assert shipped.language("今日の天気を教えて ฅ") == "ja"
    assert shipped.language("how much is ฿500 in euros") == ENGLISH


def test_the_language_does_not_depend_on_the_order_of_a_set() -> None:
    code = "from routing.tools.selection.glossary import Glossary as G; g = G.load(); print(*map(g.language, "
    code += "['planens', 'temperatury', 'televizorem', 'kalenderi']))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "0123"
    }
    assert len(found) == 1


@given(text=st.text(max_size=80))
def test_any_text_is_glossed_with_known_or_original_words(shipped: Glossary, text: str) -> None:
    assert shipped.language(text) in SENTENCES
    assert bool(shipped.gloss(text).strip()) >= bool(written(text))


@pytest.mark.parametrize(
    "text",
    [
        "날씨" * 10_000,
        "날씨 " * 6_000,
        f"schalte das Licht {'x' * 20_000}",
        "天气" * 10_000,
        "ы" * 20_000,
        "die " * 5_000,
        "еске салғышым" + "ды" * 10_000,
        "Aa" + "'" * 20_000 + "x дана",
        "Aa bb " * 5_000,
    ],
    ids=[
        *("one Korean word", "Korean", "one long word", "Chinese", "one Russian word", "German"),
        *("one Kazakh word", "apostrophes", "titles"),
    ],
)
def test_glossing_takes_linear_time(shipped: Glossary, text: str) -> None:
    assert shipped.gloss(text)
