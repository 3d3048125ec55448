"""Everything needed to answer questions for the life of the bot: models, their health and prices, tools, router."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.accounts import AccountServices, build_accounts
from bot.config.tool_settings import package_index, weather_addresses, web_settings
from bot.config.workspace import Workspace
from bot.files import Files
from bot.live_config import WorkspaceFiles
from bot.messaging import Messaging
from bot.observability.health import ProcessHealth
from bot.observability.health_persistence import HealthPersistence
from bot.tooling import Tooling, build_message_vectors, build_tooling
from handlers.commands import COMMANDS
from handlers.commands.tier import WHY
from handlers.council.council import CouncilSessions
from handlers.running import RunningTurns
from handlers.schedules.schedules import ScheduleLimits, Schedules
from handlers.storage_retry import retry_storage
from handlers.tools.approval import Approval
from handlers.tools.dependencies import About, ToolDependencies
from handlers.tools.images import image_fetcher
from handlers.tools.sandbox import Sandbox
from routing.budget.budget import Budget
from routing.budget.guard import BudgetGuard
from routing.errors import ModelError
from routing.learning.learning import Learning
from routing.llm.adapter import LiteLlm
from routing.llm.attempt import ModelCaller
from routing.llm.local.runtime import LocalRuntime
from routing.llm.local.speech import LocalSpeech
from routing.llm.media.caller import MediaCaller
from routing.llm.media.image_generation import ImageGenerator
from routing.llm.media.models import MediaModels
from routing.llm.media.speech import Speaker
from routing.llm.media.transcription import Transcriber
from routing.llm.price_map import PriceMap
from routing.memory.recall import Memory
from routing.policy.models import Models
from routing.router import Router, TurnSources
from routing.tools.embedding.builder import e5_name
from routing.tools.embedding.static import StaticEmbedder
from routing.tools.offer import Toolset
from storage.schema import REVISION


@dataclass(frozen=True, slots=True)
class Engine:
    """The objects that `bot.app` passes to the handlers."""

    models: Models
    llm: LiteLlm
    media: MediaModels
    speaker: Speaker
    files: Files
    owner_files: WorkspaceFiles
    health: ProcessHealth
    tooling: Tooling
    guard: BudgetGuard
    caller: ModelCaller
    router: Router
    council: CouncilSessions
    local: LocalRuntime
    health_persistence: HealthPersistence
    accounts: AccountServices
    schedules: Schedules
    learning: Learning
    shipped_embedder: StaticEmbedder | None

    async def start(self) -> None:
        """Connect to MCP servers, and build what messages are compared with, in the background."""
        await self.tooling.start()
        if self.shipped_embedder is not None and self.shipped_embedder is not self.tooling.embedder:
            self.shipped_embedder.preload()

    async def close(self) -> None:
        """End all child processes and save the health of the models."""
        await self.tooling.close()
        if self.shipped_embedder is not None:
            await self.shipped_embedder.close()
        await self.llm.close()
        await self.local.close()
        await self.health_persistence.close()


async def build_engine(
    workspace: Workspace, messaging: Messaging, running: RunningTurns, unusable: Callable[[ModelError], None]
) -> Engine:
    """`unusable` is called with errors that only the owner can fix."""
    environment, config = workspace.environment, workspace.config()
    stores, platforms, clock, steady = messaging.stores, messaging.platforms, messaging.clock, messaging.steady
    settings = environment.settings
    health_persistence = HealthPersistence(stores.state, steady, config.parallel, unusable)
    models = Models(
        config,
        workspace.catalog(),
        health=health_persistence.health,
        clock=steady,
        library_levels=lambda model: llm.levels(model),
    )
    await health_persistence.load()
    messaging.metrics.models.add(model for pool in config.pools.values() for model in pool)
    local = LocalRuntime(workspace.models)
    llm = LiteLlm(local, models.catalog, settings.https_proxy)
    budget = Budget(lambda: models.config.budget, stores.spending, stores.budgets, clock)
    stores.database.on_outside_change(budget.forget, ("budgets", "usage"))

    def prices() -> Awaitable[PriceMap]:
        return llm.prices(models.config.profile)

    guard = BudgetGuard(budget, prices)
    speech = LocalSpeech(workspace.models)
    media = MediaModels(llm, models, speech, lambda kind: environment.settings.media_models[kind])
    media_caller = MediaCaller(
        models, media, guard, prices, lambda record: retry_storage(stores.ledger.finish, (), (), record), steady
    )
    voice = Transcriber(llm, speech, media_caller)
    fetch = image_fetcher(lambda: web_settings(environment.settings))
    images = ImageGenerator(llm, media_caller, fetch)
    speaker = Speaker(llm, speech, media_caller, lambda: environment.settings.speech_voice)
    files, owner_files = Files(platforms, voice), WorkspaceFiles(workspace)
    health = ProcessHealth(REVISION, stores.database.size_bytes, stores.outbox, running, models, platforms, steady)
    about = About(COMMANDS, WHY, models, lambda: environment.settings.visible, health, lambda: tooling)
    sandbox = Sandbox(workspace.files, config.sandbox)
    council = CouncilSessions(models, ModelCaller(llm, models.health, steady), guard, steady)
    accounts = build_accounts(settings, workspace, stores.accounts, stores.people, clock)
    message_vectors = build_message_vectors(environment, llm, models, steady)
    embedder = message_vectors.embedder if message_vectors is not None else None
    shipped = embedder if isinstance(embedder, StaticEmbedder) else StaticEmbedder() if embedder is not None else None
    e5 = embedder if embedder is not None and embedder is not shipped and embedder.name == e5_name() else None
    memory = Memory(stores.facts, shipped, e5)
    learning = Learning(stores.examples, stores.chats, shipped, lambda: models.config.learning)
    limits = ScheduleLimits(settings.schedules_per_person, 60 * settings.schedule_shortest_minutes)
    schedules = Schedules(stores.schedules, stores.preferences, clock, limits)
    needed = ToolDependencies(
        workspace.files,
        sandbox,
        stores.history,
        stores.preferences,
        owner_files.skills,
        clock,
        about,
        council=council,
        images=images,
        accounts=accounts.accounts,
        reachable=accounts.reachable,
        dav=accounts.dav,
        weather=weather_addresses(settings),
        web=lambda: web_settings(environment.settings),
        memory=memory,
        packages=package_index(settings),
        schedules=schedules,
        desktop=environment.variables,
        shared_folder=lambda: environment.settings.shared_folder,
        metrics=messaging.metrics,
    )
    approval = Approval(stores.actions, stores.allowances, lambda: models.config.allowed_tools, clock)
    tooling = build_tooling(
        environment, workspace, needed, message_vectors, stores.vectors, approval, accounts.accounts
    )
    caller = ModelCaller(llm, models.health, steady, guard)
    router = Router(
        models=models,
        caller=caller,
        guard=guard,
        tools=Toolset(tooling.toolbox, tooling.selector),
        sources=TurnSources(
            stores.preferences,
            stores.history,
            owner_files,
            files.picture,
            stores.accounts,
            memory,
            learning,
            message_vectors,
        ),
        clock=clock,
        steady=steady,
    )
    return Engine(
        models,
        llm,
        media,
        speaker,
        files,
        owner_files,
        health,
        tooling,
        guard,
        caller,
        router,
        council,
        local,
        health_persistence,
        accounts,
        schedules,
        learning,
        shipped,
    )
