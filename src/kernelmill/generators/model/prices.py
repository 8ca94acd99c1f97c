"""What tokens cost: a list that comes with a package, read without a network."""

import datetime
import importlib.metadata

from kernelmill.generators.model.settings import Price

_PACKAGE = "genai-prices"


def find_price(endpoint: str, name: str) -> Price | None:
    """What an endpoint asks for a model; None where the list does not know the two together."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ModuleNotFoundError:
        return None
    try:
        _, found = get_snapshot().find_provider_model(name, None, None, endpoint)
    except LookupError:
        return None
    prices = found.get_prices(datetime.datetime.now(datetime.UTC))
    each, answered = _base(prices.input_mtok), _base(prices.output_mtok)
    if each is None or answered is None:
        return None
    return Price(each, answered, f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}")


def _base(price: object) -> float | None:
    """Without the tiers of very long prompts, which ours stay far below."""
    base = getattr(price, "base", price)
    return None if base is None else float(str(base))
