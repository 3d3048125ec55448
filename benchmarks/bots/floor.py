"""The floor: the smallest bot that answers Telegram messages with a model. It stores nothing.

Reads TELEGRAM_BOT_TOKEN, TELEGRAM_API_ROOT, OPENAI_BASE_URL, OPENAI_API_KEY and FLOOR_MODEL. With `--stream` the
model's answer is streamed, as ours is, and sent when it is complete.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import litellm
from telegram import Update
from telegram.ext import Application, ContextTypes, MessageHandler, filters

_CALL: dict[str, Any] = {
    "model": os.environ.get("FLOOR_MODEL", "openai/gpt-5.1"),
    "api_base": os.environ.get("OPENAI_BASE_URL"),
    "api_key": os.environ.get("OPENAI_API_KEY"),
    "num_retries": 0,
}
_STREAMING = "--stream" in sys.argv


async def answer(update: Update, _: ContextTypes.DEFAULT_TYPE) -> None:
    """One prompt without history, one reply."""
    message = update.message
    if message is None or message.text is None:
        return
    messages = [{"role": "user", "content": message.text}]
    if _STREAMING:
        stream = await litellm.acompletion(**_CALL, messages=messages, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])
    else:
        text = (await litellm.acompletion(**_CALL, messages=messages)).choices[0].message.content
    await message.reply_text(text)


def main() -> None:
    """Poll until SIGTERM; messages are answered side by side."""
    root = os.environ["TELEGRAM_API_ROOT"]
    building = Application.builder().token(os.environ["TELEGRAM_BOT_TOKEN"]).concurrent_updates(True)
    application = building.base_url(f"{root}/bot").base_file_url(f"{root}/file/bot").build()
    application.add_handler(MessageHandler(filters.TEXT & ~filters.COMMAND, answer))
    application.run_polling()


if __name__ == "__main__":
    main()
