"""What Roost is held to: demands (D), promises (P), features (F) and defences (S).

Tests cite the ids with `@pytest.mark.requirement(…)`. An entry is `met` only when a test proves all of it;
`issue` is where the whole of it is finished. `python -m tests.requirements` prints one line an entry.
"""

import sys
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How far an entry is: proven by a test that cites it, or still ahead."""

    MET = "met"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One promised behaviour."""

    id: str
    sentence: str
    source: str
    state: State
    issue: int


MET, PLANNED = State
Row = tuple[str, State, int, str]

# One entry a line, so that a state changes in a one-word edit.
# fmt: off
_DEMANDS: tuple[Row, ...] = (
    ("D01", MET, 4, "The session tools are called sessions_list, sessions_history, sessions_send and sessions_spawn, with agents_list beside them."),
    ("D02", MET, 4, "A tool given the key `main` acts on the main session of the agent that calls it."),
    ("D03", MET, 4, "Keys of groups and channels are given to tools whole and are taken as they are."),
    ("D04", MET, 8, "Cron sessions are keyed cron:<job>, hooks hook:<uuid> unless set, nodes node-<id> unless set."),
    ("D05", MET, 4, "No tool ever shows the keys `global` or `unknown`; under the global scope that session shows as `main`."),
    ("D06", MET, 4, "sessions_list filters by kinds, limit, activeMinutes and messageLimit; a limit above 200 is lowered to 200."),
    ("D07", MET, 4, "A messageLimit above 0 adds the last N messages to each row, tool results left out."),
    ("D08", MET, 4, "Rows of sessions_list have the full set of fields, with the channel filled by the rule of the row's kind."),
    ("D09", MET, 4, "A row's transcriptPath is the store's folder joined with the session id, where one can be told."),
    ("D10", MET, 4, "sessions_history takes a key or a session id, and an unknown id is an error."),
    ("D11", MET, 4, "sessions_history leaves tool results out unless includeTools is true."),
    ("D12", MET, 4, "The limit of sessions_history is capped by the server, whatever the caller asks."),
    ("D13", MET, 4, "sessions_send answers accepted, ok with the reply, timeout with an error, or error with an error."),
    ("D14", MET, 4, "A run whose sender stopped waiting goes on, and its reply is in the history afterwards."),
    ("D15", MET, 4, "Waiting for a run happens on the server, by agent.wait."),
    ("D16", MET, 4, "The first run of a sessions_send is told who asks, from which session and over which channel."),
    ("D17", MET, 4, "Requester and target answer in turn until exactly REPLY_SKIP or the configured number of turns."),
    ("D18", MET, 4, "Only the target announces: it sees request, first and latest reply; exactly ANNOUNCE_SKIP is silent, all else goes to its channel."),
    ("D19", MET, 4, "An announce that fails leaves the status of the send at ok."),
    ("D20", MET, 6, "Send policy by channel and chat type with a default, overridable per session by patch or the owner's /send, holds in chat.send, agent and auto-reply."),
    ("D21", MET, 4, "sessions_spawn takes its documented parameters, no time limit and cleanup `keep` by default, and refuses a model that is not allowed."),
    ("D22", MET, 4, "An agent spawns under another only if its subagents.allowAgents names that agent or `*`; by default only under itself."),
    ("D23", MET, 4, "A child's key is agent:<agent>:subagent:<uuid> and its runs deliver nothing by themselves."),
    ("D24", MET, 4, "Children have no session tools by default; tools.subagents.tools says what they have."),
    ("D25", MET, 4, "At the default depth of 1 a child cannot spawn."),
    ("D26", MET, 4, "sessions_spawn returns at once with status accepted, runId and childSessionKey."),
    ("D27", MET, 4, "A child's end is announced in the requester's chat as Status, Result and Notes, Status taken from the runtime; ANNOUNCE_SKIP keeps it quiet."),
    ("D28", MET, 4, "Children are archived 60 minutes after their end, or as configured; 0 turns it off."),
    ("D29", MET, 4, "An announce ends with a line of runtime, tokens, session key and id, transcript path and, where known, cost."),
    ("D30", MET, 4, "A sandboxed session sees only what it spawned, unless sessionToolsVisibility is `all`."),
    ("D31", MET, 2, "By default all direct messages of an agent share agent:<agent>:<mainKey>, and a configured mainKey is honoured."),
    ("D32", MET, 2, "dmScope main, per-peer, per-channel-peer and per-account-channel-peer each give their own form of key."),
    ("D33", MET, 2, "An identity link that lists channel:id gives one key to that person under each of the three isolating scopes."),
    ("D34", MET, 6, "`roost security audit` reports when several people could share one session of direct messages."),
    ("D35", MET, 6, "Clients ask the gateway for sessions, and token counts are the fields inputTokens, outputTokens, totalTokens and contextTokens of the row."),
    ("D36", MET, 6, "Store and transcript files lie where configured, in the documented JSONL form; a topic's file name ends in -topic-<threadId>."),
    ("D37", MET, 2, "Deleting a session or its transcript is safe: the next message creates it anew."),
    ("D38", MET, 2, "Sessions of groups carry displayName, channel, subject, room and space; every session carries its origin."),
    ("D39", MET, 3, "Old tool results are trimmed from what the model sees, by default, and the transcript stays as it was."),
    ("D40", MET, 3, "Before compaction a silent turn may save memory, only where the workspace is writable."),
    ("D41", MET, 2, "Every source maps to its key: account `default` when unnamed, topics within their group, and legacy group:<id> by its provider."),
    ("D42", MET, 2, "A session is reused until it expires, judged at the next inbound: daily at 04:00 local, idle window, or whichever comes first; a lone legacy idleMinutes means idle only."),
    ("D43", MET, 2, "resetByType overrides the base policy for direct, group and thread; resetByChannel beats both."),
    ("D44", MET, 3, "A trigger alone or followed by text resets and passes the text on; /new <model> picks the model; a bare trigger gets a greeting turn."),
    ("D45", MET, 8, "Each run of an isolated cron job has a session id of its own."),
    ("D46", MET, 2, "A send rule's keyPrefix also matches the key without its agent head; rawKeyPrefix matches only the whole key."),
    ("D47", MET, 3, "/send on, off and inherit work for the owner only, as a message of its own."),
    ("D48", MET, 6, "The command line has status, sessions --json [--active] and gateway call sessions.list, each with --url and --token."),
    ("D49", MET, 3, "/status tells whether the agent answers, how full its context is, thinking and verbosity, and a channel's credential age where known."),
    ("D50", MET, 3, "/context list and /context detail show what makes up the context, and how large each part is."),
    ("D51", MET, 3, "/stop ends the run, empties the queue, stops the children, and answers with the counts."),
    ("D52", MET, 3, "/compact compacts now, with optional instructions on what to keep."),
    ("D53", MET, 2, "The origin holds label, provider, from, to, accountId and threadId for direct, group and channel sessions, and an update of the route alone leaves it."),
    ("D54", MET, 4, "Seven session tools come by profile (coding, messaging) and alsoAllow; later policies can only remove; /tools shows what is left."),
    ("D55", MET, 4, "sessions_list filters by kind, exact label, exact agent, search and activity, adds title, preview and messages on request, and lists only what is visible."),
    ("D56", MET, 4, "Recalled history is filtered, redacted, shortened and capped, and its flags say which of these happened."),
    ("D57", MET, 2, "A transcript can be exported byte for byte."),
    ("D58", MET, 4, "timeoutSeconds 0 sends without waiting; any other value waits for the reply inline."),
    ("D59", MET, 4, "A thread as target of sessions_send is refused, with advice to use the key of its channel."),
    ("D60", MET, 4, "Messages between sessions, follow-up replies included, are marked as not from the user, in the prompt and by provenance in the transcript."),
    ("D61", MET, 4, "maxPingPongTurns is a whole number from 0 to 20, 5 by default; anything else is refused."),
    ("D62", MET, 4, "session_status tells usage, time, model and linked work, fills gaps from the transcript, clears a model by `default`, knows `current`, and takes no client label for a key."),
    ("D63", MET, 4, "sessions_yield ends the turn, and the next message may be the children's completion."),
    ("D64", MET, 4, "subagents lists, steers and kills children, one or all."),
    ("D65", MET, 4, "A child's task is its first visible message, its system prompt holds rules only, and runtime, model, thinking, thread, sandbox and context are honoured."),
    ("D66", MET, 4, "With maxSpawnDepth 2 or more, children at depth 1 get the four tools of an orchestrator; leaves get none."),
    ("D67", MET, 4, "An announce keeps thread and topic; a requester known only by channel is reached at its last channel and recipient."),
    ("D68", MET, 4, "Visibility is self, tree, agent or all, `tree` by default, and clamped for sandboxed sessions."),
)

_PROMISES: tuple[Row, ...] = (
    ("P1", MET, 4, "A child's end and the parent's notice of it are one transaction: exactly one completion a child, with its true status, whatever dies in between."),
    ("P2", MET, 6, "No conversation reaches another person: addresses map to keys one to one, and only the owner's configuration merges them."),
    ("P3", MET, 3, "Every acknowledged message ends in a transcript, merged, or dead-lettered with a notice to its sender, and never twice."),
    ("P4", MET, 3, "Writers of one session wait for each other in order: no error, no lock held over a model or tool call, no stale lock after a kill."),
    ("P5", MET, 3, "The transcript is append-only and the only truth: resets, repairs, migrations and lost indexes lose nothing of it."),
    ("P6", MET, 4, "Every send has a message id whose state can be read later; a wait that ends says what it was waiting for, and sending again starts nothing twice."),
    ("P7", MET, 3, "Every reply goes to the address of the message it answers, whatever happens meanwhile."),
    ("P8", MET, 6, "One guard on the operation decides who sees what, self and own tree by default; denied and absent look alike, and upgrades never widen."),
    ("P9", MET, 3, "A reset happens when the policy says so, never during a run, is announced once, and /back undoes it."),
    ("P10", MET, 3, "After a crash every unfinished run gets exactly one fate within 5 seconds, told once, and none too old is resumed."),
    ("P11", MET, 3, "Compaction always ends under budget with at most two model calls, keeps the last turns verbatim, and changes no stored entry."),
    ("P12", MET, 2, "Any prefix of any history builds a prompt whose tool calls and results pair, as strict validators of three provider formats demand."),
    ("P13", MET, 3, "A run that hangs is ended by its deadline, its user is told, and the next message starts without a restart."),
    ("P14", MET, 3, "A redelivered message starts no second run within 7 days, and a reply is seen once, or at most once and marked uncertain."),
    ("P15", MET, 4, "A chain of messages between agents stops at the first revisit or the hop limit, and one event names the cycle."),
    ("P16", MET, 4, "Where text comes from is a column: orders from other sessions, children, recall or forged headers are shown as data and cause no privileged act."),
    ("P17", MET, 6, "Listing 100,000 sessions and opening a history of 50,000 entries stay fast beside running work."),
    ("P18", MET, 4, "The model that answers is the one asked for, or the reason is stated; a fallback lasts one turn, and an unknown model is refused at spawn."),
    ("P19", MET, 3, "The usage ledger has one row a model call; every total is a sum over it, and deleting sessions changes none."),
    ("P20", MET, 3, "Budgets reserve before a call and settle after: concurrent runs never spend more than a hard limit, and each refused user is told once."),
    ("P21", MET, 3, "Memory, open files, tasks and store connections stay flat however many sessions pass through."),
    ("P22", MET, 3, "One retention policy removes what its dry run lists and nothing active, pinned or undelivered, and the file shrinks."),
    ("P23", MET, 4, "A caller that waits gives its slot back, so a limit of 1 never deadlocks, and no session's children starve another's."),
    ("P24", MET, 6, "No log, export or history answer shows a secret, configured ones are not even stored, and masked text written back is refused."),
    ("P25", MET, 2, "Every address makes a key that reads back to the same address, byte for byte, and every alias leads to the same session."),
    ("P26", MET, 4, "A conversation reads whole across resets, and search finds tool output and two-character CJK words, never another person's rows."),
    ("P27", MET, 4, "Stop ends the whole tree of runs with its OS processes within 3 seconds and says what it ended."),
    ("P28", MET, 8, "Scheduled turns never reset, answer for or clutter the user's session, and pause for sessions nobody uses."),
    ("P29", MET, 6, "One trace runs from inbound to delivery, and explain names the rule behind a route, refusal, reset or silence."),
    ("P30", MET, 5, "One gateway owns a SQLite store and several serve one PostgreSQL; one that lost its lease can write nothing, and nothing is sent twice."),
)

_FEATURES: tuple[Row, ...] = (
    ("F1", MET, 4, "Messages between sessions are a durable mailbox whose delivered, read, replied and dead states the sender can list."),
    ("F2", MET, 3, "A hard budget holds over a whole tree of sessions."),
    ("F3", MET, 6, "Named save points can be saved, listed, compared and loaded as a new branch, their source untouched."),
    ("F4", MET, 7, "People and agents read one timeline across resets and compactions."),
    ("F5", MET, 6, "Every session has an owner and a tenant, and two hostile tenants of one gateway learn nothing of each other."),
    ("F6", MET, 5, "A standby takes over a store, and a message can be sent to a session of another gateway, with a receipt."),
    ("F7", MET, 4, "Where a text came from travels with it through recall, search, sends and children, and is checked before privileged acts."),
    ("F8", MET, 4, "Stop reaches operating system processes and proves it."),
    ("F9", MET, 6, "explain answers why this route, refusal, reset, silence or cost."),
    ("F10", MET, 3, "A recorded session replays offline as a test and shows the first difference."),
    ("F11", MET, 3, "One person can be erased, backups included, while everyone else's data and all totals stay."),
    ("F12", MET, 6, "A session travels between hosts as one verified bundle, with children, generations, files and usage, and without secrets."),
)

_DEFENCES: tuple[Row, ...] = (
    ("S1", MET, 7, "The web page takes no server address from URL, storage or message without a typed confirmation, and sends no credential elsewhere."),
    ("S2", MET, 6, "A foreign or null Origin is refused, wrong secrets are throttled from loopback too, and a device without the secret pairs by a code only."),
    ("S3", MET, 6, "Scopes come from the server's record of a credential; asking can only shrink them."),
    ("S4", MET, 6, "Issued scopes are a subset of the issuer's, of the target's grant and of the request."),
    ("S5", MET, 6, "Before authentication only the handshake exists, and no configuration value names a program outside an allow list."),
    ("S6", MET, 6, "A chat command runs with its sender's rights through the same guard as the call."),
    ("S7", MET, 6, "Reset, delete, patch, compact and stop check the right once, on the operation, through every door."),
    ("S8", MET, 6, "No value of a client becomes a path; ids match a fixed pattern, and anything else touches no file."),
    ("S9", MET, 6, "Session tools are off on the generic tool endpoint unless the credential has their scope."),
    ("S10", MET, 6, "A session key from a caller must resolve to a session that caller owns; otherwise it is not found."),
    ("S11", MET, 8, "A hook's session is fixed by configuration or lies under its own prefix, checked after all templating."),
    ("S12", MET, 6, "A revoked secret stops working within a second, on open connections too."),
    ("S13", MET, 6, "No tool parameter chooses which gateway is contacted."),
    ("S14", MET, 8, "Every outbound fetch resolves, checks and pins its address and checks each redirect again; private addresses are refused."),
    ("S15", MET, 4, "No child has a right that its parent lacks, in any runtime."),
    ("S16", MET, 4, "A session controls only its own descendants; siblings and parents are not found."),
    ("S17", MET, 4, "Every reader of sessions passes the guard after all ways of naming one are resolved."),
    ("S18", MET, 8, "Only an authenticated human event is marked human; one delivery id is one run, after a restart too; stale signatures are refused."),
    ("S19", MET, 6, "No address is trusted for where it is: beyond loopback without authentication and TLS the gateway does not start, and unlisted proxies void local trust."),
    ("S20", MET, 4, "Lookups by title, id, text or label are filtered by owner inside the query."),
    ("S21", MET, 6, "Each security setting that is empty, missing or malformed refuses."),
    ("S22", MET, 6, "Wire types differ from internal ones, and unknown fields are refused."),
    ("S23", MET, 6, "Connections, bytes and time are capped before authentication, sessions and events after it; clients submit no tool results or history."),
    ("S24", MET, 6, "A secret is a type that cannot be serialised, and no planted one shows in any answer, log, export or error."),
    ("S25", MET, 2, "An import takes no path, policy or owner from its input."),
    ("S26", MET, 6, "Clear text beyond loopback is refused by client and server unless a named dangerous flag is set, and the audit shows the flag."),
)
# fmt: on


def _entries(rows: tuple[Row, ...], source: str) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(id=name, sentence=sentence, source=source, state=state, issue=issue)
        for name, state, issue, sentence in rows
    )


REQUIREMENTS: tuple[Requirement, ...] = (
    *_entries(_DEMANDS, "sessions §16"),
    *_entries(_PROMISES, "promises §2"),
    *_entries(_FEATURES, "promises §3"),
    *_entries(_DEFENCES, "promises §4"),
)


def main() -> None:
    """Print one line an entry: id, state, sentence."""
    for entry in REQUIREMENTS:
        sys.stdout.write(f"{entry.id:<4} {entry.state:<7} {entry.sentence}\n")


if __name__ == "__main__":
    main()
