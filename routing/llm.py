"""The door to every model, and the only importer of litellm."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, nullcontext
from decimal import Decimal
from types import ModuleType
from typing import Any

from routing.errors import KeyRejected, ModelError
from routing.local.runtime import LocalRuntime
from routing.models import LOCAL_PROVIDER, provider_of
from routing.types import (
    ChatMessage,
    Finish,
    ModelRequest,
    ProviderProfile,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    Usage,
)
