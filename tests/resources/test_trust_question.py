"""Saving decisions on projects, and the one question that leads to them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resources.place import Place

from pinyon.resources.trust import decide_project_trust
from pinyon.resources.trust_question import ProjectTrust, TrustChoice, TrustQuestion, TrustVerdict, trust_question
from pinyon.resources.trust_store import TrustStoreError, find_trust_decision, save_trust_decisions


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path.resolve())
    found.write(found.project / ".pi/prompts/mine.md", "text")
    return found


def store(place: Place) -> Any:
    return json.loads((place.agent / "trust.json").read_text(encoding="utf-8"))


class Person:
    """Gives the answer of this name, or none; counts the questions."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.questions: list[TrustQuestion] = []

    async def ask(self, question: TrustQuestion) -> TrustChoice | None:
        self.questions.append(question)
        return next((choice for choice in question.choices if choice.answer == self.answer), None)


def decide(place: Place, person: Person | None = None, **options: Any) -> bool:
    trust = ProjectTrust(place.agent, ask=person.ask if person else None, home=place.home, **options)
    return asyncio.run(trust.decide(place.project)).trusted


@pytest.mark.parametrize(
    ("answer", "trusted", "saved"),
    [
        ("trust", True, {"project": True}),
        ("trust_parent", True, {"work": True}),
        ("trust_once", True, None),
        ("refuse", False, {"project": False}),
        ("refuse_once", False, None),
        (None, False, None),
    ],
)
def test_each_answer_decides_and_saves_what_it_says(
    place: Place, answer: str | None, trusted: bool, saved: dict[str, bool] | None
) -> None:
    assert decide(place, Person(answer)) is trusted
    if saved is None:
        assert not (place.agent / "trust.json").exists()
    else:
        assert store(place) == {str(getattr(place, name)): value for name, value in saved.items()}


def test_trusting_the_parent_takes_back_the_folders_own_refusal(place: Place) -> None:
    save_trust_decisions(place.agent, {str(place.project): False, "/elsewhere": True})
    choice = next(choice for choice in trust_question(place.project).choices if choice.answer == "trust_parent")
    save_trust_decisions(place.agent, choice.saves)
    assert store(place) == {"/elsewhere": True, str(place.work): True}
    saved = find_trust_decision(place.project, place.agent)
    assert saved is not None
    assert (saved.folder, saved.trusted) == (place.work, True)


def test_the_root_has_no_parent_to_trust() -> None:
    assert "trust_parent" not in [choice.answer for choice in trust_question("/").choices]


def test_a_folder_is_asked_about_once_in_a_process(place: Place) -> None:
    person = Person("trust_once")
    trust = ProjectTrust(place.agent, ask=person.ask, home=place.home)
    link = place.home / "link"
    link.symlink_to(place.project)

    async def twice() -> list[bool]:
        return [(await trust.decide(folder)).trusted for folder in (place.project, link)]

    assert asyncio.run(twice()) == [True, True]
    assert [question.cwd for question in person.questions] == [place.project]


@pytest.mark.parametrize("override", [True, False])
def test_a_flag_settles_it_without_a_question(place: Place, override: bool) -> None:
    person = Person("refuse" if override else "trust")
    assert decide(place, person, override=override) is override
    assert person.questions == []


@pytest.mark.parametrize(("default", "trusted"), [("always", True), ("never", False)])
def test_the_default_settles_it_without_a_question(place: Place, default: str, trusted: bool) -> None:
    person = Person("refuse_once")
    assert decide(place, person, default=default) is trusted
    assert person.questions == []


def test_nobody_to_ask_means_no(place: Place) -> None:
    assert decide(place) is False


def handlers(*verdicts: TrustVerdict | None) -> Sequence[Any]:
    def handler(verdict: TrustVerdict | None) -> Any:
        async def decide(cwd: Path) -> TrustVerdict | None:
            del cwd
            return verdict

        return decide

    return [handler(verdict) for verdict in verdicts]


def test_the_first_clear_verdict_of_an_extension_counts(place: Place) -> None:
    save_trust_decisions(place.agent, {str(place.project): False})
    chain = handlers(None, TrustVerdict("undecided", remember=True), TrustVerdict("yes"), TrustVerdict("no"))
    assert decide(place, handlers=chain) is True
    assert store(place) == {str(place.project): False}
    assert decide(place, handlers=handlers(TrustVerdict("yes", remember=True))) is True
    assert store(place) == {str(place.project): True}


def test_extensions_are_not_asked_about_a_project_that_brings_nothing(place: Place) -> None:
    (place.project / ".pi" / "prompts" / "mine.md").unlink()
    (place.project / ".pi" / "prompts").rmdir()
    assert decide(place, handlers=handlers(TrustVerdict("no", remember=True))) is True
    assert not (place.agent / "trust.json").exists()


def test_a_decision_that_cannot_be_saved_still_counts_and_is_told(place: Place) -> None:
    (place.agent / "trust.json").mkdir()
    trust = ProjectTrust(place.agent, handlers=handlers(TrustVerdict("yes", remember=True)), home=place.home)
    decision = asyncio.run(trust.decide(place.project))
    assert decision.trusted
    assert "not saved" in (decision.problem or "")


def test_saved_decisions_are_sorted_and_keep_what_is_not_named(place: Place) -> None:
    place.write(place.agent / "trust.json", '\ufeff{"/z": null, "/m": true}')
    save_trust_decisions(place.agent, {"/a": False, "/q": None})
    assert (place.agent / "trust.json").read_text(
        encoding="utf-8"
    ) == '{\n  "/a": false,\n  "/m": true,\n  "/z": null\n}\n'


def test_a_link_is_saved_under_the_real_path(place: Place) -> None:
    link = place.home / "link"
    link.symlink_to(place.project)
    save_trust_decisions(place.agent, {str(link): True})
    assert store(place) == {str(place.project): True}


NO_STORES = st.sampled_from([b"[]", b'{"/a": 1}', b'{"/a": "yes"}', b"{", b"null", b'{"/a": true,}'])
ANY_BYTES = st.binary(max_size=80).filter(lambda data: b"".join(data.removeprefix(b"\xef\xbb\xbf").split()) != b"{}")


@given(ANY_BYTES | NO_STORES)
def test_a_file_that_makes_no_sense_is_told_and_stays(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    agent = tmp_path_factory.getbasetemp() / "fuzzed"
    agent.mkdir(exist_ok=True)
    path = agent / "trust.json"
    path.write_bytes(data)
    with pytest.raises(TrustStoreError, match="trust"):
        save_trust_decisions(agent, {"/a": True})
    assert path.read_bytes() == data
    decision = decide_project_trust(agent, agent, default="always")
    assert not decision.trusted
    assert decision.problem
    assert list(agent.iterdir()) == [path]


def test_processes_that_save_at_once_lose_nothing(place: Place) -> None:
    code = (
        "import sys; from pathlib import Path; from pinyon.resources.trust_store import save_trust_decisions as save\n"
        "for number in range(20): save(Path(sys.argv[1]), {f'/{sys.argv[2]}/{number}': True})"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(place.agent), name]) for name in ("a", "b", "c")
    ]  # fmt: skip
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(store(place)) == 60
