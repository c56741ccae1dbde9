"""
Data classes that are quick to load are as those of the standard library.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from cdk_sagemaker_llm._records import dataclass


@dataclass(frozen=True, slots=True)
class Light:
    """
    One that is quick to load.
    """

    name: str
    count: int = 0
    untold: str = dataclasses.field(default="", repr=False)
    unlike: str = dataclasses.field(default="", compare=False)
    parts: tuple[object, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Plain:
    """
    One of the standard library.
    """

    name: str
    count: int = 0
    untold: str = dataclasses.field(default="", repr=False)
    unlike: str = dataclasses.field(default="", compare=False)
    parts: tuple[object, ...] = ()


@dataclass(frozen=True)
class Longer(Light):
    """
    One that has a field more than its base.
    """

    more: int = 1


@dataclass
class Changing:
    """
    One whose fields may change.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Empty:
    """
    One without a field.
    """


@dataclass(frozen=True, slots=True)
class Spoken:
    """
    One that says itself how it is compared and shown.
    """

    name: str

    def __repr__(self) -> str:
        """
        Render as the name.
        """
        return self.name

    def __eq__(self, other: object) -> bool:
        """
        Compare whatever the case.
        """
        return isinstance(other, Spoken) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        """
        Hash whatever the case.
        """
        return hash(self.name.lower())


@pytest.mark.parametrize("made", [Light, Plain])
def test_it_compares_by_its_fields(made: type[Light | Plain]) -> None:
    """
    But for those that are left out, and only with its own class.
    """
    one = made("a", 1, unlike="x")

    assert one == made("a", 1, unlike="y")
    assert one != made("a", 2)
    assert one != made("a", 1, untold="z")
    assert len({one, made("a", 1), made("b", 1)}) == 2
    assert one.__eq__("a") is NotImplemented


def test_it_differs_from_its_heirs() -> None:
    """
    As in the standard library, whatever the fields.
    """
    assert Light("a") != Longer("a")
    assert Longer("a", more=1) != Longer("a", more=2)
    assert Light("a") != Plain("a")  # type: ignore[comparison-overlap] # it is what is asked


@pytest.mark.parametrize("made", [Light, Plain])
def test_it_is_shown_by_its_fields(made: type[Light | Plain]) -> None:
    """
    But for those that are not to be told.
    """
    shown = repr(made("a", 1, "hidden", "b"))

    assert shown == f"{made.__name__}(name='a', count=1, unlike='b', parts=())"


def test_one_that_holds_itself_is_shown() -> None:
    """
    Without an end it would be.
    """
    within: list[object] = []
    one = Changing(within)  # type: ignore[arg-type] # whatever it holds
    within.append(one)

    assert repr(one) == "Changing(name=[...])"


def test_it_cannot_be_changed_but_where_it_says_so() -> None:
    """
    What may change cannot be hashed.
    """
    with pytest.raises(dataclasses.FrozenInstanceError):
        Light("a").name = "b"  # type: ignore[misc] # it is what is refused
    with pytest.raises(TypeError, match="unhashable"):
        hash(Changing("a"))

    assert Changing("a") == Changing("a")


def test_one_without_fields_is_like_any_other() -> None:
    """
    Nothing tells them apart.
    """
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert repr(Empty()) == "Empty()"


def test_what_a_class_says_itself_is_kept() -> None:
    """
    Comparing, hashing and showing.
    """
    assert Spoken("a") == Spoken("A")
    assert {Spoken("a")} == {Spoken("A")}
    assert repr(Spoken("a")) == "a"


def test_it_is_copied_replaced_and_pickled() -> None:
    """
    As the standard library does it.
    """
    one = Light("a", 1, parts=(Empty(),))

    assert copy.deepcopy(one) == one
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - made a line above
    assert dataclasses.replace(one, count=2) == Light("a", 2, parts=(Empty(),))
    assert dataclasses.asdict(one)["name"] == "a"
