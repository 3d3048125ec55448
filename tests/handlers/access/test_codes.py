"""Codes and roles."""

import pytest

from handlers.access.codes import CODE_SIGNS, MAX_WRONG_CODES, WrongCodes, new_code, posted_codes, read_code, shown
from handlers.access.roles import may
from routing.errors import Refused
from routing.types.messages import UserKey
from routing.types.people import ROLES, Person, Role

ANN, BEN = UserKey("telegram", "1"), UserKey("telegram", "2")


def test_a_code_has_eight_unambiguous_characters_and_is_unique() -> None:
    codes = {new_code() for _ in range(500)}
    assert len(codes) == 500
    assert all(len(code) == 8 and set(code) <= set(CODE_SIGNS) for code in codes)
    assert not set("IO01") & set(CODE_SIGNS)


@pytest.mark.parametrize("typed", ["ABCDEFGH", "ABCD-EFGH", " abcd-efgh ", "abcdefgh"])
def test_codes_are_normalised(typed: str) -> None:
    assert read_code(typed) == "ABCDEFGH"
    assert read_code(shown("ABCDEFGH")) == "ABCDEFGH"


@pytest.mark.parametrize("typed", ["", "ABCD EFGH", "ABCDEFG", "ABCD-EFGHJ", "my ABCD-EFGH", "ABCD-EFG0", "AB-CDEFGH"])
def test_text_that_is_not_a_code(typed: str) -> None:
    assert read_code(typed) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ABCD-EFGH", ("ABCDEFGH",)),
        ("abcdefgh", ("ABCDEFGH",)),
        ("/access link abcdefgh", ("ABCDEFGH",)),
        ("the code is abcd-efgh, isn't it?", ("ABCDEFGH",)),
        ("my password is abcdefgh", ()),
        ("/tier balanced", ()),
        ("part number XABCD-EFGH or ABCD-EFGH-2", ()),
        ("AAAA-AAAA BBBB-BBBB CCCC-CCCC DDDD-DDDD", ("AAAAAAAA", "BBBBBBBB", "CCCCCCCC")),
    ],
)
def test_posted_codes_are_found(text: str, found: tuple[str, ...]) -> None:
    assert posted_codes(text) == found


def test_roles_have_ranks() -> None:
    order: list[Role] = ["blocked", "guest", "user", "admin", "owner"]
    assert sorted(order) == sorted(ROLES)
    for place, role in enumerate(order):
        person = Person(1, role, "x")
        assert [may(person, other) for other in order] == [other in order[: place + 1] for other in order]


def test_wrong_codes_lock_one_person_for_an_hour() -> None:
    now = [0.0]
    wrong = WrongCodes(lambda: now[0])
    for _ in range(MAX_WRONG_CODES):
        wrong.check(ANN)
        wrong.count(ANN)
    with pytest.raises(Refused, match="Too many wrong codes"):
        wrong.check(ANN)
    wrong.check(BEN)
    now[0] = 3601.0
    wrong.check(ANN)
