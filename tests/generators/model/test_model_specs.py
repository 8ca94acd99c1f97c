"""Model specs of the command line, resolved to model settings."""

from pathlib import Path

import msgspec
import pytest

from kernelmill.generators.model.model_specs import ModelSpec, demand_prices, resolve_models
from kernelmill.generators.model.prices import find_price
from kernelmill.records.errors import UsageError
from kernelmill.records.model_settings import Model, ModelRole, ModelSettings, Price


def chosen(*names: str, file: str = "", folder: Path | None = None, **more: str) -> ModelSettings:
    path = None
    if folder is not None:
        path = folder / "models.toml"
        path.write_text(file)
    settings = resolve_models(ModelSpec(names, file=path, **more))
    assert settings is not None
    return settings


def test_without_options_there_are_no_settings() -> None:
    assert resolve_models(ModelSpec()) is None
    with pytest.raises(UsageError, match="none is named: add --model NAME"):
        resolve_models(ModelSpec(effort="high"))


def test_a_known_name_needs_no_endpoint() -> None:
    (claude,) = chosen("claude-opus-5").models
    assert (claude.protocol, claude.endpoint) == ("anthropic", "https://api.anthropic.com")
    assert claude.key_variable == "ANTHROPIC_API_KEY"
    (gpt,) = chosen("gpt-5.2", effort="high").models
    assert (gpt.protocol, gpt.key_variable, gpt.effort) == ("openai", "OPENAI_API_KEY", "high")


def test_endpoints_by_name_and_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELMILL_API_KEY", raising=False)
    settings = chosen("Qwen/Qwen3:30b@ollama", "m@https://host:8000/v1/", "n", endpoint="vllm")
    assert [(model.name, model.endpoint) for model in settings.models] == [
        ("Qwen/Qwen3:30b", "http://localhost:11434/v1"),
        ("m", "https://host:8000/v1"),
        ("n", "http://localhost:8000/v1"),
    ]
    assert all(model.key_variable == "" for model in settings.models)


def test_a_key_goes_to_the_endpoint_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider's key is not sent to another address."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("KERNELMILL_API_KEY", "another")
    (elsewhere,) = chosen("gpt-5.2@https://example.org/v1").models
    assert elsewhere.key_variable == "KERNELMILL_API_KEY"
    (at_home,) = chosen("gpt-5.2@https://api.openai.com/v1").models
    assert at_home.key_variable == "OPENAI_API_KEY"


def test_roles_and_the_models_without_a_role() -> None:
    settings = chosen("planner,diagnoser=a@vllm", "b@vllm", "c@vllm", "auditor=d@vllm")
    assert [m.name for m in settings.for_role(ModelRole.PLANNER)] == ["a"]
    assert [m.name for m in settings.for_role(ModelRole.AUDITOR)] == ["d"]
    assert [m.name for m in settings.for_role(ModelRole.OPTIMIZER)] == ["b", "c"]


def test_a_file_says_more(tmp_path: Path) -> None:
    file = """
        at_once = 7
        prompt_tokens = 9000
        [patience]
        tries = 2
        [models.fast]
        name = "org/model"
        endpoint = "http://host/v1"
        key_variable = "MY_KEY"
        temperature = 0.2
        max_tokens = 500
        input_usd = 0.5
        output_usd = 2.0
        requests_per_minute = 30
        [models.deep]
        endpoint = "anthropic"
        thinking_tokens = 8000
        effort = "max"
    """
    settings = chosen("fast", "planner=deep", file=file, folder=tmp_path, effort="low")
    fast, deep = settings.models
    assert fast == Model(
        "org/model", "openai", "http://host/v1", "MY_KEY", (), "low", None, 0.2, 500,
        Price(0.5, 2.0, "the user's table"), 30,
    )  # fmt: skip
    assert (deep.protocol, deep.thinking_tokens, deep.effort) == ("anthropic", 8000, "max")
    assert (settings.at_once, settings.prompt_tokens, settings.patience.tries) == (7, 9000, 2)


def test_settings_survive_being_stored() -> None:
    settings = chosen("planner=claude-opus-4-5", "gpt-5.2", effort="high")
    assert msgspec.json.decode(msgspec.json.encode(settings), type=ModelSettings) == settings


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("mine",), "model mine needs an endpoint"),
        (("m@nowhere",), "is not an endpoint"),
        (("m@http://user:secret@host/v1",), "must not contain a key"),
        (("m@http://host/v1?key=secret",), "must not contain a key"),
        (("poet=gpt-5.2",), "'poet' is not a role"),
        (("planner=gpt-5.2",), "no model is named for the generator"),
        (("gpt-5.2", "gpt-5.2"), "named twice"),
        (("planner=",), "names no model"),
    ],
)
def test_mistakes(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        chosen(*names)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("[models.m]\nprise = 3", "prise"),
        ("[models.m]\ninput_usd = 3", "input_usd and output_usd must be given together"),
        ("[models.m]\ninput_usd = -3\noutput_usd = 1", "cannot be negative"),
        ("[models.m]\nthinking_tokens = 100", "is for Anthropic's protocol"),
        ("prompt_tokens = 1000000", "at most 60000"),
        ("at_once = 0", "at least 1"),
        ("[models", "models.toml"),
    ],
)
def test_mistakes_in_a_file(file: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        chosen("m@vllm", file=file, folder=tmp_path)


def test_prices_come_from_the_list_where_the_endpoint_is_on_it() -> None:
    pytest.importorskip("genai_prices", reason="needs kernelmill[models]")
    price = find_price("https://api.openai.com/v1", "gpt-4o")
    assert price is not None and price.source.startswith("genai-prices ")
    assert 0 < price.input_usd < price.output_usd
    assert find_price("http://localhost:8000/v1", "gpt-4o") is None
    assert find_price("https://api.openai.com/v1", "no-such-model") is None
    tiered = find_price("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-pro")
    assert tiered is not None and tiered.output_usd > 0


def test_a_cost_limit_needs_prices() -> None:
    unknown = ModelSettings((Model("m", "openai", "http://host"),))
    demand_prices(unknown, None)
    with pytest.raises(UsageError, match="the price of m is unknown"):
        demand_prices(unknown, 1.0)
    demand_prices(ModelSettings((Model("m", "openai", "", price=Price(0, 0)),)), 1.0)
