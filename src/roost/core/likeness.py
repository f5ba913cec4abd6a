"""What a secret looks like, apart from the words and names that stand where one could."""

import math
import re
from collections import Counter
from itertools import pairwise

_PUNCTUATION = ".,;:!?…*`()[]|&\\/"
_ENDS_A_SENTENCE = ".,:"
_SMALL_WORDS = """
a an the this that these those it its is isn't are aren't was wasn't were be been has hasn't have had do does doesn't did
didn't can cannot can't could couldn't may might must mustn't shall should shouldn't will won't would wouldn't need needs
and or nor but not no none if when where while unless until because since so then than as at by for from in into of off on
onto out over per to under via with without within before after below above here there which who whose what how also only
always never again already either both each every any all some same other another yet still you your we our they their he
she my instead too twice once now
"""
_WORDS_OF_USE = """
flag flags option options argument arguments arg args parameter parameters param params value values switch switches setting
settings header headers field fields given required requires optional missing deprecated empty set sets unset omitted ignored
accepted accepts allowed supported supports used uses passed provided provide specified specifies expected expects takes take
reads means works default defaults prompts rejected overrides replaces wins string str text bool number integer null undefined
true false
"""
_PLACEHOLDERS = "PASSWORD PASSWD PASSPHRASE PASS PWD TOKEN SECRET KEY APIKEY VALUE STRING STR TEXT FILE PATH NAME HERE ENV"
_GOES_ON = frozenset(f"{_SMALL_WORDS}{_WORDS_OF_USE}".split())
_STANDS_FOR_ONE = frozenset(_PLACEHOLDERS.split())

_WORDS = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_LONGEST_WORD, _SHORTEST_WORDS = 18, 3
# No name has a digit among its small letters: `$up3rsecret` is a password.
_NAME = r"[A-Z_][A-Z0-9_]*|_*[A-Za-z]+[0-9]{0,2}(?:_+(?:[A-Za-z]+[0-9]{0,2}|[0-9]{1,2}))*|[0-9]"
# One that brings its own value, as `${NAME:-value}` does, is none; what `${NAME:?words}` would say is no value.
_BRACED = r"\{\{[^{}]*\}\}|\{[^{}=?-]*(?::?\?[^{}]*\}?|(?::?[-=])?\})"
_REFERENCE = re.compile(rf"\$(?:{_NAME}|{_BRACED}|\(.*\))", re.DOTALL)
_CAPITAL_REFERENCE = re.compile(rf"\$(?:[A-Z_][A-Z0-9_]*|{_BRACED}|\(.*\))", re.DOTALL)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def looks_like_a_value(text: str) -> bool:
    """Whether what stands behind a name is its value, whatever that is: no word with which a sentence goes on, as in
    `--token is required`, no placeholder such as `API_KEY`, and no `$API_KEY`, which stands for one."""
    if is_reference(text.rstrip(_ENDS_A_SENTENCE)):
        return False
    bare = text.strip(_PUNCTUATION)
    if not bare or bare.lower() in _GOES_ON:
        return False
    return not (bare.isupper() and re.split("[_-]", bare)[-1] in _STANDS_FOR_ONE)


def is_reference(text: str) -> bool:
    """Whether a text is a `$NAME`, a `${NAME}` or a `$(command)` and nothing else."""
    return _REFERENCE.fullmatch(text) is not None


def is_reference_in_address(text: str) -> bool:
    """The same of a password in a URL, where a name without capitals is as likely the password."""
    return _CAPITAL_REFERENCE.fullmatch(text) is not None


def looks_opaque(text: str) -> bool:
    """Whether a text is no name: there are digits in it, or its letters make no words."""
    words = _WORDS.findall(text)
    if not words or any(map(str.isdigit, text)):
        return any(map(str.isdigit, text))
    return max(map(len, words)) >= _LONGEST_WORD or sum(map(len, words)) < _SHORTEST_WORDS * len(words)


def looks_mixed(text: str) -> bool:
    """Whether a text has both letters and digits."""
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def looks_random(text: str) -> bool:
    """Whether a text looks drawn from a hat: letters and digits that alternate, and little repetition.

    `cache_key_v2` and `getUserById` change between capitals, small letters and digits at their words only.
    """
    letters_and_digits = [character for character in text if character.isalnum()]
    if not looks_mixed(text) or _UUID.fullmatch(text):
        return False
    changes = sum(_changes(left, right) for left, right in pairwise(letters_and_digits))
    return changes >= 0.22 * len(letters_and_digits) and _entropy(text) >= 3.0


def _changes(left: str, right: str) -> bool:
    if left.isdigit() or right.isdigit():
        return left.isdigit() != right.isdigit()
    return left.islower() and right.isupper()


def _entropy(text: str) -> float:
    """Bits a character, by how often each occurs in the text itself."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())
