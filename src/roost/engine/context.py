"""What the model of one run sees: the transcript from its last boundary on, pruned, and always within the window.

What is cut or condensed is written down before it is shown, so that every later prompt begins with the same words.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property

from roost.core.compaction import CompactionPlan, plan, thresholds
from roost.core.contextsize import context_chars, known_tokens, overhead_tokens, shown
from roost.core.cutnotes import cut_note, projection_of
from roost.core.entries import Entry, EntryDraft
from roost.core.fitting import MIN_BUDGET, fit, prompt_tokens
from roost.core.inputs import acting, entries_of
from roost.core.ledger import LedgerRow
from roost.core.messages import AssistantMessage, Body, Compaction, Message, Notice, StopReason
from roost.core.notices import derived_id
from roost.core.pruning import prune
from roost.core.tokens import estimate_message
from roost.core.upkeep import Load, condensed_line, is_loud, may_flush, unflushed
from roost.core.workspacefiles import is_private
from roost.engine.condensing import Condensing
from roost.engine.work import Work

SMALL_ENTRIES, SMALL_CHARS = 200, 100_000


class _View:
    """What some entries show, and about how many tokens that is: worked out once, if anyone asks."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.size = len(entries)
        self.prompt = shown(entries)

    @cached_property
    def tokens(self) -> int:
        return prompt_tokens(self.prompt)


class Context:
    """`told` is what the chat should hear of it. Entries only ever become more."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._condensing = Condensing(work)
        self._limit: int | None = None
        self.entries: list[Entry] = [*work.conversation.entries]
        self._seen = _View(())
        self.told: str | None = None
        # An earlier build did not write into a run's row that several people speak in it.
        work.headway.run = acting(work.run, self.entries)

    # -- the transcript ------------------------------------------------------------------------------

    async def take_inputs(self, begin: Callable[["Context"], LedgerRow | None]) -> None:
        """Take what was said. `begin` sees the context as it is then, and may begin a model call with the same commit."""
        work, ahead = self._work, self

        def begun(entries: tuple[Entry, ...]) -> LedgerRow | None:
            nonlocal ahead
            work.headway.run = acting(work.run, entries)
            ahead = copy(self)
            ahead.entries = [*self.entries, *entries]
            return begin(ahead)

        self._add(await work.store.take_inputs(work.claim, entries_of, begun))
        self._seen = ahead._seen

    def is_small(self) -> bool:
        """Whether it is shown in next to no time: who begins a call with a commit lets everybody else wait for that."""
        return len(self.entries) <= SMALL_ENTRIES and context_chars(self.entries) <= SMALL_CHARS

    async def keep(self, *bodies: Body) -> None:
        """Write what happened, as steps of this run."""
        work = self._work
        drafts = tuple(
            EntryDraft(
                id=derived_id(work.run.id, "entry", str(len(self.entries) + place)),
                body=body,
                run_id=work.run.id,
            )
            for place, body in enumerate(bodies)
        )
        entries = await work.store.append(work.run.key, drafts, claim=work.claim, spent=work.bill())
        work.billed()
        self._add(entries)
        work.move()

    def _add(self, entries: tuple[Entry, ...]) -> None:
        self.entries += entries
        if entries:
            self._work.voice.kept(entries[-1].id)

    def remember(self, body: Body) -> None:
        """See something that is written nowhere."""
        place = len(self.entries)
        self.entries.append(
            Entry(session_id=self._work.session.session_id, seq=place, id=f"aside-{place}", body=body)
        )

    # -- the prompt ----------------------------------------------------------------------------------

    def is_settled(self) -> bool:
        """Whether nothing has to be pruned or condensed before the next call."""
        return self._cut() is None and not self._is_full()

    async def settle(self) -> None:
        """Prune and condense as far as it is due before the next call."""
        if (cut := self._cut()) is not None:
            await self.keep(cut)
        if self._is_full():
            await self._shrink(self._budget)

    async def shrink(self) -> None:
        """The provider refused the context as too large: make it half of what it was, whatever was counted."""
        await self._shrink(min(self._budget, self._view().tokens // 2))

    def messages(self) -> tuple[Message, ...]:
        prompt = self._view().prompt
        keep_turns = self._work.part.context.compaction.keep_turns
        if self._limit is not None:
            prompt = fit(prompt, self._limit, keep_turns=keep_turns)
        return prompt.messages

    async def condensed(self, focus: str | None = None) -> Compaction | None:
        """The context in less room, not written yet; None where nothing can be gained."""
        planned = self._plan(self._budget)
        return None if planned is None else await self._condense(planned, focus)

    def _view(self) -> _View:
        if self._seen.size != len(self.entries):
            self._seen = _View(self.entries)
        return self._seen

    # -- its size ------------------------------------------------------------------------------------

    def tokens(self) -> int:
        """The whole context, by its provider's count where there is one."""
        known = known_tokens(self.entries)
        return self._view().tokens + self._overhead if known is None else known

    def load(self, answer: AssistantMessage | None = None) -> Load:
        """How full the context is, with an answer that is not written yet."""
        part, session = self._work.part, self._work.session
        counted = answer.usage.total if answer else known_tokens(self.entries)
        tokens = counted or self.tokens() + (estimate_message(answer) if answer else 0)
        limits = thresholds(part.spec.context_window, part.context.compaction)
        chars = context_chars(self.entries)
        most = part.context.compact_from_chars
        near = tokens >= limits.compact_from or (most is not None and chars >= most)
        return Load(
            window=part.spec.context_window,
            tokens=tokens,
            counted=bool(counted),
            chars=chars,
            gains=near and self._plan(self._budget) is not None,
            unflushed=is_private(session, self._work.run, self.entries, self._work.doors)
            and may_flush(session, part.place, [tool.spec.name for tool in part.tools])
            and unflushed(self.entries),
        )

    @cached_property
    def _overhead(self) -> int:
        part = self._work.part
        return overhead_tokens(part.system, [tool.spec for tool in part.tools])

    @property
    def _budget(self) -> int:
        """What messages may take beside the system text and room for the answer."""
        part = self._work.part
        limits = thresholds(part.spec.context_window, part.context.compaction)
        return max(limits.compact_from - self._overhead, MIN_BUDGET)

    # -- making it smaller ---------------------------------------------------------------------------

    def _is_full(self) -> bool:
        part = self._work.part
        limits = thresholds(part.spec.context_window, part.context.compaction)
        return part.context.ahead and self.tokens() >= limits.compact_from

    def _cut(self) -> Notice | None:
        """What is to be pruned now."""
        work = self._work
        before = projection_of(self.entries)
        after = prune(
            self.entries,
            before,
            window=work.part.spec.context_window,
            idle_ms=self._idle(),
            settings=work.part.context.pruning,
        )
        return cut_note(before, after, work.clock.now())

    def _idle(self) -> int | None:
        for entry in reversed(self.entries):
            body = entry.body
            if isinstance(body, AssistantMessage) and body.stop not in (
                StopReason.ABORTED,
                StopReason.ERROR,
            ):
                return self._work.clock.now() - body.at
        return None

    async def _shrink(self, budget: int) -> None:
        self._limit = max(budget, MIN_BUDGET)
        planned = self._plan(self._limit)
        if planned is None:
            return
        compaction = await self._condense(planned, None)
        await self.keep(compaction)
        part = self._work.part
        if is_loud(self._work.session, part.context):
            self.told = condensed_line(compaction, part.spec.context_window)

    def _plan(self, budget: int) -> CompactionPlan | None:
        return plan(self.entries, budget, self._work.part.context.compaction)

    async def _condense(self, planned: CompactionPlan, focus: str | None) -> Compaction:
        before = self.tokens()
        compaction = await self._condensing.condense(planned, focus)
        after = (compaction.tokens_after or 0) + self._overhead
        return Compaction(
            summary=compaction.summary,
            first_kept_id=compaction.first_kept_id,
            tokens_before=before,
            tokens_after=after,
            at=compaction.at,
        )
