"""Time expressions in fourteen languages, ISO times and cron. It is Monday, 23 November 2026, 10:00 in Berlin."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.schedules.time_expressions import MAX_CHARACTERS, SPLIT_CHARACTERS, exactly, split, understand
from handlers.schedules.time_words import languages, phrases
from routing.errors import Refused

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=BERLIN).timestamp()

IN_20 = "11-23 10:20"
TOMORROW_9 = "11-24 09:00"
OVERMORROW = "11-25 09:00"
THURSDAY = "11-26 14:30"
TONIGHT = "11-23 20:00"
CHRISTMAS = "12-24 18:00"
WORKDAYS = "11-24 08:00 0 8 * * 1-5"
MONDAYS = "11-30 09:00 0 9 * * 1"
DAILY = "11-24 07:00 0 7 * * *"
THIRD = "12-03 09:00"
FIFTEENTH = "12-15 09:00 0 9 15 * *"
FIRST_AND_FIFTEENTH = "12-01 09:00 0 9 1,15 * *"
EVERY_20 = "11-23 10:20 @every 1200"

EXPRESSIONS = {
    "en": {
        "in 20 minutes": IN_20,
        "20 min": IN_20,
        "in half an hour": "11-23 10:30",
        "in 2 hours": "11-23 12:00",
        "an hour from now": "11-23 11:00",
        "in 3 days": "11-26 10:00",
        "in 2 weeks at 9": "12-07 09:00",
        "tomorrow in two weeks at 9": "12-08 09:00",
        "tomorrow at 9": TOMORROW_9,
        "tomorrow 9am": TOMORROW_9,
        "tomorrow morning": TOMORROW_9,
        "tomorrow": TOMORROW_9,
        "tomorrow evening at 8": "11-24 20:00",
        "the day after tomorrow at 9:00": OVERMORROW,
        "Thursday at 2:30 pm": THURSDAY,
        "on Monday at 9": "11-30 09:00",
        "next Monday at 9": "11-30 09:00",
        "next week": "11-30 10:00",
        "tonight at 8": TONIGHT,
        "at 8pm": TONIGHT,
        "at 9": TOMORROW_9,
        "noon": "11-23 12:00",
        "midnight": "11-24 00:00",
        "24 December at 18:00": CHRISTMAS,
        "December 24th, 6 pm": CHRISTMAS,
        "the 1st at 9": "12-01 09:00",
        "12/24/2026 6 pm": CHRISTMAS,
        "every weekday at 8": WORKDAYS,
        "weekdays at 8:00": WORKDAYS,
        "every Monday at 9": MONDAYS,
        "Mondays at 9": MONDAYS,
        "every Monday and Thursday at 9": "11-26 09:00 0 9 * * 1,4",
        "every day at 7": DAILY,
        "daily at 7am": DAILY,
        "every morning": "11-24 09:00 0 9 * * *",
        "every evening at 8": "11-23 20:00 0 20 * * *",
        "every 20 minutes": EVERY_20,
        "hourly": "11-23 11:00 @every 3600",
        "every hour": "11-23 11:00 @every 3600",
        "every 2 weeks on Friday at 9": "11-27 09:00 @days 14 09:00",
        "every other day at 9": "11-25 09:00 @days 2 09:00",
        "every month on the 1st at 9": "12-01 09:00 0 9 1 * *",
        "every year on December 24 at 18:00": "12-24 18:00 0 18 24 12 *",
        "every weekend at 10:30": "11-28 10:30 30 10 * * 0,6",
        "2026-11-24 09:00": TOMORROW_9,
        "2026-11-24T09:00": TOMORROW_9,
        "2026-11-24T08:00:00Z": TOMORROW_9,
        "2026-11-24T03:00:00-05:00": TOMORROW_9,
        "0 8 * * 1-5": WORKDAYS,
        "*/20 * * * *": "11-23 10:20 */20 * * * *",
        "in an hour and a half": "11-23 11:30",
        "in a quarter of an hour": "11-23 10:15",
        "in forty-five minutes": "11-23 10:45",
        "half past nine": "11-24 09:30",
        "half 9": "11-24 09:30",
        "quarter to 9": "11-24 08:45",
        "tomorrow 24:00": "11-25 00:00",
        "today at midnight": "11-24 00:00",
        "tonight at 1 am": "11-24 01:00",
        "tonight at 11": "11-23 23:00",
        "next friday 17:30": "11-27 17:30",
        "29 Feb at 9": "02-29 09:00",
        "mon-fri at 8": WORKDAYS,
        "every monday to friday at 8": WORKDAYS,
        "friday to sunday at 10": "11-27 10:00 0 10 * * 0,5,6",
        "15 at 9": "12-15 09:00",
        "in 90 seconds": "11-23 10:01",
        "monthly on 15": FIFTEENTH,
        "on the 15 every month": FIFTEENTH,
        "next month on the 3rd": THIRD,
        "on the 3rd of next month at 9": THIRD,
        "every month on the 1st and 15th": FIRST_AND_FIFTEENTH,
        "every 1st and 15th": FIRST_AND_FIFTEENTH,
        "on the 1st, 10th and 20th of every month at 8": "12-01 08:00 0 8 1,10,20 * *",
        "every December 24 and 31": "12-24 09:00 0 9 24,31 12 *",
        "every 24 and 31 December": "12-24 09:00 0 9 24,31 12 *",
        "in 1 hour and 30 minutes": "11-23 11:30",
        "in 2 days and 3 hours": "11-25 13:00",
        "in 2 weeks, 3 days and 4 hours": "12-10 14:00",
        "every Monday morning and Friday morning": "11-27 09:00 0 9 * * 1,5",
        "every Mon/Wed/Fri at 9": "11-25 09:00 0 9 * * 1,3,5",
        "midnight tonight": "11-24 00:00",
        "tomorrow, 24 November": TOMORROW_9,
        "next year on May 5": "05-05 09:00",
    },
    "de": {
        "in 20 Minuten": IN_20,
        "in einer halben Stunde": "11-23 10:30",
        "in einer Stunde": "11-23 11:00",
        "morgen um 9 Uhr": TOMORROW_9,
        "morgen früh": TOMORROW_9,
        "übermorgen um 9": OVERMORROW,
        "morgen in einer Woche um 9": "12-01 09:00",
        "übermorgen in zwei Wochen": "12-09 09:00",
        "ab morgen täglich um 20 Uhr": "11-24 20:00 0 20 * * *",
        "täglich ab morgen um 20 Uhr": "11-24 20:00 0 20 * * *",
        "morgen um 8 oder so": "11-24 08:00",
        "am Donnerstag um 14:30 Uhr": THURSDAY,
        "Donnerstag um halb drei nachmittags": THURSDAY,
        "heute Abend um 8": TONIGHT,
        "um 20 Uhr": TONIGHT,
        "am 24. Dezember um 18 Uhr": CHRISTMAS,
        "24.12. 18:00": CHRISTMAS,
        "3.12.": "12-03 09:00",
        "um 9:30.": "11-24 09:30",
        "24.12.2026 um 18 Uhr": CHRISTMAS,
        "werktags um 8": WORKDAYS,
        "jeden Werktag um 8 Uhr": WORKDAYS,
        "jeden Montag um 9": MONDAYS,
        "montags um 9 Uhr": MONDAYS,
        "jeden Tag um 7": DAILY,
        "täglich um 7 Uhr": DAILY,
        "jeden Morgen um 7": DAILY,
        "alle 20 Minuten": EVERY_20,
        "alle 2 Wochen am Freitag um 9": "11-27 09:00 @days 14 09:00",
        "um halb 9": "11-24 08:30",
        "in anderthalb Stunden": "11-23 11:30",
        "in einer Viertelstunde": "11-23 10:15",
        "um Viertel nach neun": "11-24 09:15",
        "jeden Mo-Fr um 8": WORKDAYS,
        "Montag bis Freitag um 8": WORKDAYS,
        "heute um Mitternacht": "11-24 00:00",
        "heute Nacht um 1": "11-24 01:00",
        "morgen um 24 Uhr": "11-25 00:00",
        "morgenabend um 8": "11-24 20:00",
        "nächste Woche Freitag um 9": "12-04 09:00",
        "jeden Monat am 15.": FIFTEENTH,
        "am 15. jeden Monats": FIFTEENTH,
        "monatlich am 15": FIFTEENTH,
        "in 90 Sekunden": "11-23 10:01",
        "am 3. nächsten Monats um 9": THIRD,
        "jeden Monat am 1. und 15.": FIRST_AND_FIFTEENTH,
        "am 1. und 15. jeden Monats": FIRST_AND_FIFTEENTH,
        "in 2 Tagen und 3 Stunden": "11-25 13:00",
        "Montag morgen": "11-30 09:00",
    },
    "fr": {
        "dans 20 minutes": IN_20,
        "dans une demi-heure": "11-23 10:30",
        "demain à 9h": TOMORROW_9,
        "demain matin": TOMORROW_9,
        "après-demain à 9 heures": OVERMORROW,
        "jeudi à 14h30": THURSDAY,
        "ce soir à 20h": TONIGHT,
        "le 24 décembre à 18h": CHRISTMAS,
        "tous les jours à 7h": DAILY,
        "chaque lundi à 9h": MONDAYS,
        "tous les lundis à 9 h": MONDAYS,
        "chaque jour ouvrable à 8h": WORKDAYS,
        "toutes les 20 minutes": EVERY_20,
        "dans un quart d'heure": "11-23 10:15",
        "dans une heure et demie": "11-23 11:30",
        "à neuf heures et quart": "11-24 09:15",
        "du lundi au vendredi à 8h": WORKDAYS,
        "tous les mois le 15 à 9h": "12-15 09:00 0 9 15 * *",
        "tous les mois le 15": FIFTEENTH,
        "dans 90 secondes": "11-23 10:01",
        "le mois prochain le 3": THIRD,
        "le 3 du mois prochain à 9h": THIRD,
        "le 1er et le 15 de chaque mois": FIRST_AND_FIFTEENTH,
    },
    "es": {
        "en 20 minutos": IN_20,
        "dentro de media hora": "11-23 10:30",
        "mañana a las 9": TOMORROW_9,
        "mañana por la mañana": TOMORROW_9,
        "pasado mañana a las 9": OVERMORROW,
        "el jueves a las 14:30": THURSDAY,
        "hoy a las 8 de la tarde": TONIGHT,
        "el 24 de diciembre a las 18:00": CHRISTMAS,
        "todos los días a las 7": DAILY,
        "cada lunes a las 9": MONDAYS,
        "los lunes a las 9": MONDAYS,
        "entre semana a las 8": WORKDAYS,
        "cada 20 minutos": EVERY_20,
        "en un cuarto de hora": "11-23 10:15",
        "dentro de una hora y media": "11-23 11:30",
        "a las nueve y media": "11-24 09:30",
        "de lunes a viernes a las 8": WORKDAYS,
        "el 15 a las 9": "12-15 09:00",
        "cada mes el 15": FIFTEENTH,
        "el 15 de cada mes a las 9": FIFTEENTH,
        "en 90 segundos": "11-23 10:01",
        "el 3 del próximo mes": THIRD,
        "el 1 y el 15 de cada mes": FIRST_AND_FIFTEENTH,
    },
    "it": {
        "tra 20 minuti": IN_20,
        "fra mezz'ora": "11-23 10:30",
        "domani alle 9": TOMORROW_9,
        "domani mattina": TOMORROW_9,
        "dopodomani alle 9": OVERMORROW,
        "giovedì alle 14:30": THURSDAY,
        "stasera alle 8": TONIGHT,
        "il 24 dicembre alle 18": CHRISTMAS,
        "ogni giorno alle 7": DAILY,
        "tutti i giorni alle 7": DAILY,
        "ogni lunedì alle ore 9": MONDAYS,
        "ogni giorno feriale alle 8": WORKDAYS,
        "ogni 20 minuti": EVERY_20,
        "tra un quarto d'ora": "11-23 10:15",
        "tra un'ora e mezza": "11-23 11:30",
        "alle nove e mezza": "11-24 09:30",
        "dal lunedì al venerdì alle 8": WORKDAYS,
        "il 15 alle 9": "12-15 09:00",
        "ogni mese il 15": FIFTEENTH,
        "il 15 di ogni mese alle 9": FIFTEENTH,
        "tra 90 secondi": "11-23 10:01",
        "il 3 del prossimo mese": THIRD,
        "il 1 e il 15 di ogni mese": FIRST_AND_FIFTEENTH,
    },
    "pt": {
        "em 20 minutos": IN_20,
        "daqui a meia hora": "11-23 10:30",
        "amanhã às 9": TOMORROW_9,
        "amanhã de manhã": TOMORROW_9,
        "depois de amanhã às 9h": OVERMORROW,
        "quinta-feira às 14:30": THURSDAY,
        "hoje à noite às 8": TONIGHT,
        "24 de dezembro às 18h": CHRISTMAS,
        "todos os dias às 7h": DAILY,
        "toda segunda-feira às 9": MONDAYS,
        "dias úteis às 8": WORKDAYS,
        "a cada 20 minutos": EVERY_20,
        "em um quarto de hora": "11-23 10:15",
        "daqui a uma hora e meia": "11-23 11:30",
        "às nove e meia": "11-24 09:30",
        "de segunda a sexta às 8": WORKDAYS,
        "todo mês no dia 15": FIFTEENTH,
        "dia 15 de cada mês às 9": FIFTEENTH,
        "em 90 segundos": "11-23 10:01",
        "no dia 3 do próximo mês": THIRD,
        "dia 1 e 15 de cada mês": FIRST_AND_FIFTEENTH,
    },
    "nl": {
        "over 20 minuten": IN_20,
        "over een half uur": "11-23 10:30",
        "morgen om 9 uur": TOMORROW_9,
        "morgenochtend": TOMORROW_9,
        "overmorgen om 9 uur": OVERMORROW,
        "donderdag om 14:30": THURSDAY,
        "vanavond om 8 uur": TONIGHT,
        "24 december om 18 uur": CHRISTMAS,
        "elke dag om 7 uur": DAILY,
        "elke maandag om 9 uur": MONDAYS,
        "elke werkdag om 8": WORKDAYS,
        "elke 20 minuten": EVERY_20,
        "over een kwartier": "11-23 10:15",
        "over anderhalf uur": "11-23 11:30",
        "om half negen": "11-24 08:30",
        "maandag tot en met vrijdag om 8": WORKDAYS,
        "morgenavond om 8 uur": "11-24 20:00",
        "vannacht om 1 uur": "11-24 01:00",
        "elke maand op 15": FIFTEENTH,
        "elke maand op 1 en 15": FIRST_AND_FIFTEENTH,
        "over 90 seconden": "11-23 10:01",
    },
    "pl": {
        "za 20 minut": IN_20,
        "za pół godziny": "11-23 10:30",
        "jutro o 9": TOMORROW_9,
        "jutro rano": TOMORROW_9,
        "pojutrze o 9:00": OVERMORROW,
        "w czwartek o 14:30": THURSDAY,
        "dziś wieczorem o 8": TONIGHT,
        "24 grudnia o 18:00": CHRISTMAS,
        "codziennie o 7": DAILY,
        "każdego dnia o 7": DAILY,
        "w każdy poniedziałek o 9": MONDAYS,
        "co poniedziałek o 9": MONDAYS,
        "w dni robocze o 8": WORKDAYS,
        "co 20 minut": EVERY_20,
        "za kwadrans": "11-23 10:15",
        "za półtorej godziny": "11-23 11:30",
        "za godzinę": "11-23 11:00",
        "za tydzień": "11-30 10:00",
        "o dziewiątej": TOMORROW_9,
        "o wpół do dziewiątej": "11-24 08:30",
        "od poniedziałku do piątku o 8": WORKDAYS,
        "co miesiąc 15.": FIFTEENTH,
        "co miesiąc 1. i 15.": FIRST_AND_FIFTEENTH,
        "15. dnia każdego miesiąca o 9": FIFTEENTH,
        "za 90 sekund": "11-23 10:01",
    },
    "ru": {
        "через 20 минут": IN_20,
        "через полчаса": "11-23 10:30",
        "завтра в 9": TOMORROW_9,
        "завтра утром": TOMORROW_9,
        "послезавтра в 9:00": OVERMORROW,
        "в четверг в 14:30": THURSDAY,
        "сегодня в 8 вечера": TONIGHT,
        "24 декабря в 18:00": CHRISTMAS,
        "каждый день в 7 утра": DAILY,
        "ежедневно в 7": DAILY,
        "каждый понедельник в 9": MONDAYS,
        "по понедельникам в 9": MONDAYS,
        "по будням в 8": WORKDAYS,
        "каждые 20 минут": EVERY_20,
        "через четверть часа": "11-23 10:15",
        "через полтора часа": "11-23 11:30",
        "через час": "11-23 11:00",
        "через неделю": "11-30 10:00",
        "каждый будний день в 8": WORKDAYS,
        "с понедельника по пятницу в 8": WORKDAYS,
        "сегодня ночью в 2": "11-24 02:00",
        "каждый месяц 15 числа": FIFTEENTH,
        "каждый месяц 1 и 15 числа": FIRST_AND_FIFTEENTH,
        "через 2 дня и 3 часа": "11-25 13:00",
        "15 числа каждого месяца в 9": FIFTEENTH,
        "через 90 секунд": "11-23 10:01",
    },
    "tr": {
        "20 dakika sonra": IN_20,
        "yarım saat sonra": "11-23 10:30",
        "yarın saat 9'da": TOMORROW_9,
        "yarın sabah": TOMORROW_9,
        "öbür gün saat 9'da": OVERMORROW,
        "perşembe 14:30'da": THURSDAY,
        "bu akşam saat 8'de": TONIGHT,
        "24 aralık saat 18:00": CHRISTMAS,
        "her gün saat 7'de": DAILY,
        "her pazartesi saat 9'da": MONDAYS,
        "hafta içi her gün saat 8'de": WORKDAYS,
        "her 20 dakikada bir": EVERY_20,
        "çeyrek saat sonra": "11-23 10:15",
        "bir buçuk saat sonra": "11-23 11:30",
        "saat dokuz buçukta": "11-24 09:30",
        "haftaya cuma 17:30": "12-04 17:30",
        "90 saniye sonra": "11-23 10:01",
    },
    "ar": {
        "بعد ٢٠ دقيقة": IN_20,
        "بعد نصف ساعة": "11-23 10:30",
        "بعد ساعتين": "11-23 12:00",
        "غدا الساعة 9": TOMORROW_9,
        "غدا صباحا": TOMORROW_9,
        "بعد غد الساعة 9": OVERMORROW,
        "في الساعة ٥": "11-24 05:00",
        "يوم الخميس الساعة 14:30": THURSDAY,
        "الليلة الساعة 8": TONIGHT,
        "24 ديسمبر الساعة 18:00": CHRISTMAS,
        "كل يوم الساعة 7": DAILY,
        "كل يوم اثنين الساعة 9": MONDAYS,
        "غدا الساعة التاسعة والنصف": "11-24 09:30",
        "كل 20 دقيقة": EVERY_20,
        "بعد 90 ثانية": "11-23 10:01",
    },
    "ja": {
        "20分後": IN_20,
        "3日後": "11-26 10:00",
        "明日9時": TOMORROW_9,
        "明日の9時": TOMORROW_9,
        "明日の朝": TOMORROW_9,
        "明後日9時": OVERMORROW,
        "木曜日の午後2時半": THURSDAY,
        "来週の金曜日17時30分": "12-04 17:30",
        "今夜8時": TONIGHT,
        "12月24日18時": CHRISTMAS,
        "毎朝7時": DAILY,
        "毎日7時": DAILY,
        "平日8時": WORKDAYS,
        "毎週月曜日9時": MONDAYS,
        "毎月1日9時": "12-01 09:00 0 9 1 * *",
        "毎月1日と15日": FIRST_AND_FIFTEENTH,
        "2日3時間後": "11-25 13:00",
        "20分ごと": EVERY_20,
        "90秒後": "11-23 10:01",
        "来月3日": THIRD,
        "12月3日": THIRD,
        "3日": THIRD,
        "3日後9時": "11-26 09:00",
    },
    "ko": {
        "20분 후": IN_20,
        "한 시간 후": "11-23 11:00",
        "내일 오전 9시": TOMORROW_9,
        "내일 아침": TOMORROW_9,
        "모레 9시": OVERMORROW,
        "목요일 오후 2시 30분": THURSDAY,
        "다음 주 금요일 17:30": "12-04 17:30",
        "오늘 밤 8시": TONIGHT,
        "12월 24일 18시": CHRISTMAS,
        "매일 아침 7시": DAILY,
        "평일 8시": WORKDAYS,
        "매주 월요일 9시": MONDAYS,
        "20분마다": EVERY_20,
        "90초 후": "11-23 10:01",
        "다음 달 3일": THIRD,
        "매월 1일과 15일": FIRST_AND_FIFTEENTH,
        "3일": THIRD,
    },
    "zh": {
        "20分钟后": IN_20,
        "半小时后": "11-23 10:30",
        "明天9点": TOMORROW_9,
        "明天上午9点": TOMORROW_9,
        "明天早上": TOMORROW_9,
        "后天9点": OVERMORROW,
        "周四下午两点半": THURSDAY,
        "下周五17:30": "12-04 17:30",
        "今晚8点": TONIGHT,
        "12月24日18点": CHRISTMAS,
        "每天早上7点": DAILY,
        "每天7点": DAILY,
        "工作日8点": WORKDAYS,
        "周一到周五8点": WORKDAYS,
        "每周一9点": MONDAYS,
        "每20分钟": EVERY_20,
        "90秒后": "11-23 10:01",
        "下个月3号9点": THIRD,
        "每月1号和15号": FIRST_AND_FIFTEENTH,
        "3号": THIRD,
        "3天": "11-26 10:00",
    },
}
ROWS = [(language, said, wanted) for language, rows in EXPRESSIONS.items() for said, wanted in rows.items()]


@pytest.mark.parametrize("language", EXPRESSIONS)
def test_expressions(language: str) -> None:
    wrong = {
        said: found for code, said, wanted in ROWS if code == language and (found := shown(said, language)) != wanted
    }
    assert wrong == {}


@pytest.mark.parametrize("language", EXPRESSIONS)
def test_the_language_of_the_person_is_only_a_hint(language: str) -> None:
    """Ambiguous words aside, everything is also understood if the person's app is in another language."""
    wrong = {said for code, said, wanted in ROWS if code == language and shown(said, "xx") != wanted}
    assert wrong == set()


@pytest.mark.parametrize(
    ("language", "said", "wanted"),
    [
        ("en", "in 1.5 hours", "11-23 11:30"),
        ("en", "in 1:30 hours", "11-23 11:30"),
        ("en", "in 0.5 h", "11-23 10:30"),
        ("en", "every 1.5 hours", "11-23 11:30 @every 5400"),
        ("en", "2.5 days from now", "11-25 22:00"),
        ("de", "in 1,5 Stunden", "11-23 11:30"),
        ("fr", "dans 1,5 heure", "11-23 11:30"),
        ("tr", "1,5 saat sonra", "11-23 11:30"),
        ("ru", "через 1,5 часа", "11-23 11:30"),
        ("ja", "1.5時間後", "11-23 11:30"),
        ("zh", "1.5小时后", "11-23 11:30"),
        ("ko", "1.5시간 후", "11-23 11:30"),
    ],
)
def test_lengths_need_not_be_whole(language: str, said: str, wanted: str) -> None:
    assert shown(said, language) == wanted


@pytest.mark.parametrize(
    ("language", "said", "wanted"),
    [
        ("en", "12 at night", "11-24 00:00"),
        ("en", "tonight at 12", "11-24 00:00"),
        ("en", "tomorrow at 12:30 at night", "11-25 00:30"),
        ("en", "every day at 12 at night", "11-24 00:00 0 0 * * *"),
        ("de", "um 12 Uhr nachts", "11-24 00:00"),
        ("es", "a las 12 de la noche", "11-24 00:00"),
        ("zh", "晚上12点", "11-24 00:00"),
        ("zh", "中午12点", "11-23 12:00"),
        ("en", "12 midnight", "11-24 00:00"),
    ],
)
def test_twelve_at_night_is_midnight(language: str, said: str, wanted: str) -> None:
    assert shown(said, language) == wanted


def shown(said: str, language: str, now: float = NOW) -> str:
    try:
        when = understand(said, now, BERLIN, language)
    except Refused as refused:
        return str(refused)
    return f"{datetime.fromtimestamp(when.at, BERLIN):%m-%d %H:%M} {when.rule}".strip()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("soon", "don't understand"),
        ("", "don't understand"),
        ("9", "don't understand"),
        ("31.02.", "does not exist: 02-31"),
        ("29 February 2027 at 9", "does not exist: 2027-02-29"),
        ("30 feb", "does not exist: 02-30"),
        ("-5 minutes", "don't understand"),
        ("in 25", "don't understand"),
        ("in 1.30 hours", "don't understand"),
        ("at 1.5", "don't understand"),
        ("in 1.5 months", "don't understand"),
        ("9am pm", "don't understand"),
        ("tomorrow morning at 9pm", "don't understand"),
        ("every Monday at 12 at night", "don't understand"),
        ("2 days ago", "don't understand"),
        ("yesterday at 9", "don't understand"),
        ("jeden ersten Montag um 9", "don't understand"),  # of the month?
        ("Fridays at 24:00", "don't understand"),
        ("tomorrow at 9 in New York", "don't understand"),
        ("tomorrow 9:00 EST", "don't understand"),
        ("every day at 25:00", "don't understand"),
        ("every monday until december", "don't understand"),
        ("in 0 minutes", "don't understand"),
        ("every 0 minutes", "don't understand"),
        ("in 9999 years", "don't understand"),
        ("0 0 30 2 *", "don't understand"),  # never
        ("x" * (MAX_CHARACTERS + 1), "up to 200 characters"),
        ("today at 9", "in the past"),
        ("2020-01-01 10:00", "in the past"),
        ("24.12.2025", "in the past"),
        ("2090-01-01 10:00", "too far away"),
        ("03/04 at 9", "can mean 2027-04-03 or 2027-03-04"),
        ("Monday Tuesday 9:00", "several days"),
        ("Monday 1 December at 9", "2026-12-01 is not on that day of the week"),
        ("tomorrow on Monday", "2026-11-24 is not on that day of the week"),
        ("next week on the 3rd", "don't understand"),
        ("Montag in einer Woche", "don't understand"),
        ("todo dia 15", "don't understand"),
        ("every day at noon and midnight", "don't understand"),
        ("every month at 24:00", "don't understand"),
        ("every week at 24:00", "don't understand"),
        ("9999-12-31 24:00", "too far away"),
        ("0001-01-01T00:00+10:00", "too far away"),
        ("1990-01-01", "in the past (1990-01-01 09:00)"),
    ],
)
def test_what_can_not_be_used_says_why(said: str, why: str) -> None:
    assert why in shown(said, "en")


@pytest.mark.parametrize(
    "said",
    [
        "every month on the 15th and 30th",
        "on the 15th and 30th of every month",
        "Montag oder So",
        "ab morgen um 9",
        "ab morgen alle 20 Minuten",
        "every December 24 and January 6",
        "24.12. 6.1.",
        "in 2 hours and in 4 hours",
        "in 2 hours 2 hours",
        "in 3 hours and 2 days",
        "next month in 3 days",
        "at noon and at 5pm",
        "every Monday morning and Friday evening",
        "every Monday at 8 and Friday",
        "every day and every Monday at 9",
        "every day every month",
        "every hour daily",
        "every 2 weeks on the 3rd",
        "every day on the 3rd",
        "every year on the 3rd",
        "every year on Monday",
        "every Monday and the 1st at 9",
        "every day at 8:00, 20:00",
        "every day at 8 for 5 days",
        "today and tomorrow at 9",
        "tomorrow and Friday at 9",
        "tomorrow or Friday at 9",
        "tomorrow in 2 days",
        "tomorrow, 25 November",
        "tomorrow pm",
        "jeden Morgen und jeden Abend",
        "in 2 Stunden und in 4 Stunden",
        "tous les matins et tous les soirs",
        "8h et 20h",
        "en 2 horas y en 4 horas",
        "ogni mattina e ogni sera",
        "toda manhã e toda noite",
        "elke ochtend en elke avond",
        "za 2 godziny i za 4 godziny",
        "через 2 часа и через 4 часа",
        "her sabah ve her akşam",
        "2時間後と4時間後",
        "매일 아침과 저녁",
        "每天早上和晚上",
        "بعد ساعتين و بعد 4 ساعات",
    ],
)
def test_one_of_two_times_is_not_dropped(said: str) -> None:
    assert "I don't understand the time" in shown(said, "en")


@pytest.mark.parametrize(
    "said", ["on the 3rd and 5th at 9", "am 24. und 31. Dezember", "24.12. 25.12.", "3日と5日", "Mon/Wed/Fri at 9"]
)
def test_several_days_need_every(said: str) -> None:
    assert "These are several days" in shown(said, "en")


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "UTC", "Pacific/Auckland"])
@pytest.mark.parametrize("said", ["9999-12-31 23:59", "on 9999-12-31 at 23:00", "0001-01-01 00:00"])
def test_the_ends_of_the_calendar_are_too_far_away_in_each_zone(zone: str, said: str) -> None:
    with pytest.raises(Refused, match=r"too far away|in the past"):
        understand(said, NOW, ZoneInfo(zone))
    found = split(f"call Ana {said}", NOW, ZoneInfo(zone), "en")
    assert found is not None
    assert found[1] == "call Ana"


WORDS = st.sampled_from(
    ("8", "15", "24:00", "9.30", "1,5", "3/4", "29.2.", "9999-12-31", "0001-01-01", "1.", "0", "30")
)
SIGNS = st.sampled_from(("-", "–", ",", "/", ".", ":", "&", "@", "'", "tea", "Ana", "x"))


@settings(deadline=None)
@given(
    st.sampled_from(languages()).flatmap(
        lambda code: st.tuples(st.just(code), st.lists(st.sampled_from(phrases(code)) | WORDS | SIGNS, max_size=9))
    ),
    st.sampled_from((" ", "")),
    st.sampled_from(("America/Los_Angeles", "Pacific/Auckland", "Europe/Berlin")),
)
def test_any_words_are_understood_or_refused(said: tuple[str, list[str]], gap: str, zone: str) -> None:
    language, words = said
    text = gap.join(words)
    split(text, NOW, ZoneInfo(zone), language)
    with suppress(Refused):
        understand(text, NOW, ZoneInfo(zone), language)


def test_other_languages_by_library() -> None:
    assert shown("za 20 minut", "cs") == IN_20
    assert shown("25 грудня о 18:00", "uk") == "12-25 18:00"
    assert shown("25. prosince", "cs") == "12-25 09:00"


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
    ("text", "wanted", "days_later"),
    [
        ("every weekday at 8", WORKDAYS, "11-25 08:00 0 8 * * 1-5"),
        ("every 2 days at 9", "11-25 09:00 @days 2 09:00", "11-25 09:00 @days 2 09:00"),
        ("every 20 minutes", EVERY_20, "11-24 10:20 @every 1200"),
    ],
)
def test_an_exact_text_means_the_same_time_later(text: str, wanted: str, days_later: str) -> None:
    fixed = exactly(understand(text, NOW, BERLIN), BERLIN)
    assert shown(fixed, "en") == wanted
    assert shown(fixed, "en", NOW + 24 * 3600) == days_later


def test_an_exact_time_that_has_passed_is_refused() -> None:
    fixed = exactly(understand("tomorrow 9:00", NOW, BERLIN), BERLIN)
    assert shown(fixed, "en", NOW + 15 * 3600) == TOMORROW_9
    assert "is in the past" in shown(fixed, "en", NOW + 23 * 3600)


@pytest.mark.parametrize("rule", ["@every 0", "@days 0 09:00", "@days 1 24:00", "tomorrow", "@every 5 minutes", ""])
def test_a_time_with_a_wrong_rule_is_refused(rule: str) -> None:
    with pytest.raises(Refused):
        understand(f"2026-11-24T09:00:00+01:00, then {rule}", NOW, BERLIN)


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


def test_every_month_on_the_31st_is_the_last_day_of_shorter_months() -> None:
    assert shown("every month on the 31st", "en") == "11-30 09:00 @month 31 09:00"
    assert shown("every month on the 31st", "en", NOW + 8 * 24 * 3600) == "12-31 09:00 @month 31 09:00"
    assert shown("every month on the 30th at 8:15", "en") == "11-30 08:15 @month 30 08:15"


@pytest.mark.parametrize("said", ["every year on Feb 29", "every 29 February", "jährlich am 29.2."])
def test_every_29th_of_february_is_the_28th_in_other_years(said: str) -> None:
    assert shown(said, "en") == "02-28 09:00 0 9 L 2 *"
