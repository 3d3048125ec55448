"""All stores on one database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from routing.ports import Clock, Ledger
from routing.types.lease import Lease
from routing.types.messages import ChatKey
from storage.confirmations import SqlActions, SqlAllowances
from storage.conversation_cache import ConversationCache
from storage.database import Database
from storage.examples import SqlExamples
from storage.facts import SqlFacts
from storage.history import SqlHistory
from storage.inbox import SqlInbox
from storage.ledger import SqlLedger
from storage.outbox import SqlOutbox
from storage.outgoing_files import OutgoingFileStore
from storage.people.directory import SqlDirectory
from storage.people.links import SqlLinks
from storage.people.people import SqlPeople
from storage.people.personal_data import SqlPersonalData
from storage.people.preferences import SqlPreferences
from storage.people.service_accounts import SqlServiceAccounts
from storage.retention import SqlRetention
from storage.schedules import SqlSchedules
from storage.state import SqlChats, SqlState
from storage.usage.budgets import SqlBudgets
from storage.usage.spending import SqlSpending, SqlUsage
from storage.usage.turns import SqlRatings, SqlTurns
from storage.vectors import SqlVectors


@dataclass(frozen=True, slots=True)
class Stores:
    """The bot's stores."""

    database: Database
    preferences: SqlPreferences
    facts: SqlFacts
    examples: SqlExamples
    people: SqlPeople
    directory: SqlDirectory
    links: SqlLinks
    history: SqlHistory
    usage: SqlUsage
    spending: SqlSpending
    budgets: SqlBudgets
    turns: SqlTurns
    ratings: SqlRatings
    state: SqlState
    chats: SqlChats
    inbox: SqlInbox
    outbox: SqlOutbox
    ledger: Ledger
    vectors: SqlVectors
    actions: SqlActions
    allowances: SqlAllowances
    schedules: SqlSchedules
    retention: SqlRetention
    accounts: SqlServiceAccounts
    personal_data: SqlPersonalData


def open_stores(
    database: Database,
    clock: Clock,
    steady: Clock | None = None,
    at_once: Callable[[ChatKey], bool] = lambda chat: False,
    outgoing: Path | None = None,
    lease: Lease | None = None,
) -> Stores:
    """Create the stores on a database of the current revision. Codes expire by `steady` (default: `clock`). `at_once`
    tells whether a reply to this chat will be sent as soon as it is stored. `outgoing` is the folder for the files of
    replies; without it they can't have any. With a `lease`, several processes share what waits."""
    steady = steady or clock
    conversations = ConversationCache()
    files = OutgoingFileStore(outgoing) if outgoing is not None else None
    preferences = SqlPreferences(database)
    accounts = SqlServiceAccounts(database, clock)
    facts = SqlFacts(database, clock)
    examples = SqlExamples(database, clock)
    people = SqlPeople(database, preferences, clock, steady, conversations, accounts, facts)
    history = SqlHistory(database, clock, conversations)
    chats = SqlChats(database, clock)
    people.also_clear, people.outgoing = (history.clear, chats.clear), files
    people.also_cache(examples)
    watch = database.on_outside_change
    watch(preferences.clear, ("preferences", "overrides"), preferences.forget)
    watch(facts.clear, ("facts",), facts.forget)
    watch(people.clear, ("people", "identities"), people.forget_cached)
    watch(history.clear, ("conversations", "messages", "summaries"), history.forget)
    watch(chats.clear, ("chats",))
    watch(accounts.clear, ("service_accounts", "connect_steps"), accounts.forget)
    watch(examples.forget_cached, ("examples",), examples.forget_cached)
    return Stores(
        database=database,
        preferences=preferences,
        facts=facts,
        examples=examples,
        people=people,
        directory=SqlDirectory(database),
        links=SqlLinks(database, people, clock, steady, lease),
        history=history,
        usage=SqlUsage(database),
        spending=SqlSpending(database),
        budgets=SqlBudgets(database, clock),
        turns=SqlTurns(database),
        ratings=SqlRatings(database),
        state=SqlState(database),
        chats=chats,
        inbox=SqlInbox(database, clock, lease),
        outbox=SqlOutbox(database, clock, files, lease),
        ledger=SqlLedger(database, clock, people.current_id, at_once, conversations, files, lease),
        vectors=SqlVectors(database),
        actions=SqlActions(database, clock, files),
        allowances=SqlAllowances(database),
        schedules=SqlSchedules(database, clock, lease),
        retention=SqlRetention(database, conversations, examples),
        accounts=accounts,
        personal_data=SqlPersonalData(database),
    )
