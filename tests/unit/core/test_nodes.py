"""What a node says it can do, and how asking it fails."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.nodes import Declared, Failed


def test_a_node_is_asked_only_for_what_it_declared() -> None:
    declared = Declared(commands=("camera.snap",))
    declared.refuse_unknown("camera.snap")
    for command in ("camera", "camera.snap.all", ""):
        with pytest.raises(InvalidInput, match="does not have"):
            declared.refuse_unknown(command)


def test_a_failure_is_told_with_the_nodes_own_code() -> None:
    assert str(Failed(message="none", code="NO_CAMERA").error()) == "NO_CAMERA: none"
    assert str(Failed(message="none").error()) == "none"
