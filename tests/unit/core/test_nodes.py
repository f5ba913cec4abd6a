"""What a node says it can do, and how asking it fails."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.nodes import Declared, Done, Failed, NodeAnswered, kept


def test_a_node_is_asked_only_for_what_it_declared() -> None:
    declared = Declared(commands=("camera.snap",))
    declared.refuse_unknown("camera.snap")
    for command in ("camera", "camera.snap.all", ""):
        with pytest.raises(InvalidInput, match="does not have"):
            declared.refuse_unknown(command)


def test_a_failure_is_told_with_the_nodes_own_code() -> None:
    assert str(Failed(message="none", code="NO_CAMERA").error()) == "NO_CAMERA: none"
    assert str(Failed(message="none").error()) == "none"


@pytest.mark.parametrize("done", [Done(), Done(payload={"a": ["\ud800"]}), Done(payload=[1], text="[ 1 ]")])
def test_what_is_kept_of_an_answer_is_told_as_it_came(done: Done) -> None:
    assert kept(done, 20).done() == done


def test_a_large_answer_is_not_kept() -> None:
    assert kept(Done(payload="éé"), 6).done() == Done(payload="éé")
    with pytest.raises(NodeAnswered):
        kept(Done(payload="éé"), 5).done()
