"""Contacts that others wrote and that the library would take forever to refuse."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

CPU_SECONDS = 10
HOSTILE = tuple(line.format("," * 5_000) for line in ("FN;A={}x", "FN;A{}x", 'FN;A={}"x', "item1.FN;A={0};B={0}x"))
LONG = ("FN;A={}x:Ann".format("," * 5_000), "FN" + ';A="b",c' * 5_000 + ":Ann")
LARGE = ("TEL:1\r\n" * 50_000 + "FN:Ann", "BEGIN:VCARD\r\n" * 3_000 + "END:VCARD\r\n" * 3_000 + "FN:Ann")
BROKEN = ("FN:x\r\nNOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=xx:=C3=A4", "FN:x\r\nPHOTO;ENCODING=b:!!!x")
USUAL = (
    "FN:Ann", "fn;charset=utf-8:Ann", "item1.FN;TYPE=home,work:Ann", 'FN;X="a:b;c",d:Ann', "FN;:Ann", "FN;PREF:Ann",
    "FN;A\r\n =b:A\r\n nn",
)  # fmt: skip
PROGRAM = """
import json, sys
from handlers.tools.contacts import cards
found = [cards.parse(each) for each in json.load(sys.stdin)]
print(json.dumps([each and cards.name_of(each) for each in found]))
"""


def test_no_contact_takes_for_ever() -> None:
    given = [
        f"BEGIN:VCARD\r\nVERSION:3.0\r\n{line}\r\nEND:VCARD\r\n" for line in (*HOSTILE, *LARGE, *BROKEN, *LONG, *USUAL)
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)),
    )
    assert done.returncode == 0, done.stderr[-500:] or "more than the CPU time that is allowed"
    assert json.loads(done.stdout) == [*[None] * len(HOSTILE + LARGE + BROKEN), *["Ann"] * len(LONG + USUAL)]
