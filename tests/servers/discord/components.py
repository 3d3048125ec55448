"""The documented limits of buttons, menus and their rows that the schema lacks."""

from tests.servers.discord.errors import invalid
from tests.servers.discord.message import controls_of
from tests.servers.discord.values import Json

MAX_ROWS, MAX_BUTTONS, MAX_V2 = 5, 5, 40
LINK, PREMIUM = 5, 6
"""Styles of buttons that have no custom_id."""


def check_components(components: list[Json], *, is_v2: bool) -> None:
    """Raises Breach; `is_v2`: the message has the flag that allows more than rows."""
    if is_v2:
        if _count(components) > MAX_V2:
            raise invalid("components", "BASE_TYPE_BAD_LENGTH", f"Must be between 1 and {MAX_V2} in length.")
    elif len(components) > MAX_ROWS:
        raise invalid("components", "BASE_TYPE_BAD_LENGTH", f"Must be between 1 and {MAX_ROWS} in length.")
    for number, component in enumerate(components):
        if component["type"] == 1:
            _check_row(component["components"], f"components.{number}.components")
        elif not is_v2:
            raise invalid(f"components.{number}.type", "UNION_TYPE_CHOICES", "only rows without components v2")
    controls = controls_of(components)
    for control in controls:
        _check_button(control) if control["type"] == 2 else _check_select(control)
    ids = [control["custom_id"] for control in controls if control.get("custom_id")]
    for custom_id in ids:
        if ids.count(custom_id) > 1:
            reason = f"Component custom id cannot be duplicated: {custom_id}"
            raise invalid("components", "COMPONENT_CUSTOM_ID_DUPLICATED", reason)


def numbered(components: list[Json], first: int = 1) -> list[Json]:
    """The same with the `id` that every component of an answer has."""
    made: list[Json] = []
    for component in components:
        shown = {"id": first} | {key: value for key, value in component.items() if value is not None}
        first += 1
        if "components" in component:
            shown["components"] = numbered(component["components"], first)
            first += _count(component["components"])
        made.append(shown)
    return made


def _count(components: list[Json]) -> int:
    return sum(1 + _count(component.get("components") or []) for component in components)


def _check_row(controls: list[Json], path: str) -> None:
    kinds = {control["type"] for control in controls}
    full = len(controls) > MAX_BUTTONS if kinds == {2} else len(controls) > 1
    if full:
        reason = "The specified component exceeds the maximum width"
        raise invalid(path, "COMPONENT_LAYOUT_WIDTH_EXCEEDED", reason)


def _check_button(button: Json) -> None:
    if button["style"] == LINK:
        if not button.get("url") or button.get("custom_id"):
            raise invalid("components", "BUTTON_COMPONENT_URL_REQUIRED", "a link has a url and no custom_id")
    elif button["style"] != PREMIUM and not button.get("custom_id"):
        raise invalid("components", "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id is required")
    if button["style"] != PREMIUM and not button.get("label") and not button.get("emoji"):
        raise invalid("components", "BUTTON_COMPONENT_INVALID", "a button needs a label or an emoji")


def _check_select(select: Json) -> None:
    least, most = select.get("min_values"), select.get("max_values")
    least, most = 1 if least is None else least, 1 if most is None else most
    if least > most:
        raise invalid("components", "SELECT_COMPONENT_MIN_VALUES_TOO_HIGH", "min_values is above max_values")
    if select["type"] != 3:
        return
    options = select["options"]
    if most > len(options):
        raise invalid("components", "SELECT_COMPONENT_MAX_VALUES_TOO_HIGH", "max_values is above the number of options")
    values = [option["value"] for option in options]
    if len(set(values)) < len(values):
        reason = "The specified option value is already used"
        raise invalid("components", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", reason)
    if sum(bool(option.get("default")) for option in options) > most:
        raise invalid("components", "SELECT_COMPONENT_TOO_MANY_DEFAULT_OPTIONS", "more defaults than max_values")
