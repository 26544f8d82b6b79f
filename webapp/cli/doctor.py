"""`doctor`: what is wrong, in words, and what to do about it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click
from psycopg.errors import QueryCanceled
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

import config
from config import ConfigError, DataFolderError, Settings
from memory.clock import utc_now
from memory.embedding.base import EmbeddingError
from memory.embedding.http import HttpEmbedder
from memory.enrichment.model import findings_by_model
from memory.errors import DomainError, ServerError, ServerFolderError, first_line
from memory.models import User
from memory.record.telemetry import telemetry
from memory.remote.llm import ChatModelError, UselessAnswerError
from memory.storage.schema_revision import NEWER, current_revision, head_revision, is_newer
from tasks.runtime import Runtime, build
from webapp.cli.wiring import ANOTHER_KEY, USE_IT, has_key, has_role, refuses_password, unread_variables
from webapp.demo_login import EMAIL, known_admin
from webapp.disk import LEAST_FREE

# Nothing is looked at for longer, as where another program holds a table.
LONGEST_LOOK = 30.0  # seconds
_READ_ONLY = (
    "its file system is mounted read-only, as the system does by itself with a disk that fails: read the system's log, "
    "save what is there, and mount it to be written"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `advice` says what to do when it is not well."""

    name: str
    well: bool
    says: str
    advice: str = ""


@click.command()
def doctor() -> None:
    """Look at the settings, the data folder, the database, the queue and the model."""
    findings = list(examine())
    for finding in findings:
        click.echo(f"{'ok  ' if finding.well else 'BAD '} {finding.name}: {finding.says}")
        if not finding.well and finding.advice:
            click.echo(f"     -> {finding.advice}")
    if not all(finding.well for finding in findings):
        raise SystemExit(1)


def examine() -> Iterator[Finding]:
    """Look at everything that can go wrong, stopping where nothing further can be looked at."""
    if said := unread_variables():
        yield Finding("variables", False, f"nothing reads {said}", "Correct the name; the README lists them all.")
    try:
        settings = config.load()
    except DataFolderError as error:
        yield Finding("data folder", False, str(error))
        return
    except ConfigError as error:
        yield Finding("settings", False, str(error), "Correct the environment variable; the README lists them all.")
        return
    yield Finding("settings", True, "every setting can be read")
    folder = _folder(settings)
    yield folder
    try:
        runtime = build(settings, limit=LONGEST_LOOK)
    except ServerFolderError as error:
        yield Finding("database", False, str(error))
        return
    except (ServerError, SQLAlchemyError) as error:
        # There is no advice to remove anything: each start finds what a dead server has left.
        full = shutil.disk_usage(settings.home).free < LEAST_FREE
        advice = "Read the log that is named." if folder.well else folder.advice
        if full:
            advice = "Make room on the disk, and look again."
        yield Finding("database", False, str(error), advice)
        return
    for look in _LOOKS:
        finding = _examined(look, runtime)
        yield finding
        if not finding.well and finding.name in {"database", "schema", "application role"}:
            return


def _examined(look: Callable[[Runtime], Finding], runtime: Runtime) -> Finding:
    try:
        return look(runtime)
    except DBAPIError as error:
        advice = "Run `commonplace migrate`."
        if isinstance(error.orig, QueryCanceled):
            advice = "Another program holds what this reads, or the machine is very busy: look again in a while."
        return Finding(look.__name__.strip("_"), False, first_line(error.orig or error), advice)


def _folder(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.home).free
    says = f"{settings.home}, {free // 1024**2} MiB free"
    if not os.access(settings.home, os.W_OK):
        is_read_only = os.statvfs(settings.home).f_flag & os.ST_RDONLY
        advice = _READ_ONLY if is_read_only else "change its owner or COMMONPLACE_HOME"
        return Finding("data folder", False, says, f"It cannot be written to: {advice}.")
    return Finding("data folder", free >= LEAST_FREE, says, "The disk is nearly full.")


def _database(runtime: Runtime) -> Finding:
    try:
        with runtime.databases.as_owner(limit=LONGEST_LOOK) as engine, engine.connect() as connection:
            version = connection.execute(text("SHOW server_version")).scalar_one()
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip()
        return Finding("database", False, reason, "Is the server of DATABASE_URL up, and are the credentials right?")
    embedded = "embedded" if runtime.server else "DATABASE_URL"
    return Finding("database", True, f"PostgreSQL {version} ({embedded})")


def _extension(runtime: Runtime) -> Finding:
    with runtime.databases.as_owner(limit=LONGEST_LOOK) as engine, engine.connect() as connection:
        query = "SELECT default_version, installed_version FROM pg_available_extensions WHERE name = 'vector'"
        row = connection.execute(text(query)).one_or_none()
    if row is None:
        advice = "Install pgvector 0.8 or newer on the server, then run `commonplace migrate`."
        return Finding("extension", False, "pgvector is not installed on the server", advice)
    if row.installed_version is None:
        advice = "Run `commonplace migrate` as a role that may CREATE EXTENSION."
        return Finding("extension", False, "pgvector is not enabled in this database", advice)
    return Finding("extension", True, f"pgvector {row.installed_version}")


def _schema(runtime: Runtime) -> Finding:
    # Imported here, as Alembic comes with it, which the other findings do without.
    from memory.storage.schema import missing  # noqa: PLC0415

    with runtime.databases.as_owner(limit=LONGEST_LOOK) as engine, engine.connect() as connection:
        found = current_revision(connection)
        lacks = missing(connection) if found == head_revision() else []
    says = f"at {found}, this code needs {head_revision()}"
    if lacks:
        advice = "It was not restored whole, or changed by hand: go back to a backup that is whole."
        return Finding("schema", False, f"at {found}, and there is no {', '.join(lacks)}", advice)
    advice = f"{NEWER[0].upper()}{NEWER[1:]}." if is_newer(found) else "Run `commonplace migrate`."
    return Finding("schema", found == head_revision(), says, advice)


def _role(runtime: Runtime) -> Finding:
    # Imported here, as Alembic comes with it, which the other findings do without.
    from memory.storage.schema import open_to_all  # noqa: PLC0415

    try:
        with runtime.sessions() as session:
            row = session.execute(
                text("SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
            ).one()
            owned = session.scalar(text("SELECT count(*) FROM pg_tables WHERE tableowner = current_user"))
            is_open = bool(open_to_all(session.connection()))
    except OperationalError as error:
        advice = "Run `commonplace migrate`."
        with runtime.databases.as_owner(limit=LONGEST_LOOK) as engine, engine.connect() as connection:
            known = has_role(connection, runtime.databases.app_role)
        if known and refuses_password(error, runtime.databases.app):
            advice = f"{ANOTHER_KEY[0].upper()}{ANOTHER_KEY[1:]}."
        return Finding("application role", False, first_line(error.orig or error), advice)
    if is_open:
        says = "every role that may connect can bypass row-level security, as after a restore"
        return Finding("application role", False, says, "Run `commonplace migrate`.")
    says = f"{row.rolname} owns {owned} tables"
    well = not (row.rolsuper or row.rolbypassrls or owned)
    return Finding("application role", well, says, "It can bypass row-level security: run `commonplace migrate`.")


def _key(runtime: Runtime) -> Finding:
    kept = runtime.settings.home / "secret.key"
    if kept.exists() and kept.stat().st_mode & 0o077:
        # A copy that was put back may be readable: whoever reads it can log in as anybody and decrypt stored keys.
        return Finding("secret key", False, "other accounts of this machine may read it", f"chmod 600 {kept}")
    if has_key(runtime):
        return Finding("secret key", True, "the database was set up with it")
    lost = "Keys of embedding endpoints cannot be read, and what was forgotten today is not known any more"
    return Finding("secret key", False, "the database was set up with another one", f"{lost}: {USE_IT}.")


def _admins(runtime: Runtime) -> Finding:
    with runtime.databases.as_owner(limit=LONGEST_LOOK) as engine, Session(engine) as session:
        everybodys = known_admin(session) is not None
        alone = session.scalar(select(User.id).where(User.email != EMAIL).limit(1)) is None
    if not everybodys or alone:
        return Finding("admins", True, "none has a password that everybody knows, beside other accounts")
    advice = f"Set another: `commonplace user password --email {EMAIL}`, or make it a plain user: `user role`."
    return Finding("admins", False, f"everybody on this machine knows the password of {EMAIL}, an admin", advice)


def _queue(runtime: Runtime) -> Finding:
    if runtime.settings.redis_url is None:
        with runtime.sessions() as session:
            waiting = session.scalar(text("SELECT count(*) FROM huey_task"))
        return Finding("queue", True, f"PostgreSQL, {waiting} tasks wait")
    try:
        Redis.from_url(runtime.settings.redis_url, socket_connect_timeout=3).ping()
    except RedisError as error:
        return Finding("queue", False, f"Redis does not answer: {error}", "Start it, or unset REDIS_URL.")
    return Finding("queue", True, "Redis answers")


def _model(runtime: Runtime) -> Finding:
    name = runtime.settings.embedding_model
    if name == "none":
        return Finding("model", True, "none: search goes by words alone")
    try:
        compiled = runtime.providers.preload()
    except (EmbeddingError, DomainError, OSError) as error:
        advice = "Set COMMONPLACE_EMBEDDING_MODEL to bundled, to none, or to a folder that holds a model."
        return Finding("model", False, str(error), advice)
    return Finding("model", True, f"{name} loads and embeds, {'compiled' if compiled else 'by torch'}")


def _system_model(runtime: Runtime) -> Finding:
    """Look at the endpoint that comes before every other model while it answers."""
    name, url, model = "llama.cpp", runtime.settings.llamacpp_url, runtime.settings.llamacpp_model
    if url is None:
        return Finding(name, True, "none: each user's own model embeds")
    endpoint = HttpEmbedder("llamacpp", url, model, None, None)
    advice = "Is COMMONPLACE_LLAMACPP_URL right and served, and is COMMONPLACE_LLAMACPP_MODEL what it knows?"
    if not endpoint.healthy():
        return Finding(name, False, "the endpoint does not say that it is well; other models stand in for it", advice)
    try:
        vectors = endpoint.embed(["a text"])
    except EmbeddingError as error:
        return Finding(name, False, str(error), advice)
    return Finding(name, True, f"{model} embeds in {vectors.shape[1]} dimensions")


def _chat_model(runtime: Runtime) -> Finding:
    name, model = "language model", runtime.chat_model
    if model is None:
        return Finding(name, True, "none: names are found by rules, summaries are extracts")
    try:
        if runtime.settings.enrichment:
            findings_by_model(model, "Ada moved to Lisbon.")
        else:
            # Room for a model that thinks before it speaks.
            model.complete("Answer with one word.", "Say ok.", max_tokens=200)
    except UselessAnswerError as error:
        advice = "Can this model answer with JSON? COMMONPLACE_ENRICHMENT=off has it write summaries alone."
        return Finding(name, False, f"{error}; rules find the names", advice)
    except ChatModelError as error:
        advice = (
            "Is COMMONPLACE_LLM_URL right and served, are COMMONPLACE_LLM_MODEL and _API_KEY what it knows, and does "
            f"it answer in {runtime.settings.llm_timeout:g} s? A slow one wants a higher COMMONPLACE_LLM_TIMEOUT."
        )
        return Finding(name, False, f"{error}; rules and extracts stand in for it", advice)
    return Finding(name, True, f"{model.model} answers")


def _backlog(runtime: Runtime) -> Finding:
    with runtime.sessions() as session:
        numbers = runtime.telemetry(session, utc_now())
    waiting, failed = numbers["embedding_backlog"], numbers["embedding_errors"]
    age = float(numbers["embedding_backlog_age"])
    says = f"{waiting} wait, the oldest for {age:.0f} s; {failed} failed"
    well = (waiting == 0 or age < 600) and failed == 0
    advice = "Is a worker running, and do the embedding providers answer? `commonplace backfill` embeds what waits."
    if failed:
        # Nothing tries failed rows again by itself.
        advice = f"{advice} With --retry-failed it tries again what failed, once the model is well."
    return Finding("embeddings", well, says, advice)


def _unread(runtime: Runtime) -> Finding:
    if not runtime.settings.enrichment:
        return Finding("enrichment", True, "off")
    with runtime.sessions() as session:
        waiting = telemetry(session, utc_now())["enrichment_backlog"]
    advice = "; `commonplace backfill` reads them" if waiting else ""
    return Finding("enrichment", True, f"{waiting} texts wait to be read{advice}")


_OF_DATABASE = (_database, _extension, _schema, _role, _key, _admins)
_LOOKS = (*_OF_DATABASE, _queue, _model, _system_model, _chat_model, _backlog, _unread)
