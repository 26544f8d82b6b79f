"""The page of providers: set, tried, and changed while the old vectors serve."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from html import unescape

import pytest
from api_agent import Agent, add_space, rows
from api_talk import Talk
from chat_endpoint import chat_endpoint
from embedding_endpoint import running
from pages_browser import HTMX, at_browser, stored
from sqlalchemy import event

from memory.clock import utc_now
from memory.embedding.backfill import Backfill
from memory.embedding.models import reconcile
from memory.embedding.providers import NO_LOCAL_MODEL, Providers
from memory.keys import Keys
from memory.remote.llm import ChatModel, ChatModelError
from tasks.runtime import build
from webapp.extensions import db


@pytest.fixture
def browser(app, ada):
    return at_browser(app, ada)


@pytest.fixture
def endpoint():
    with running() as server:
        yield server


def form(endpoint, **more):
    fields = {"provider_type": "openai", "endpoint_url": endpoint.url, "model": "loom-5", "enabled": "true"}
    return {**fields, **more}


def models(person):
    return [tuple(row) for row in rows(person, "SELECT model, state FROM embedding_models ORDER BY state")]


def test_without_a_setting_the_page_says_what_embeds(browser):
    assert "no text leaves this machine" in browser.get("/providers").text


def test_where_nothing_embeds_the_page_promises_no_model(runtime, browser, monkeypatch):
    signs = ("A worker adopts one", "searches find by words alone")
    as_it_is, providers = browser.get("/providers").text, runtime.providers
    monkeypatch.setattr(providers, "system", replace(providers.system, local_model=NO_LOCAL_MODEL, llamacpp_url=None))
    page = browser.get("/providers").text
    assert [[sign in each for sign in signs] for each in (as_it_is, page)] == [[True, False], [False, True]]


@pytest.fixture
def installed(app, runtime, monkeypatch):
    """Return a function that starts the server anew, with an endpoint for all of its users."""

    def install(system):
        known = replace(runtime.providers.system, llamacpp_url=system.url, llamacpp_model="tiny")
        providers = Providers(known, runtime.keys)
        monkeypatch.setitem(app.extensions, "commonplace", replace(runtime, providers=providers))
        return providers

    return install


def test_while_the_servers_own_endpoint_embeds_no_other_can_be_set(client, installed, ada, browser, endpoint):
    agent = Agent(client, ada.headers)

    def assert_locked():
        page = browser.get("/providers").text
        assert ("<fieldset disabled>" in page, "no text leaves this machine" in page) == (True, False)
        assert agent.get("/v1/providers").json["locked_by_system"] is True
        sent = {"provider_type": "openai", "endpoint_url": endpoint.url, "model": "loom-5"}
        refused = agent.ask("PUT", "/v1/providers", json=sent)
        assert (refused.status_code, "for all of its users" in refused.text) == (409, True)
        again = browser.post("/providers", data=form(endpoint))
        assert (again.status_code, "Nothing was saved" in again.text) == (422, True)
        assert rows(ada, "SELECT FROM provider_settings") == []

    with running() as system:
        providers = installed(system)
        assert_locked()
        with ada.session() as session:
            reconcile(session, ada.id, providers.target(session, ada.id), now=utc_now())
    # Away by now; whom it embedded for stays.
    installed(system)
    assert_locked()


def test_an_endpoint_for_all_that_never_answered_keeps_nobody_from_setting_one(client, installed, ada, endpoint):
    with running() as system:
        pass
    installed(system)
    sent = {"provider_type": "openai", "endpoint_url": endpoint.url, "model": "loom-5"}
    assert Agent(client, ada.headers).ask("PUT", "/v1/providers", json=sent).json["locked_by_system"] is False


def test_where_a_language_model_reads_the_page_says_that_texts_are_sent_to_it(app, runtime, browser):
    app.extensions["commonplace"] = replace(runtime, chat_model=ChatModel("http://127.0.0.1:9", "tiny"))
    text = browser.get("/providers").text
    app.extensions["commonplace"] = runtime
    assert "texts are sent to it, tiny at 127.0.0.1." in text
    assert "no text leaves this machine" not in text


def test_the_foot_of_every_page_says_where_texts_are_sent(app, runtime, monkeypatch, ada, bob, browser, endpoint):
    def foot(reader, page="/spaces"):
        return re.sub(r"<.*?>|\n", "", re.search("Your memory, .*?<a href=./v1", reader.get(page).text, re.S).group())

    stored(ada, "Ada keeps bees on the roof")
    browser.post("/providers", data=form(endpoint))
    assert foot(browser).startswith("Your memory, on your machine; texts are sent to an embedding endpoint.")
    assert foot(at_browser(app, bob)).startswith("Your memory, on your machine.")
    reads = replace(runtime, chat_model=ChatModel("http://127.0.0.1:9", "tiny"))
    monkeypatch.setitem(app.extensions, "commonplace", reads)
    assert "sent to an embedding endpoint and a language model." in foot(browser)
    assert "sent to a language model." in foot(app.test_client(), "/login")


def test_a_test_tells_dimensions_and_time_and_stores_nothing(ada, browser, endpoint):
    response = browser.post("/providers/test", data=form(endpoint))
    assert "5 dimensions in 0." in response.text
    assert rows(ada, "SELECT FROM provider_settings") == []


def test_a_test_tells_the_error_in_words(browser, endpoint):
    endpoint.status = 500
    assert "answered HTTP 500" in browser.post("/providers/test", data=form(endpoint)).text


def test_an_endpoint_that_takes_its_time_holds_few_of_those_who_answer_everybody(app, ada, browser, endpoint):
    answers = []

    def try_another():
        if len(endpoint.keys) <= 10:
            answers.append(at_browser(app, ada).post("/providers/test", data=form(endpoint)))

    endpoint.meanwhile = try_another
    assert "5 dimensions" in browser.post("/providers/test", data=form(endpoint)).text
    assert len(endpoint.keys) == 4
    # The last one was tried while all the others were.
    assert [answer.status_code for answer in answers] == [422, 200, 200, 200]
    assert "others are being tried" in answers[0].text
    assert "5 dimensions" in browser.post("/providers/test", data=form(endpoint)).text


def test_a_test_holds_no_connection_meanwhile(app, browser, endpoint):
    with app.app_context():
        pool = db.engine.pool
    held = []

    class Asked(list):
        def append(self, key):
            held.append(pool.checkedout())

    endpoint.keys = Asked()
    assert "5 dimensions in 0." in browser.post("/providers/test", data=form(endpoint)).text
    assert held == [0]


def test_where_public_addresses_alone_are_asked_another_is_refused_beside_it(
    runtime, monkeypatch, ada, browser, endpoint
):
    monkeypatch.setattr(runtime.providers, "system", replace(runtime.providers.system, public_only=True))
    refused = browser.post("/providers", data=form(endpoint))
    assert refused.status_code == 422
    assert "is at an address that is not public" in refused.text
    assert rows(ada, "SELECT FROM provider_settings") == []
    assert "is at an address that is not public" in browser.post("/providers/test", data=form(endpoint)).text
    assert endpoint.keys == []


def test_a_test_answers_htmx_with_the_form_alone(browser, endpoint):
    answer = browser.post("/providers/test", data=form(endpoint), headers=HTMX).text
    assert answer.lstrip().startswith('<section id="providers-setting"')
    assert f'value="{endpoint.url}"' in answer


@pytest.fixture
def served(ada, browser, endpoint):
    """Ada's memory has its vector by the endpoint, which serves."""
    stored(ada, "Ada keeps bees on the roof")
    browser.post("/providers", data=form(endpoint, api_key="sk-loom"))
    ada.runtime.backfill.run()
    assert models(ada) == [("loom-5", "active")]
    return endpoint


def serving(browser):
    return " ".join(unescape(browser.get("/providers/serving", headers=HTMX).text).split())


def test_the_page_asks_the_endpoint_that_serves_for_a_vector(browser, served):
    asked = len(served.keys)
    assert 'hx-get="/providers/serving" hx-trigger="load"' in browser.get("/providers").text
    assert len(served.keys) == asked
    said = serving(browser)
    assert "was asked for a vector, and gave it in 0." in said
    assert "hx-get" not in said
    assert served.keys[asked:] == ["Bearer sk-loom"]


def test_the_page_says_why_what_serves_gives_no_vector(browser, served):
    served.status = 401
    why = "the openai embedding provider answered HTTP 401: it wants another key. Until it does, searches go by words"
    assert why in serving(browser)
    served.status, served.dimensions = 200, 7
    assert "returned 7 dimensions instead of 5. Until it does" in serving(browser)


def test_the_page_says_that_a_stored_key_can_no_longer_be_read(app, runtime, monkeypatch, browser, served):
    other = Providers(runtime.providers.system, Keys(b"another secret, of another server"))
    monkeypatch.setitem(app.extensions, "commonplace", replace(runtime, providers=other))
    assert "the secret key of the server was replaced since: store it again. Until it does" in serving(browser)


def test_the_local_model_is_not_asked(ada, browser):
    stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    assert serving(browser) == '<div id="providers-serving" > </div>'


def test_an_older_tab_does_not_overwrite_what_was_set_meanwhile(ada, browser, endpoint):
    shown = unescape(re.search(r'name="shown" value="([^"]+)"', browser.get("/providers").text).group(1))
    older = form(endpoint, shown=shown, model="loom-7")
    assert browser.post("/providers", data=form(endpoint, enabled="", shown=shown)).status_code == 303
    tried = browser.post("/providers/test", data=older, headers=HTMX).text
    refused = browser.post("/providers", data=older)
    assert refused.status_code == 422
    assert f"meanwhile it was set to loom-5 at {endpoint.url}. Save again" in unescape(refused.text)
    assert [tuple(row) for row in rows(ada, "SELECT model, enabled FROM provider_settings")] == [("loom-5", False)]
    again = [re.search(r'name="shown" value="([^"]+)"', each).group(1) for each in (tried, refused.text)]
    assert unescape(again[0]) == shown
    browser.post("/providers/remove")
    assert "meanwhile it was removed" in browser.post("/providers", data={**older, "shown": unescape(again[1])}).text
    assert browser.post("/providers", data={**older, "shown": "{}"}).status_code == 303
    # Enter twice is no other tab.
    assert browser.post("/providers", data=older).status_code == 303


def test_who_tests_an_endpoint_after_the_session_ended_stays_where_it_is_typed(browser, endpoint):
    browser.post("/logout")
    answer = browser.post("/providers/test", data=form(endpoint), headers=HTMX)
    assert (answer.status_code, "HX-Redirect" in answer.headers) == (401, False)


def test_a_saved_endpoint_is_filled_while_the_old_model_serves(ada, browser, endpoint):
    stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    old = models(ada)[0][0]
    assert browser.post("/providers", data=form(endpoint)).status_code == 303
    assert models(ada) == [(old, "active"), ("loom-5", "building")]
    page = browser.get("/providers").text
    assert "0 of 1 vectors" in page
    assert 'hx-trigger="load delay:1s"' in page


def test_the_page_looks_soon_for_a_model_that_is_filled_to_take_over(ada, browser, endpoint):
    memory = stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    browser.post(f"/memories/{memory}/forget", headers=HTMX)
    browser.post("/providers", data=form(endpoint))
    page = browser.get("/providers").text
    assert "0 of 0 vectors" in page
    assert 'hx-trigger="load delay:1s"' in page


def test_the_new_model_takes_over_when_all_is_there(ada, browser, endpoint):
    stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    browser.post("/providers", data=form(endpoint))
    ada.runtime.backfill.run()
    assert models(ada) == [("loom-5", "active")]
    fragment = browser.get("/providers/progress", headers=HTMX).text
    assert "1 of 1 vectors" in fragment
    assert "hx-trigger" not in fragment


def test_what_failed_is_told_and_tried_again(ada, browser, endpoint):
    stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    browser.post("/providers", data=form(endpoint, dimensions="9"))
    ada.runtime.backfill.run()
    page = browser.get("/providers").text
    assert "1 waiting" in page
    assert "returned 5 dimensions instead of 9" in page
    assert "It is asked again at" in page
    assert 'hx-trigger="load delay:10s"' in page
    assert "Trying 1 vector again" in browser.post("/providers/retry", follow_redirects=True).text
    assert "It is asked again at" not in browser.get("/providers").text


def test_who_owns_an_endpoint_that_fails_sees_it_where_they_work(app, ada, bob, browser, endpoint):
    stored(ada, "Ada keeps bees on the roof")
    ada.embed()

    def told():
        return ["Your new embedding endpoint gives no" in browser.get(page).text for page in ("/", "/memories")]

    browser.post("/providers", data=form(endpoint))
    assert told() == [False, False]
    endpoint.status = 503
    ada.runtime.backfill.run()
    assert told() == [True, True]
    assert 'id="providers-failing"' not in at_browser(app, bob).get("/memories").text
    endpoint.status = 200
    browser.post("/providers/retry")
    ada.runtime.backfill.run()
    assert told() == [False, False]
    stored(ada, "Ada keeps hens, too")
    endpoint.status = 503
    ada.runtime.backfill.run()
    assert "Your embedding endpoint gives no vectors" in browser.get("/").text
    assert '<a href="/providers">Providers</a> says why.' in browser.get("/search?q=hens").text


def test_admins_see_that_the_servers_own_endpoint_fails_for_anybody(app, runtime, installed, ada, root, browser):
    stored(ada, "Ada keeps bees on the roof")
    with running() as system:
        providers = installed(system)
        with ada.session() as session:
            reconcile(session, ada.id, providers.target(session, ada.id), now=utc_now())
    admin = at_browser(app, root)
    assert 'id="providers-failing"' not in admin.get("/memories").text
    Backfill(runtime.sessions, providers).run()
    assert "The server's embedding endpoint gives no vectors" in admin.get("/memories").text
    assert 'id="providers-failing"' not in browser.get("/memories").text


def test_admins_see_that_the_language_model_fails_whichever_process_asked_it(app, runtime, monkeypatch, root, browser):
    admin = at_browser(app, root)
    with chat_endpoint() as endpoint:
        # A worker and a web process.
        processes = [build(replace(runtime.settings, llm_url=endpoint.url)) for _ in range(2)]
        monkeypatch.setitem(app.extensions, "commonplace", processes[1])

        def told_once_asked(process, status):
            endpoint.status = status
            with suppress(ChatModelError):
                process.chat_model.complete("Name names.", "Ada keeps bees", max_tokens=9)
            line = "The server's language model gave no usable answer"
            return [line in admin.get(page).text for page in ("/", "/memories")] + [line in browser.get("/").text]

        failed = told_once_asked(processes[0], 503)
        assert failed == [True, True, False]
        assert "language model failed: the model endpoint answered HTTP 503" in admin.get("/admin").text
        assert told_once_asked(processes[1], 200) == [False, False, False]
    for process in processes:
        process.close()


@pytest.mark.parametrize("page", ["/", "/memories"])
def test_the_line_costs_one_statement_and_other_pages_none(app, browser, page):
    with app.app_context():
        engine = db.engine

    def asked(address, **headers):
        statements = []
        note = lambda *args: statements.append(args[2])  # noqa: E731 - to be taken away again
        event.listen(engine, "before_cursor_execute", note)
        assert browser.get(address, headers=headers).status_code == 200
        event.remove(engine, "before_cursor_execute", note)
        return sum("rests_until >" in each for each in statements)

    asked(page)
    assert (asked(page), asked("/memories", **HTMX), asked("/search"), asked("/spaces")) == (1, 0, 0, 0)


def test_a_blank_key_keeps_the_stored_one_for_its_own_address_alone(browser, endpoint):
    browser.post("/providers", data=form(endpoint, api_key="sk-loom"))
    browser.post("/providers/test", data=form(endpoint))
    browser.post("/providers/test", data=form(endpoint, endpoint_url=f"{endpoint.url}/other"))
    assert endpoint.keys == ["Bearer sk-loom", None]


def test_a_key_is_never_shown(browser, endpoint):
    browser.post("/providers", data=form(endpoint, api_key="sk-loom"))
    assert "sk-loom" not in browser.get("/providers").text
    assert "sk-loom" not in browser.post("/providers/test", data=form(endpoint, api_key="sk-loom")).text


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://loom:s3cr3t@127.0.0.1:9/v1", "http://loom:***@127.0.0.1:9/v1"),
        ("http://loom:s3:cr@3t@127.0.0.1:9", "http://loom:***@127.0.0.1:9"),
        ("http://127.0.0.1:9/embed?key=s3cr3t&v=1", "http://127.0.0.1:9/embed?key=***&v=***"),
        ("http://127.0.0.1:9/a:b@c", "http://127.0.0.1:9/a:b@c"),
    ],
)
def test_an_agent_is_told_an_address_without_its_secrets(client, ada, browser, endpoint, address, shown):
    assert browser.post("/providers", data=form(endpoint, endpoint_url=address)).status_code == 303
    told = client.get("/v1/providers", headers=ada.headers).json
    assert {told["setting"]["endpoint_url"], *(model["endpoint_url"] for model in told["models"])} == {shown}
    assert shown.replace("&", "&amp;") in browser.get("/providers/progress", headers=HTMX).text


def test_a_removed_endpoint_is_forgotten_with_its_key(ada, browser, endpoint):
    browser.post("/providers", data=form(endpoint, api_key="sk-loom"))
    assert browser.post("/providers/remove").status_code == 303
    assert rows(ada, "SELECT FROM provider_settings") == []
    told = "SELECT action, details FROM audit_events WHERE action LIKE 'provider.%' ORDER BY id"
    named = {"provider_type": "openai", "model": "loom-5"}
    assert [tuple(row) for row in rows(ada, told)] == [("provider.set", named), ("provider.removed", {})]


@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoint_url": "ftp://host"},
        {"endpoint_url": ""},
        {"model": ""},
        {"api_key": "clé"},
        {"dimensions": "0"},
        {"provider_type": "magic"},
        {"volume": "11"},
    ],
)
@pytest.mark.parametrize("path", ["/providers", "/providers/test"])
def test_an_endpoint_that_does_not_fit_is_not_stored(ada, browser, endpoint, path, wrong):
    refused = browser.post(path, data=form(endpoint, **wrong))
    assert refused.status_code == 422
    # Each beside its field, but for what no browser sends.
    told = wrong.keys() - {"provider_type", "volume"}
    assert all(f'id="problem-{name}"' in refused.text for name in told)
    assert rows(ada, "SELECT FROM provider_settings") == []


def test_an_agent_sees_the_progress_too(client, ada, browser, endpoint):
    stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    browser.post("/providers", data=form(endpoint))
    [_, building] = Agent(client, ada.headers).get("/v1/providers").json["models"]
    assert building["progress"] == {"total": 1, "ready": 0, "failed": 0}
    assert (building["error"], building["rests_until"]) == (None, None)
    endpoint.status = 503
    ada.runtime.backfill.run()
    [_, building] = Agent(client, ada.headers).get("/v1/providers").json["models"]
    assert "HTTP 503" in building["error"]
    assert building["rests_until"] > "2026"


def test_another_users_endpoint_is_not_shown(app, browser, bob, endpoint):
    browser.post("/providers", data=form(endpoint))
    assert endpoint.url not in at_browser(app, bob).get("/providers").text


def test_a_confined_token_is_told_how_far_its_own_space_is(client, ada):
    everything = Agent(client, ada.headers)
    confined = Agent(client, ada.new_token("read", "write", space=add_space(ada, "work")))
    for space, texts in (("default", ("tea", "bees", "code")), ("work", ("looms",))):
        for text in texts:
            everything.store(f"Ada knows all about {text}", space=space)
        Talk(everything, space=space).turn("Who is Ada?", "Somebody who knows")
    ada.embed()
    everything.store("Ada knows all about ships")
    assert progress(everything) == {"total": 7, "ready": 6, "failed": 0}
    assert progress(confined) == {"total": 2, "ready": 2, "failed": 0}


def test_who_may_not_read_cannot_have_everything_sent_to_an_endpoint(client, ada, endpoint):
    Agent(client, ada.headers).store("The vault opens at noon")
    setting = {"provider_type": "custom_http", "endpoint_url": endpoint.url, "model": "m", "enabled": True}
    writer = Agent(client, ada.new_token("write"))
    assert writer.ask("PUT", "/v1/providers", json=setting).status_code == 403
    assert Agent(client, ada.headers).get("/v1/providers").json["setting"] is None
    reader = Agent(client, ada.new_token("read", "write"))
    assert reader.ask("PUT", "/v1/providers", json=setting).json["setting"]["enabled"]


def progress(agent):
    (model,) = agent.get("/v1/providers").json["models"]
    return model["progress"]


def test_without_scripts_a_test_says_that_the_key_is_to_be_typed_again(browser, endpoint):
    answer = browser.post("/providers/test", data=form(endpoint, api_key="k3y-of-the-loom")).text
    assert "once more: keys are not shown" in answer
    assert "k3y-of-the-loom" not in answer
