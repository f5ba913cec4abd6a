"""JSON5 text to plain values, with the place of what is wrong as line and column."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyjson5

from roost.config.problems import Problem, path_text

_DEEPEST = 64
_TOKEN = re.compile(
    r"""//[^\n\r\u2028\u2029]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{}\[\]:,]|[^\s{}\[\]:,"'/]+""",
    re.DOTALL,
)
_NEAR = re.compile(r" near (\d+)")
_CODE_POINT = re.compile(r"U\+([0-9a-fA-F]{4,6})")
_WORDS: Mapping[str, str] = {
    "b'JSON5Value'": "a value",
    "b'IdentifierStart'": "a key",
    "b'colon'": "`:` after the key",
    "b'comma'": "`,`",
    "b'slash'": "`/`",
    "b'object'": "object: `}` is missing",
    "b'array'": "list: `]` is missing",
    "b'string'": "text: its closing quote is missing",
    "b'comment'": "comment: `*/` is missing",
    "b'NumericLiteral'": "number",
    "b'literal'": "word",
    "b'hexadecimal character'": "a hexadecimal digit",
}
_OPENINGS: Mapping[str, str] = {
    "Expected ": "expected ",
    "Unclosed ": "this begins an unfinished ",
    "Stray ": "expected something before ",
    "Extra data ": "expected the end of the document, found ",
    "No JSON data found": "expected an object",
    "Maximum nesting level exceeded": f"there are more than {_DEEPEST} levels",
}


def parse(text: str) -> tuple[object, list[Problem]]:
    """The value of a document, or an empty object with what is wrong."""
    try:
        value = pyjson5.decode(text, maxdepth=_DEEPEST)
    except pyjson5.Json5DecoderException as error:
        # Only the message is kept: the exception also holds what was read so far, credentials included.
        return {}, [_syntax_problem(text, str(error.args[0]))]
    return value, list(_duplicates(text))


def _place(text: str, index: int) -> str:
    lines = text[:index].split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1}"


def _syntax_problem(text: str, message: str) -> Problem:
    near = _NEAR.search(message)
    assert near is not None
    index = int(near[1]) if message.startswith("Extra") else max(int(near[1]) - 1, 0)
    reason = _NEAR.sub("", message.replace(" starting", ""))
    for theirs, ours in (*_OPENINGS.items(), *_WORDS.items()):
        reason = reason.replace(theirs, ours)
    reason = _CODE_POINT.sub(lambda code: f"`{chr(int(code[1], 16))}`", reason)
    return Problem(path=_place(text, index), reason=reason)


@dataclass(slots=True)
class _Level:
    names: set[str] | None
    part: str | int = 0
    awaits_name: bool = False


def _duplicates(text: str) -> Iterator[Problem]:
    """Keys given twice in one object: the reader would keep the last and drop the first unseen.

    The text is known to be valid JSON5.
    """
    levels: list[_Level] = []
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{":
                levels.append(_Level(set(), awaits_name=True))
            case "[":
                levels.append(_Level(None))
            case "}" | "]":
                levels.pop()
            case ":":
                levels[-1].awaits_name = False
            case ",":
                _advance(levels[-1])
            case word if levels and levels[-1].awaits_name and not word.startswith(("//", "/*")):
                if _repeats(levels[-1], word):
                    path = path_text(tuple(level.part for level in levels))
                    yield Problem(path=path, reason=f"given again at {_place(text, token.start())}")
            case _:
                pass


def _advance(level: _Level) -> None:
    if level.names is not None:
        level.awaits_name = True
    elif isinstance(level.part, int):
        level.part += 1


def _repeats(level: _Level, word: str) -> bool:
    [name] = pyjson5.decode(f"{{{word}:0}}")
    level.part = name
    if level.names is None or name in level.names:
        return True
    level.names.add(name)
    return False
