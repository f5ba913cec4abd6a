"""People as clients are shown them: without the code, which only who asks is told."""

from roost.core.guests import Guest, Knock, Row
from roost.core.jsonvalue import JsonObject


def asking(knock: Knock) -> JsonObject:
    return {"requestId": knock.id, **_somebody(knock), "codeTold": knock.told, "askedAtMs": knock.at}


def person(guest: Guest) -> JsonObject:
    return {"personId": guest.id, **_somebody(guest), "approvedAtMs": guest.since}


def _somebody(one: Row) -> JsonObject:
    name: JsonObject = {} if one.name is None else {"displayName": one.name}
    return {
        "channel": one.identity.channel,
        "accountId": one.chat.account,
        "senderId": one.identity.id,
        **name,
    }
