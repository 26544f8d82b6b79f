"""Which model embeds: the system's endpoint, the user's own, the local one, or none."""

from __future__ import annotations

from typing import Any

from embedding_work import Work, eight_wide

from memory.embedding.models import reconcile
from memory.embedding.providers import Providers, System
from memory.storage.database import user_session


def target_of(work: Work, system: System) -> Any:
    providers = Providers(system, work.book.runtime.keys)
    with user_session(work.book.runtime.sessions, work.book.user_id) as session:
        return providers.target(session, work.book.user_id)


def test_a_healthy_system_endpoint_comes_first(work, provider):
    assert target_of(work, System("bundled", provider.url)).provider_type == "llamacpp"


def test_the_users_endpoint_comes_before_the_local_model(work):
    assert target_of(work, System("bundled", "http://127.0.0.1:9")).provider_type == "openai"


def test_a_disabled_endpoint_leaves_the_local_model(work, provider):
    work.use(provider, enabled=False)
    assert target_of(work, System("bundled")).provider_type == "local"


def test_without_anything_there_is_no_model(local):
    assert target_of(local, System("none")) is None


def test_without_a_model_rows_wait_and_nothing_fails(runtime, book, no_model, clock):
    work = Work(runtime, book, no_model, clock)
    work.write()
    assert (work.backfill.run(), work.waiting()) == (0, 4)


def test_a_model_of_before_embeds_on_where_nothing_else_does(local):
    local.write()
    local.backfill.run()
    none = Providers(System("none"), local.book.runtime.keys)
    with user_session(local.book.runtime.sessions, local.book.user_id) as session:
        told = none.embeds(session, local.book.user_id)
    local.backfill._providers = none
    local.write("The kettle whistles in F")
    local.backfill.sweep()
    local.backfill.run()
    assert (told, local.waiting()) == (True, 0)


def test_an_outage_of_the_system_endpoint_re_embeds_nothing(local, provider):
    provider.answer = eight_wide
    system = System("bundled", provider.url)
    local.providers = Providers(system, local.book.runtime.keys)
    local.backfill._providers = local.providers
    local.write()
    local.backfill.run()
    gone = Providers(System("bundled", provider.url), local.book.runtime.keys)
    provider.status = 503
    local.backfill._providers = gone
    local.backfill.sweep()
    assert (local.active().provider_type, local.dimensions()) == ("llamacpp", {8})


def test_an_outage_does_not_undo_a_move_to_the_system_endpoint(local, provider):
    local.write()
    local.backfill.run()
    provider.answer = eight_wide
    local.backfill._providers = Providers(System("bundled", provider.url), local.book.runtime.keys)
    local.backfill.sweep()
    provider.status = 503
    local.backfill._providers = Providers(System("bundled", provider.url), local.book.runtime.keys)
    local.backfill.sweep()
    assert local.states("default") == ["pending"] * 4


def test_reconciling_twice_changes_nothing(work):
    with work.book.session() as session:
        target = work.providers.target(session, work.book.user_id)
        assert reconcile(session, work.book.user_id, target, now=work.clock())
        assert not reconcile(session, work.book.user_id, target, now=work.clock())
