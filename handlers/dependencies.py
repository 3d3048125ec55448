"""The dependencies that commands can ask for. Each command's `build` picks what it uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from handlers.access.approvals import Approvals
from handlers.access.linking import Linking
from handlers.access.roles import Access
from handlers.accounts.connecting import Connecting
from handlers.chat import Chat
from handlers.context import CommandSpec
from handlers.council.council import CouncilSessions
from handlers.learning import Learner
from handlers.notices.notices import Notices
from handlers.personal_data import PersonalData
from handlers.question_text import QuestionTexts
from handlers.running import RunningTurns
from handlers.schedules.schedules import Schedules
from handlers.tools.dependencies import ToolServices
from handlers.tools.files.person_files import PersonFiles
from routing.budget.guard import BudgetGuard
from routing.llm.media.models import MediaModels
from routing.llm.media.speech import Speaker
from routing.ports import (
    AllowanceStore,
    ChatStore,
    Clock,
    FactStore,
    Health,
    HistoryStore,
    Llm,
    PeopleStore,
    PreferenceStore,
    RatingStore,
    ServiceAccountStore,
    SpendingStore,
    StateStore,
    TurnStore,
    UsageStore,
)
from routing.router import Router
from routing.types.messages import UserKey
from routing.types.skills import Skills


@dataclass(frozen=True, slots=True)
class CommandDependencies:
    preferences: PreferenceStore
    facts: FactStore
    allowances: AllowanceStore
    history: HistoryStore
    usage: UsageStore
    spending: SpendingStore
    turns: TurnStore
    ratings: RatingStore
    guard: BudgetGuard
    people: PeopleStore
    chats: ChatStore
    access: Access
    linking: Linking
    notices: Notices
    approvals: Approvals
    router: Router
    llm: Llm
    media: MediaModels
    speaker: Speaker
    chat: Chat
    texts: QuestionTexts
    council: CouncilSessions
    running: RunningTurns
    health: Health
    tooling: ToolServices
    skills: Callable[[], Skills]
    files: PersonFiles
    personal_data: PersonalData
    discovered: Callable[[], Awaitable[Collection[str]]]
    clock: Clock
    steady: Clock
    state: StateStore
    accounts: ServiceAccountStore
    connecting: Connecting
    learner: Learner
    schedules: Schedules
    sign_in_link: Callable[[UserKey], str | None]
    specs: tuple[CommandSpec, ...] = ()
