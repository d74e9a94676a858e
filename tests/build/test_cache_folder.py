"""What is prepared lies where guests can read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.build import cache, prepare, toolchain
from grader.errors import GraderError
from grader.sandbox.without_namespaces import identity_form, landlock_form, require_reach


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNEL_GRADER_CACHE", str(tmp_path / "own"))
    monkeypatch.setattr(cache, "SHARED", tmp_path / "shared")
    (tmp_path / "own").mkdir(mode=0o700)
    return tmp_path / "own"


def test_guests_with_an_id_of_their_own_need_a_folder_that_they_can_pass(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "strongest", identity_form)
    assert cache.cache_folder() == own.with_name("shared")
    monkeypatch.setattr(cache, "strongest", lambda: landlock_form(root=True))
    assert cache.cache_folder() == own


def test_a_folder_that_is_somebody_elses_is_not_taken(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "strongest", identity_form)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert cache.cache_folder() == own


def test_what_guests_cannot_read_is_said_before_anything_is_graded(own: Path) -> None:
    with pytest.raises(GraderError, match="other users can't enter") as barred:
        require_reach(identity_form(), (own,))
    assert str(own.parents[-1]) in str(barred.value)
    require_reach(landlock_form(root=True), (own,))


def test_a_copied_cache_is_prepared_anew(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers and precompiled headers contain their own path: in a copy they'd fail, and a sample would be charged."""
    found = toolchain.discover()
    here = prepare.key(found)
    monkeypatch.setenv("KERNEL_GRADER_CACHE", str(own.with_name("copy")))
    own.with_name("copy").mkdir()
    assert prepare.key(found) != here
