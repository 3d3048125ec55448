"""Which tool calls make a turn a coding turn, and which don't."""

import json

import pytest

from routing.policy.escalation import signal, upgrades
from routing.types.decisions import TierSource
from routing.types.llm import ChatMessage, ToolCall
from routing.types.tiers import Tier

ASKED = ChatMessage("user", "Please")


def calling(tool: str, arguments: object) -> ChatMessage:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ChatMessage("assistant", "", calls=(ToolCall("1", tool, text),))


def result(text: str) -> ChatMessage:
    return ChatMessage("tool", text, call_id="1", tool="any")


ENDINGS = (
    ".py .js .jsx .ts .tsx .java .go .rs .rb .sh .bash .c .h .cpp .hpp .cs .kt .scala .swift .lua .r .pl .php .sql "
    ".yaml .yml .toml .gradle .cmake .makefile"
)
COMMANDS = (
    "python python3 node npm npx pip pip3 mvn gradle gcc g++ cargo go rustc pytest make cmake javac dotnet ruby tsc "
    "webpack esbuild jest mocha yarn"
)


@pytest.mark.parametrize("tool", ["read_file", "write_file"])
@pytest.mark.parametrize("ending", ENDINGS.split())
def test_every_ending_counts_in_any_case_and_folder(tool: str, ending: str) -> None:
    for path in (
        f"app{ending}",
        f"src/My App{ending.upper()}",
        f"C:\\work\\x.txt\\a.b{ending.title()}",
        f" /a{ending} ",
    ):
        assert signal([ASKED, calling(tool, {"path": path})]) is not None, path


@pytest.mark.parametrize(
    "file", ["Makefile", "makefile", "a/MAKEFILE", "Dockerfile", "b\\c\\dockerfile", "./x/.yml", "a.txt.py"]
)
def test_these_files_count(file: str) -> None:
    assert signal([ASKED, calling("read_file", {"path": file})])


@pytest.mark.parametrize(
    "file",
    [
        *(
            "notes.txt",
            "README.md",
            "app.py.txt",
            "py",
            "app.pyc",
            "app_py",
            "src.py/notes.txt",
            "src.py\\notes",
            "a.py/",
        ),
        *(
            "Makefile.txt",
            "MyMakefile",
            "Dockerfile.bak",
            "data.json",
            "page.html",
            "c",
            "",
            " ",
            ".",
            "/",
            "table.csv",
            "a.ml",
            "a.py js",
        ),
    ],
)
def test_these_files_do_not(file: str) -> None:
    assert signal([ASKED, calling("write_file", {"path": file, "content": "import os  # app.py"})]) is None


@pytest.mark.parametrize("key", ["path", "file_path", "filename", "file", "filepath", "file_name"])
def test_a_path_may_have_these_names(key: str) -> None:
    assert signal([calling("write_file", {"content": "x", key: "src/app.py"})]) == "write_file app.py"


@pytest.mark.parametrize("tool", ["filesystem", "file_system"])
@pytest.mark.parametrize("key", ["operation", "action", "command"])
def test_a_file_system_counts_with_its_operations(tool: str, key: str) -> None:
    assert signal([calling(tool, {key: "write_file", "path": "a/app.py"})]) == "write_file app.py"
    assert signal([calling(tool, {key: " READ_FILE", "path": "a/app.py"})]) == "read_file app.py"
    for other in ("list", "delete_file", "", None, 3, ["x"]):
        assert signal([calling(tool, {key: other, "path": "a/app.py"})]) is None
    assert signal([calling(tool, {key: "write_file", "path": "notes.txt"})]) is None
    assert signal([calling(tool, {"path": "a/app.py"})]) is None


@pytest.mark.parametrize("tool", ["list_files", "send_file", "read_files", "Read_File", "web_search", ""])
def test_other_tools_do_not_count(tool: str) -> None:
    assert signal([calling(tool, {"path": "app.py", "command": "python x", "operation": "write_file"})]) is None


@pytest.mark.parametrize("tool", ["run_command", "shell"])
@pytest.mark.parametrize("key", ["command", "cmd"])
@pytest.mark.parametrize("command", COMMANDS.split())
def test_commands_count_alone_or_with_arguments(tool: str, key: str, command: str) -> None:
    for line in (command, f"{command} -v x", f"  {command} x", f"{command}\n", [command, "x"]):
        assert signal([ASKED, calling(tool, {key: line})]) == f"{tool} {command}"


@pytest.mark.parametrize(
    "line",
    [
        *(
            "gopher",
            "makeup",
            "gopher x",
            "makeup tips",
            "nodejs x",
            "pythonic",
            "python2 x",
            "pip-audit",
            "make;ls",
            "pyth x",
            "n",
        ),
        *("ls -l", "cat app.py", "echo python", "cd x && pytest", "/usr/bin/python x", "./make", "Python x", "", "  "),
    ],
)
def test_these_commands_do_not(line: str) -> None:
    assert signal([ASKED, calling("run_command", {"command": line})]) is None


RESULTS = (
    *("Traceback (most recent call last):", "x\n  SyntaxError: invalid", "TypeError: x is not a function"),
    *("java.lang.NullPointerException", "\tat com.acme.Main", "  at org.junit.Run", "panic: runtime error"),
    *(
        "error[E0308]: mismatched",
        "NameError: name",
        "ModuleNotFoundError: No",
        "KeyError: 'a'",
        "ReferenceError: x is",
    ),
    *("error: could not compile `x`", "Segmentation fault (core dumped)", "thread 'main' panicked at src/main.rs:1"),
    *("ClassNotFoundException", "IndentationError: unexpected", "at java.base/java.lang.Thread.run", "npm ERR! code"),
    *("FAILED tests/test_app.py::test_start - assert 1 == 2", "ERROR tests/test_app.py::test_start"),
    *("CompileError: x.kt:3", "FAILED (failures=1)", "BUILD FAILED in 3s"),
)


@pytest.mark.parametrize("text", RESULTS)
def test_these_results_count(text: str) -> None:
    found = signal([ASKED, result(f"before {text} after")])
    assert found
    assert found.endswith(" in a result")


@pytest.mark.parametrize("text", RESULTS)
def test_messages_with_the_same_text_do_not_count(text: str) -> None:
    assert signal([ASKED, ChatMessage("assistant", text)]) is None
    assert signal([ChatMessage("user", text)]) is None
    assert signal([ChatMessage("system", text)]) is None
    assert signal([ASKED, calling("send_email", {"text": text})]) is None


@pytest.mark.parametrize(
    "text",
    [
        *(
            "traceback",
            "TRACEBACK",
            "syntaxerror",
            "typeerror",
            "nullpointerexception",
            "Panic:",
            "Error[E1]",
            "error[e1]",
        ),
        *("At com.acme", "at Com.acme", "chat com.acme", "flat org.x", "at company", "at a com.", "at organisations"),
        *(
            "A type error, a value error and a key.",
            "Error: there is no such city.",
            "Do not panic",
            "an index error",
            "",
        ),
        *("The build FAILED today", "std::vector and FAILED exams", "UNFAILED x::y", "it compiles"),
        "The exception proves the rule: run-time errors happen at any time. Import errors cost the economy dearly.",
    ],
)
def test_these_results_do_not(text: str) -> None:
    assert signal([ASKED, result(text)]) is None


def test_an_earlier_turn_does_not_count() -> None:
    work = [calling("write_file", {"path": "app.py"}), result("Traceback")]
    assert signal([ASKED, *work, ChatMessage("assistant", "done"), ASKED]) is None
    assert signal([ASKED, *work, ASKED, calling("web_search", {"query": "x"}), result("sunny")]) is None
    assert signal([ASKED, *work]) == "write_file app.py"


def test_without_a_user_message_all_calls_count() -> None:
    assert signal([result("TypeError: x")]) == "TypeError in a result"
    assert signal([]) is None
    assert signal([ASKED]) is None


def test_one_of_several_calls_is_enough() -> None:
    calls = (ToolCall("1", "web_search", "{}"), ToolCall("2", "run_command", '{"command": "pytest -q"}'))
    assert signal([ASKED, ChatMessage("assistant", "", calls=calls)]) == "run_command pytest"


@pytest.mark.parametrize(
    "arguments",
    [
        *("", " ", "null", "[]", '"app.py"', "3", "{", '{"path": "app.py"', "[" * 5_000, '{"path": ' * 5_000, "app.py"),
        *("{}", '{"path": null}', '{"path": 3}', '{"path": {"path": "app.py"}}', '{"path": []}', '{"path": [3]}'),
        *('{"command": null}', '{"command": ["python", 3]}', '{"command": {}}', '{"n": 1' + "0" * 5_000 + "}"),
    ],
)
@pytest.mark.parametrize("tool", ["write_file", "filesystem", "run_command"])
def test_malformed_arguments_do_not_count(tool: str, arguments: str) -> None:
    assert signal([ASKED, calling(tool, arguments), result("")]) is None


def test_a_signal_is_one_short_line() -> None:
    found = signal([calling("write_file", {"path": "x" * 5_000 + "\n[LLM] forged\u202e.py"})])
    assert found
    assert found.isprintable()
    assert len(found) < 80
    assert found.endswith("?[LLM] forged?.py")


@pytest.mark.parametrize(
    ("tier", "source", "enabled", "goes_up"),
    [
        ("balanced", "default", True, True),
        ("balanced", "preference", True, True),
        ("balanced", "conversation", True, True),
        ("balanced", "skill", True, True),
        ("smart", "preference", True, True),
        ("smart", "default", True, True),
        ("balanced", "forced", True, False),
        ("smart", "forced", True, False),
        ("balanced", "prefix", True, False),
        ("smart", "prefix", True, False),
        ("balanced", "default", False, False),
        ("smart", "preference", False, False),
        ("coding", "default", True, False),
        ("coding", "skill", True, False),
        ("deep", "preference", True, False),
        ("deep", "forced", True, False),
    ],
)
def test_only_upwards_and_never_against_a_lock(tier: Tier, source: TierSource, enabled: bool, goes_up: bool) -> None:
    assert upgrades(tier, source, enabled) is goes_up
