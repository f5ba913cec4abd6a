from roost.core.addresses import Account
from roost.core.fleet import ABANDONED_MS, Fleet, Hosting, elsewhere
from roost.core.leases import Gateway, Lease

CHAT, MAIL = Account("chat"), Account("mail")


def lease(name: str, *, config: str = "a", expires_at: int = 10, epoch: int = 1) -> Lease:
    return Lease(
        gateway=Gateway(name=name, holder=name, config_hash=config), epoch=epoch, expires_at=expires_at
    )


def hosting(account: Account, gateway: str, *, epoch: int = 1, at: int = 0) -> Hosting:
    return Hosting(account=account, gateway=gateway, epoch=epoch, at=at)


def test_a_channel_is_served_by_who_holds_a_lease_of_the_same_epoch() -> None:
    fleet = Fleet(
        now=5,
        leases=(lease("one"), lease("gone", expires_at=5)),
        hostings=(hosting(CHAT, "one"), hosting(MAIL, "gone")),
    )
    assert [one.gateway.name for one in fleet.live] == ["one"]
    assert (fleet.host_of(CHAT), fleet.host_of(MAIL), fleet.host_of(Account("none"))) == ("one", None, None)
    assert fleet.hosted_by(lease("one")) == (CHAT,)
    assert fleet.hosted_by(lease("one", epoch=2)) == ()


def test_gateways_disagree_only_while_they_are_there() -> None:
    fleet = Fleet(
        now=5, leases=(lease("one"), lease("two", config="b"), lease("gone", config="c", expires_at=5))
    )
    assert fleet.disagreement("one") == "gateway one goes by another configuration than two"
    assert fleet.disagreement("gone") is None
    assert Fleet(now=5, leases=(lease("one"), lease("two"))).disagreement("one") is None


def test_what_others_have_or_had_is_not_ours_for_a_while() -> None:
    hostings = (hosting(CHAT, "one"), hosting(MAIL, "two"))
    assert elsewhere(hostings, lease("one"), ABANDONED_MS - 1) == {MAIL}
    assert elsewhere(hostings, lease("one"), ABANDONED_MS) == frozenset()
