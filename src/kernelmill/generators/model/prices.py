"""Prices of tokens, from the list in the package `genai-prices`, without a network."""

import datetime
import importlib.metadata

from kernelmill.records.model_settings import Price

_PACKAGE = "genai-prices"


def find_price(endpoint: str, name: str) -> Price | None:
    """The price of a model at an endpoint; None where the list does not have the two together."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ModuleNotFoundError:
        return None
    try:
        _, found = get_snapshot().find_provider_model(name, None, None, endpoint)
    except LookupError:
        return None
    prices = found.get_prices(datetime.datetime.now(datetime.UTC))
    input_usd, output_usd = _base_price(prices.input_mtok), _base_price(prices.output_mtok)
    if input_usd is None or output_usd is None:
        return None
    return Price(input_usd, output_usd, f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}")


def _base_price(price: object) -> float | None:
    """Without the tiers for very long prompts, which are longer than a prompt may be here."""
    base = getattr(price, "base", price)
    return None if base is None else float(str(base))
