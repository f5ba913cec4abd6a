"""People who are let in by pairing: who asks, by which code, and for which account."""

import pytest

from roost.core.addresses import Account, Address
from roost.core.errors import InvalidInput, NotFound
from roost.core.guests import (
    ASKING_MS,
    MOST_ASKING,
    MOST_GUESTS,
    NOBODY,
    TELL_AGAIN_MS,
    Guest,
    Guests,
    Knock,
    admit,
    gathered,
    knock,
    lapsed,
    notice,
    remove,
    rows_of,
    told,
    turn_away,
    untold,
)
from roost.core.identities import Identity

HERE = Account("telegram")


def knocking(who: str = "7", *, at: int = 0, account: str = "default", code: str = "") -> Knock:
    return Knock(
        id=f"k-{who}-{at}-{account}",
        identity=Identity(channel="telegram", id=who),
        chat=Address(channel="telegram", to=who, account=account),
        code=code or f"CODE{who}",
        at=at,
        name="Ann",
    )


def asked(*knocks: Knock) -> Guests:
    guests = NOBODY
    for one in knocks:
        guests, found = knock(guests, one)
        assert found is not None
    return guests


def test_who_asks_is_let_in_by_his_code_on_the_account_he_wrote_to() -> None:
    guests, ann = admit(asked(knocking("7"), knocking("8")), " code7 ", 5)
    assert (ann.identity.id, ann.name, ann.since) == ("7", "Ann", 5)
    assert guests.let_in == {HERE: {"telegram:7"}}
    assert [one.identity.id for one in guests.asking] == ["8"]
    assert knock(guests, knocking("7", at=9)) == (guests, ann)


def test_a_code_is_told_by_one_and_again_only_while_nobody_has_it() -> None:
    first = knocking()
    guests = asked(first, knocking("8"))
    soon, late = knocking(at=TELL_AGAIN_MS - 1), knocking(at=TELL_AGAIN_MS)
    assert knock(guests, soon) == (guests, None)
    _, again = knock(guests, late)
    assert isinstance(again, Knock)
    assert (again.code, again.id) == (first.code, first.id)
    known, _ = told(guests, first.id)
    assert [(one.identity.id, one.told) for one in known.asking] == [("7", True), ("8", False)]
    assert knock(known, late) == (known, None)
    assert first.code in notice(first)


def test_what_is_told_late_is_good_for_an_hour_from_then() -> None:
    guests, again = knock(asked(knocking()), knocking(at=ASKING_MS - 1))
    assert isinstance(again, Knock)
    assert admit(guests, again.code, ASKING_MS + 5)[1].identity.id == "7"


def test_a_channel_that_can_take_nothing_yet_is_not_asked_before() -> None:
    first = knocking()
    guests, _ = untold(asked(first), first.id, 5 * TELL_AGAIN_MS)
    assert knock(guests, knocking(at=5 * TELL_AGAIN_MS - 1)) == (guests, None)
    assert knock(guests, knocking(at=5 * TELL_AGAIN_MS))[1] is not None
    assert untold(asked(first), first.id, 1)[0] == asked(first)
    assert untold(told(asked(first), first.id)[0], first.id, 1)[0] == asked(first)


def test_who_asked_too_long_ago_is_forgotten() -> None:
    first = told(asked(knocking()), knocking().id)[0]
    assert lapsed(first, ASKING_MS - 1) == (first, None)
    assert lapsed(first, ASKING_MS) == (NOBODY, None)
    _, new = knock(first, knocking(at=ASKING_MS, code="OTHER"))
    assert isinstance(new, Knock)
    assert new.code == "OTHER"


def test_the_same_person_asks_on_each_account_for_himself() -> None:
    guests = asked(knocking(), knocking(account="work", code="OTHER"))
    assert [one.chat.account for one in guests.asking] == ["default", "work"]


def test_of_one_account_only_so_many_ask_at_a_time() -> None:
    full = asked(*(knocking(str(number)) for number in range(MOST_ASKING)))
    assert knock(full, knocking("late")) == (full, None)
    _, elsewhere = knock(full, knocking("late", account="work"))
    assert elsewhere is not None
    _, later = knock(full, knocking("late", at=ASKING_MS))
    assert later is not None


@pytest.mark.parametrize(("code", "at"), [("WRONG", 1), ("", 1), ("CODE7", ASKING_MS)])
def test_a_wrong_code_and_one_that_is_too_old_let_nobody_in(code: str, at: int) -> None:
    with pytest.raises(NotFound, match="has this code"):
        admit(asked(knocking()), code, at)


def test_no_more_than_a_limit_are_let_in() -> None:
    known = tuple(
        Guest(id=str(number), identity=Identity(channel="t", id=str(number)), chat=knocking().chat, since=0)
        for number in range(MOST_GUESTS)
    )
    with pytest.raises(InvalidInput, match="let in by pairing"):
        admit(Guests(known=known, asking=(knocking(),)), "CODE7", 1)


def test_who_is_turned_away_may_ask_again() -> None:
    first = knocking()
    guests, away = turn_away(asked(first), first.id, 1)
    assert (guests, away.id) == (NOBODY, first.id)
    with pytest.raises(NotFound, match="requestId"):
        turn_away(asked(first), first.id, ASKING_MS)


def test_who_is_removed_is_let_in_no_longer() -> None:
    guests, ann = admit(asked(knocking()), "CODE7", 1)
    assert remove(guests, ann.id) == (NOBODY, ann)
    with pytest.raises(NotFound, match="personId"):
        remove(NOBODY, ann.id)


def test_rows_are_made_of_guests_and_guests_of_rows() -> None:
    guests, _ = admit(asked(knocking("7"), knocking("8")), "CODE7", 1)
    assert gathered((*rows_of(guests).values(), "a device")) == guests
    assert list(rows_of(guests)) == ["guest:k-7-0-default", "knock:k-8-0-default"]
