"""What the demo model knows: fixed answers about Roost, found by their words."""

import re
from dataclasses import dataclass

NOT_A_MODEL = "I am Roost's built-in demo model: fixed answers and a few plain requests, no language model."
_CAN_DO = (
    "Try: list my sessions · spawn a helper to count to 5 · tell the research session to report · "
    "search my sessions for invoices · show the history of main. Or ask what Roost is, which commands there are, "
    "how it is configured, where its data is, or how to connect a real model."
)


@dataclass(frozen=True, slots=True)
class _Topic:
    asked: "re.Pattern[str]"
    answer: str


def _about(words: str, answer: str) -> _Topic:
    return _Topic(re.compile(words, re.IGNORECASE), answer)


_TOPICS = (
    _about(
        r"\b(?:real|other|another|better|own|connect|use|add|change|switch)\b.*\b(?:model|llm|gpt|provider)s?\b|\bapi.?key",
        "To use a real model, name its provider in roost.json under models.providers (baseUrl, apiKey, models) and "
        "set agents.defaults.model to provider/model. Any OpenAI-compatible endpoint works, also one on your own "
        "machine. In a chat, /model shows and changes the model of that session.",
    ),
    _about(
        r"\bcommands?\b|/help",
        "Commands are messages that begin with a slash: /status shows this session, /new starts it afresh, /stop "
        "ends what is running, /compact condenses the conversation, /model and /think change how it is answered, "
        "/subagents shows helpers, /explain says why something happened. /help lists all of them.",
    ),
    _about(
        r"\bconfig\w*|\bsettings?\b|roost\.json",
        "Roost reads roost.json in ROOST_HOME (~/.roost unless set), written in JSON5; ROOST_CONFIG names another "
        "file. Every setting has a default, an unknown one is refused with the nearest known name, and most changes "
        "take effect without a restart.",
    ),
    _about(
        r"\bdata\b|\bstor(?:e|ed|age)\b|\bdatabase\b|\bfiles?\b.*\bwhere\b|\bwhere\b.*\b(?:files?|transcripts?|kept)\b|\bbackup",
        "Everything is in ROOST_HOME (~/.roost unless set): roost.json is the configuration, roost.db the store "
        "with sessions, transcripts and what is still to be delivered. Nothing leaves this machine but what you send "
        "to channels and models. Transcripts can be exported as JSONL.",
    ),
    _about(
        r"\bsub-?agents?\b|\bhelpers?\b|\bchild",
        "A session can start helpers: sessions of their own with one task each. They work on their own, and their "
        "report comes back to the session that started them. Say: spawn a helper to count to 5.",
    ),
    _about(
        r"\bsessions?\b",
        "A session is one conversation with its own transcript. Each person, group or thread gets its own, as "
        "configured under session; agents can list, read, message and start sessions with their tools.",
    ),
    _about(
        r"\broost\b|\bwhat (?:is|are) (?:this|you)\b|\bwho are you\b|\bhelp\b",
        "Roost is a session gateway for AI agents. It decides which conversation each message belongs to, keeps the "
        "transcript, runs the agent, and delivers the answer once, whatever happens in between.",
    ),
)
_GREETING = re.compile(r"\s*(?:hi|hello|hey|good (?:morning|evening|day))\b[\s\w,.!]{0,20}$", re.IGNORECASE)


def answer_to(text: str) -> str:
    """What there is to say to a plain text."""
    if _GREETING.match(text):
        return f"Hello! {NOT_A_MODEL} {_CAN_DO}"
    for topic in _TOPICS:
        if topic.asked.search(text):
            return f"{topic.answer}\n\n({NOT_A_MODEL})"
    return f"{NOT_A_MODEL} I have nothing fitting to say to that. {_CAN_DO}"
