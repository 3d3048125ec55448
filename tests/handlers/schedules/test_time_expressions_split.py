"""A message is split into its time and the rest, and half of a time is not taken for a whole one."""

from __future__ import annotations

import pytest

from handlers.schedules.time_expressions import SPLIT_CHARACTERS, split, understand
from routing.errors import Refused
from tests.handlers.schedules.expressions import BERLIN, NOW


@pytest.mark.parametrize(
    ("language", "said", "when", "rest"),
    [
        ("en", "in 20 minutes tea", "in 20 minutes", "tea"),
        ("en", "me in 2 hours to drink water", "me in 2 hours", "drink water"),
        ("en", "tomorrow 9:00 call Ana", "tomorrow 9:00", "call Ana"),
        ("en", "call Ana tomorrow at 9", "tomorrow at 9", "call Ana"),
        ("en", "Monday meeting at 9", "Monday at 9", "meeting"),
        ("en", "tomorrow Monday's report", "tomorrow", "Monday's report"),
        ("en", "in 30 seconds tea", "in 30 seconds", "tea"),
        ("en", "tomorrow 2 eggs", "tomorrow", "2 eggs"),
        ("en", "do the dishes tomorrow", "tomorrow", "do the dishes"),
        ("en", "every weekday at 8: news", "every weekday at 8", "news"),
        ("en", "in 20 minutes check the oven at 5", "in 20 minutes", "check the oven at 5"),
        ("de", "morgen um 9 Ana anrufen", "morgen um 9", "Ana anrufen"),
        ("fr", "demain à 9h appeler Ana", "demain à 9h", "appeler Ana"),
        ("es", "mañana a las 9 llamar a Ana", "mañana a las 9", "llamar a Ana"),
        ("it", "domani alle 9 chiamare Ana", "domani alle 9", "chiamare Ana"),
        ("pt", "amanhã às 9 ligar para Ana", "amanhã às 9", "ligar para Ana"),
        ("nl", "morgen om 9 uur Ana bellen", "morgen om 9 uur", "Ana bellen"),
        ("pl", "jutro o 9 zadzwonić do Any", "jutro o 9", "zadzwonić do Any"),
        ("ru", "завтра в 9 позвонить Ане", "завтра в 9", "позвонить Ане"),
        ("tr", "yarın saat 9'da Ana'yı ara", "yarın saat 9'da", "Ana'yı ara"),
        ("ar", "غدا الساعة 9 اجتماع", "غدا الساعة 9", "اجتماع"),
        ("ja", "20分後にお茶", "20分後", "お茶"),
        ("ja", "お茶 明日9時", "明日9時", "お茶"),
        ("ko", "내일 오전 9시 회의", "내일 오전 9시", "회의"),
        ("zh", "明天9点开会", "明天9点", "开会"),
        ("zh", "开会明天9点", "明天9点", "开会"),
        ("en", "mon-fri at 8 news", "mon-fri at 8", "news"),
        ("en", "monday to call Ana", "monday", "call Ana"),
        ("en", "pay last invoice tomorrow at 9", "tomorrow at 9", "pay last invoice"),
        ("en", "call Ana 03/04 at 9", "03/04 at 9", "call Ana"),  # refused with both dates
        ("de", "Ana anrufen am 31.02. um 9", "am 31.02. um 9", "Ana anrufen"),
        ("en", "every Mon/Wed/Fri at 9 gym", "every Mon/Wed/Fri at 9", "gym"),
        ("en", "pay rent every month on the 1st and 15th", "every month on the 1st and 15th", "pay rent"),
        ("en", "every month pay rent on the 1st and 15th", "every month on the 1st and 15th", "pay rent"),
        ("en", "run 20 minutes every day at 7", "every day at 7", "run 20 minutes"),
        ("en", "every Friday order food for 2 weeks", "every Friday", "order food for 2 weeks"),
        ("de", "jeden Freitag Essen bestellen für 2 Wochen", "jeden Freitag", "Essen bestellen für 2 Wochen"),
        ("en", "buy 2 and 3 tomorrow", "tomorrow", "buy 2 and 3"),
        ("en", "tomorrow buy 2 and 3", "tomorrow", "buy 2 and 3"),
        ("en", "tomorrow discuss what happened yesterday", "tomorrow", "discuss what happened yesterday"),
        ("en", "buy cards for tomorrow", "tomorrow", "buy cards for"),
        ("de", "morgen in einer Woche um 9 Zahnarzt", "morgen in einer Woche um 9", "Zahnarzt"),
        ("de", "morgen in zwei Wochen um 9 Zahnarzt", "morgen in zwei Wochen um 9", "Zahnarzt"),
        ("de", "übermorgen in einer Woche um 9 Zahnarzt", "übermorgen in einer Woche um 9", "Zahnarzt"),
        ("en", "tomorrow in two weeks at 9 dentist", "tomorrow in two weeks at 9", "dentist"),
        ("en", "dentist tomorrow in two weeks at 9", "tomorrow in two weeks at 9", "dentist"),
        ("en", "tomorrow 2 weeks of holiday", "tomorrow", "2 weeks of holiday"),
        ("de", "jeden Sonntag um 18 Uhr für die Woche einkaufen", "jeden Sonntag um 18 Uhr", "für die Woche einkaufen"),
        (
            "de",
            "jeden Sonntag um 18 Uhr für die nächste Woche planen",
            "jeden Sonntag um 18 Uhr",
            "für die nächste Woche planen",
        ),
        ("en", "every Sunday at 18:00 for the week plan meals", "every Sunday at 18:00", "for the week plan meals"),
        ("de", "morgen um 8 oder so Milch kaufen", "morgen um 8 oder so", "Milch kaufen"),
        ("de", "Milch kaufen morgen um 8 oder so", "morgen um 8 oder so", "Milch kaufen"),
        ("en", "tomorrow at 8 or so buy milk", "tomorrow at 8", "or so buy milk"),
        ("de", "ab morgen täglich um 9 Tablette", "ab morgen täglich um 9", "Tablette"),
        ("nl", "vanaf morgen dagelijks om 9 pil", "vanaf morgen dagelijks om 9", "pil"),
        ("en", "tomorrow at 9 1 or 2 pills", "tomorrow at 9", "1 or 2 pills"),
        ("en", "prepare the morning tomorrow at 5pm", "tomorrow at 5pm", "prepare the morning"),
    ],
)
def test_the_time_is_split_from_the_text(language: str, said: str, when: str, rest: str) -> None:
    assert split(said, NOW, BERLIN, language) == (when, rest)


@pytest.mark.parametrize(
    "said", ["tea", "in 20 minutes", "", "so we go", "buy two books", "5 minutes ago tea", "hoy y mañana a las 9"]
)
def test_a_text_without_a_time_or_a_time_without_a_text(said: str) -> None:
    assert split(said, NOW, BERLIN, "en") is None


def test_long_texts_are_only_looked_at_from_both_ends() -> None:
    long = "every monday at 9 and " * 5_000
    assert split(long + "x", NOW, BERLIN, "en") is not None
    assert split("x" * 100_000, NOW, BERLIN, "en") is None
    assert split("x" * SPLIT_CHARACTERS + " in 20 minutes", NOW, BERLIN, "en") == (
        "in 20 minutes",
        "x" * SPLIT_CHARACTERS,
    )


@pytest.mark.parametrize(
    ("language", "text", "rest"),
    [
        ("en", "every day at 8 and 20 take the pill", "take the pill"),
        ("en", "at 8 and at 20:00 take the pill", "take the pill"),
        ("en", "every day at 8:00, 12:00 and 20:00 take the pill", "take the pill"),
        ("en", "every day at 8, 12 and 20 take the pill", "take the pill"),
        ("en", "every Monday at 8 and Wednesday at 9 gym", "gym"),
        ("en", "every month on the last day pay the rent", "pay the rent"),
        ("en", "every month on the last Friday pay the rent", "pay the rent"),
        ("en", "every weekday except Friday at 8 stand-up", "stand-up"),
        ("de", "jeden Tag um 8 und um 20 Uhr Tablette", "Tablette"),
        ("de", "jeden Werktag außer Freitag um 8 Runde", "Runde"),
        ("de", "jeden Monat am letzten Tag Miete", "Miete"),
        ("fr", "tous les jours à 8h et à 20h médicament", "médicament"),
        ("fr", "tous les jours sauf vendredi à 8h médicament", "médicament"),
        ("es", "todos los días a las 8 y a las 20 pastilla", "pastilla"),
        ("es", "todos los días excepto el viernes a las 8 basura", "basura"),
        ("ru", "каждый день в 8 и в 20 таблетка", "таблетка"),
        ("ru", "каждый день кроме пятницы в 8 мусор", "мусор"),
        ("it", "ogni giorno alle 8 e alle 20 pillola", "pillola"),
        ("it", "ogni giorno tranne venerdì alle 8 spazzatura", "spazzatura"),
        ("pt", "todos os dias às 8 e às 20 pílula", "pílula"),
        ("pt", "todos os dias exceto sexta às 8 lixo", "lixo"),
        ("nl", "elke dag om 8 en om 20 uur pil", "pil"),
        ("nl", "elke dag behalve vrijdag om 8 vuilnis", "vuilnis"),
        ("pl", "codziennie o 8 i o 20 tabletka", "tabletka"),
        ("pl", "codziennie oprócz piątku o 8 śmieci", "śmieci"),
        ("tr", "her gün 8'de ve 20'de ilaç", "ilaç"),
        ("tr", "her gün cuma hariç saat 8'de çöp", "çöp"),
        ("ja", "毎日8時と20時に薬", "薬"),
        ("ja", "毎日金曜日以外8時にゴミ", "ゴミ"),
        ("ko", "매일 8시와 20시에 약", "약"),
        ("ko", "매일 금요일 제외 8시 쓰레기", "쓰레기"),
        ("zh", "每天8点和20点吃药", "吃药"),
        ("zh", "每天除了周五8点倒垃圾", "倒垃圾"),
        ("ar", "كل يوم الساعة 8 و 20 دواء", "دواء"),
        ("ar", "كل يوم ما عدا الجمعة الساعة 8 القمامة", "القمامة"),
        ("en", "every day at 8:00, 20:00 take the pill", "take the pill"),
        ("en", "on Dec 24 and Dec 31 call mum", "call mum"),
        ("en", "every other Monday and Friday at 9 gym", "gym"),
        ("en", "every day at 8 until Friday take the pill", "take the pill"),
        ("en", "every day at 8 for 5 days take the pill", "take the pill"),
        ("en", "every day at 8 or 20 take the pill", "take the pill"),
        ("de", "jeden Tag um 8 oder 20 Uhr Tablette", "Tablette"),
        ("fr", "tous les jours à 8h ou 20h pilule", "pilule"),
        ("es", "todos los días a las 8 o a las 20 pastilla", "pastilla"),
        ("it", "ogni giorno alle 8 o alle 20 pillola", "pillola"),
        ("pt", "todos os dias às 8 ou às 20 pílula", "pílula"),
        ("nl", "elke dag om 8 of 20 uur pil", "pil"),
        ("pl", "codziennie o 8 lub o 20 tabletka", "tabletka"),
        ("ru", "каждый день в 8 или в 20 таблетка", "таблетка"),
        ("tr", "her gün 8'de veya 20'de ilaç", "ilaç"),
        ("ja", "毎日8時または20時に薬", "薬"),
        ("ko", "매일 8시 또는 20시에 약", "약"),
        ("zh", "每天8点或20点吃药", "吃药"),
        ("ar", "كل يوم الساعة 8 أو 20 دواء", "دواء"),
        ("en", "tomorrow and Friday at 9 call mum", "call mum"),
        ("de", "morgen und Freitag um 9 Mama anrufen", "Mama anrufen"),
        ("fr", "demain et vendredi à 9h appeler maman", "appeler maman"),
        ("es", "mañana y el viernes a las 9 llamar", "llamar"),
        ("it", "domani e venerdì alle 9 chiamare", "chiamare"),
        ("pt", "amanhã e sexta às 9 ligar", "ligar"),
        ("nl", "morgen en vrijdag om 9 bellen", "bellen"),
        ("pl", "jutro i w piątek o 9 zadzwonić", "zadzwonić"),
        ("ru", "завтра и в пятницу в 9 позвонить", "позвонить"),
        ("tr", "yarın ve cuma saat 9'da ara", "ara"),
        ("ja", "明日と金曜日9時に電話", "電話"),
        ("ko", "내일과 금요일 9시에 약", "약"),
        ("zh", "明天和周五9点打电话", "打电话"),
        ("ar", "غدا و الجمعة الساعة 9 اتصل", "اتصل"),
        ("de", "Montag in einer Woche um 9 Zahnarzt", "Zahnarzt"),
        ("en", "tomorrow in 2 days call Ana", "call Ana"),
        ("en", "every Monday morning and Friday evening water the plants", "water the plants"),
        ("de", "jeden Montag früh und Freitag Abend Blumen gießen", "Blumen gießen"),
        ("de", "jeden Montag Abend und Freitag morgen Blumen gießen", "Blumen gießen"),
        ("fr", "chaque lundi matin et jeudi soir arroser", "arroser"),
        ("es", "cada martes por la mañana y jueves por la tarde regar", "regar"),
        ("en", "on the 15th and 30th of every month pay", "pay"),
        ("de", "am 15. und 30. jeden Monats zahlen", "zahlen"),
        ("es", "el 15 y 30 de cada mes pagar", "pagar"),
        ("pl", "15. i 30. dnia każdego miesiąca zapłacić", "zapłacić"),
        ("en", "every Sunday at 18:00 for a week plan meals", "plan meals"),
        ("en", "every Sunday at 18:00 for two weeks plan meals", "plan meals"),
        ("de", "jeden Tag um 8 für die nächsten zwei Wochen Tablette", "Tablette"),
        ("de", "jeden Tag um 8 eine Woche lang Tablette", "Tablette"),
        ("pl", "codziennie o 8 przez tydzień tabletka", "tabletka"),
        ("de", "Samstag oder So um 9 Sport", "Sport"),
        ("de", "Samstag oder So Sport", "Sport"),
        ("de", "jeden Tag um 8 5 Tage lang Tablette", "Tablette"),
        ("de", "jeden Tag um 8 Uhr, 12 Uhr und 20 Uhr Tablette", "Tablette"),
        ("de", "jeden Tag um 8 Uhr, 12 Uhr, 20 Uhr Tablette", "Tablette"),
        ("de", "täglich um 8 Uhr, 12 Uhr Tablette", "Tablette"),
        ("de", "täglich 8 Uhr, 20 Uhr Tablette", "Tablette"),
        ("tr", "yarın iki hafta sonra saat 9'da dişçi", "dişçi"),
        ("ja", "明日2週間後9時に歯医者", "歯医者"),
        ("de", "Samstag um 8 oder So um 9 Sport", "Sport"),
    ],
)
def test_half_of_a_time_is_no_time(language: str, text: str, rest: str) -> None:
    """What is not understood of a time must not go into the text."""
    found = split(text, NOW, BERLIN, language)
    assert found is not None
    assert found[1] == rest
    with pytest.raises(Refused, match="I don't understand the time"):
        understand(found[0], NOW, BERLIN, language)


@pytest.mark.parametrize(
    ("language", "text", "time"),
    [
        ("en", "stand-up", "every weekday except Friday at 8"),
        ("en", "stand-up", "every weekday at 8 except Friday"),
        ("en", "take the pill", "every day at 8 and 20"),
        ("en", "stand-up", "every weekday except Friday at 8:00"),
        ("en", "take the pill", "every day at 8:00 and 20:00"),
        ("en", "take the pill", "every day at 8 and at 20"),
        ("en", "take the pill", "every day at 8am and 8pm"),
        ("en", "gym", "every Monday at 8 and Wednesday at 9"),
        ("en", "pay the rent", "every month on the last day"),
        ("en", "call Ana", "yesterday at 9"),
        ("en", "take the pill", "every day at 8:00, 20:00"),
        ("en", "take the pill", "at 8 or 20"),
        ("en", "take the pill", "in 2 hours and in 4 hours"),
        ("en", "call Ana", "Monday or Tuesday at 9"),
        ("en", "meditate", "every day 20 minutes"),
        ("en", "pill", "every day at 8 until Friday"),
        ("en", "pill", "every day at 8 for 5 days"),
        ("de", "Tablette", "jeden Tag um 8 bis Freitag"),
        ("de", "Tablette", "jeden Tag um 8 für 5 Tage"),
        ("fr", "pilule", "tous les jours à 8h jusqu'à vendredi"),
        ("fr", "pilule", "tous les jours à 8h pendant 5 jours"),
        ("fr", "prendre la pilule", "à 8h et 20h"),
        ("es", "pastilla", "todos los días a las 8 hasta el viernes"),
        ("es", "pastilla", "todos los días a las 8 durante 5 días"),
        ("it", "pillola", "ogni giorno alle 8 fino a venerdì"),
        ("it", "pillola", "ogni giorno alle 8 per 5 giorni"),
        ("pt", "pílula", "todos os dias às 8 por 5 dias"),
        ("nl", "pil", "elke dag om 8 tot vrijdag"),
        ("nl", "pil", "elke dag om 8 gedurende 5 dagen"),
        ("pl", "tabletka", "codziennie o 8 do piątku"),
        ("pl", "tabletka", "codziennie o 8 przez 5 dni"),
        ("ru", "таблетка", "каждый день в 8 до пятницы"),
        ("ru", "таблетка", "каждый день в 8 в течение 5 дней"),
        ("tr", "ilaç", "her gün saat 8'de cumaya kadar"),
        ("tr", "ilaç", "her gün saat 8'de 5 gün boyunca"),
        ("ja", "薬", "毎日8時金曜日まで"),
        ("ja", "薬", "毎日8時5日間"),
        ("ko", "약", "매일 8시 금요일까지"),
        ("ko", "약", "매일 8시 5일 동안"),
        ("zh", "吃药", "每天8点到周五"),
        ("zh", "吃药", "每天8点持续5天"),
        ("ar", "دواء", "كل يوم الساعة 8 حتى الجمعة"),
        ("ar", "دواء", "كل يوم الساعة 8 لمدة 5 أيام"),
        ("en", "water", "every January and July on the 1st"),
        ("en", "water the plants", "every Monday morning and Friday evening"),
        ("en", "water", "in the morning and in the evening"),
        ("en", "water", "in the morning tomorrow evening"),
        ("es", "pagar", "hoy y mañana a las 9"),
        ("es", "pagar", "el 15 y 30 de cada mes"),
        ("en", "pay", "on the 15th and 30th of every month"),
    ],
)
def test_half_of_a_time_at_the_end_is_no_time(language: str, text: str, time: str) -> None:
    assert split(f"{text} {time}", NOW, BERLIN, language) == (time, text)
    with pytest.raises(Refused, match=f"I don't understand the time “{time}”"):
        understand(time, NOW, BERLIN, language)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("every day take the pill at 8:00 and 20:00", "every day at 8:00 and 20:00"),
        ("every weekday take the pill at 8 except Friday", "every weekday at 8 except Friday"),
        ("every month take the pill on the last day", "every month on the last day"),
    ],
)
def test_both_ends_are_refused_together(text: str, when: str) -> None:
    assert split(text, NOW, BERLIN, "en") == (when, "take the pill")
    with pytest.raises(Refused, match=f"I don't understand the time “{when}”"):
        understand(when, NOW, BERLIN, "en")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("tomorrow at 9 and a half of the cake", "and a half of the cake"),
        ("tomorrow 2 tickets", "2 tickets"),
        ("every day at 8 the last chance", "the last chance"),
        ("tomorrow last day to pay", "last day to pay"),
        ("tomorrow at 8:00 2 and more eggs", "2 and more eggs"),
        ("tomorrow at 9, 5 & dime shopping", "5 & dime shopping"),
        ("at 9, 10 and x", "10 and x"),
        ("tomorrow at 9 or never", "or never"),
        ("every day at 8 for 2 people cook", "for 2 people cook"),
        ("every Monday at 9 for 2 hours meeting", "for 2 hours meeting"),
    ],
)
def test_words_behind_a_time_are_text(text: str, rest: str) -> None:
    found = split(text, NOW, BERLIN, "en")
    assert found is not None
    assert found[1] == rest
