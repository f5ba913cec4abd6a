import pytest

from roost.core.errors import InvalidInput
from roost.core.exports import Reached, folder_name
from roost.core.keys import SessionKey


@pytest.mark.requirement("S8")
@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", "x" * 300, "a\\b", "é"])
def test_no_key_leads_out_of_the_folder_and_no_two_share_one(name: str) -> None:
    folder = folder_name(SessionKey.named("main", name))
    assert "/" not in folder
    assert "\\" not in folder
    assert not folder.startswith(".")
    assert len(folder.encode()) < 200
    assert folder != folder_name(SessionKey.named("main", f"{name}x"))


def test_a_cursor_is_read_as_it_was_written() -> None:
    reached = Reached(session_id="a:b", lines=3, size=17)
    assert Reached.parse(str(reached)) == reached


@pytest.mark.parametrize("text", ["x", "1:2:", "1:-2:a", "::a", f"{'9' * 20}:0:a", "١:0:a"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="no cursor of an export"):
        Reached.parse(text)
