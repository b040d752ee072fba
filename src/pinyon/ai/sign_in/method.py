"""Choosing between the ways to sign in that a provider offers."""

from __future__ import annotations

from typing import Literal

from pinyon.ai.oauth import LoginInteraction, LoginPrompt, SelectOption

Method = Literal["browser", "device_code"]

BROWSER = SelectOption(value="browser", label="In the browser of this machine")
DEVICE_CODE = SelectOption(value="device_code", label="With a code that is entered on any device")


async def choose_method(interaction: LoginInteraction, name: str) -> Method:
    """Ask the user for the way; the browser where the answer is anything else."""
    prompt = LoginPrompt(type="select", message=f"How do you sign in to {name}?", options=(BROWSER, DEVICE_CODE))
    return "device_code" if await interaction.prompt(prompt) == DEVICE_CODE.value else "browser"
