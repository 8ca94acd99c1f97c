"""Keys: no secret is stored or printed, and no placeholder changes a text."""

from pathlib import Path

import msgspec
import pytest

from generators.model.endpoint import Handler, say, serving, status
from generators.model.test_endpoints import MODEL, SingleModelClient
from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.generators.model.keys import contains_key, redact_key
from kernelmill.generators.model.model_client import Unanswered
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.model_settings import Model

VARIABLE = "KERNELMILL_API_KEY"
PLACEHOLDERS = (
    "none", "EMPTY", "ollama", "dummy", "not-needed", "lm-studio", "token-abc123",
    "sk-no-key-required", "xxxxxxxx-xxxx-4xxx-xxxx", "1234567890123456",
)  # fmt: skip
SECRETS = (
    "sk-canary-0123456789abcdef",
    "9f86d081884c7d659a2feaa0c55ad015",
    "3f2b8c1e-7a4d-4e6b-9c0f-5d1a2b3c4e5f",
    "AIzaSyD4x8Q2vN0wLrT7bKfGhJm1PzYcUeXoAi3",
)
KEYED = msgspec.structs.replace(MODEL, key_variable=VARIABLE)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(params=["openai", "anthropic"])
def model(request: pytest.FixtureRequest) -> Model:
    return msgspec.structs.replace(KEYED, protocol=request.param)


def code_with(word: str) -> str:
    return f"### model.py\n```python\nmode = '{word}'  # {word}-based, {word}\n```\n" * 20


@pytest.mark.parametrize("key", PLACEHOLDERS)
def test_a_placeholder_changes_no_answer(
    key: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, key)
    with serving(say(code_with(key))) as server:
        assert SingleModelClient(server, model).ask().text == code_with(key)


@pytest.mark.parametrize("key", ["", *PLACEHOLDERS])
def test_a_placeholder_changes_no_error(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, key)
    text = f"the field mode is {key}, and {key} is not supported"
    assert redact_key(text, KEYED) == text
    assert not contains_key(text, KEYED)


@pytest.mark.parametrize("key", SECRETS)
def test_a_key_is_redacted_in_an_error(
    key: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, key)
    refused = pytest.raises(GeneratorUnavailable, match=r"bad key \[key\]")
    with serving(status(401, f"bad key {key}")) as server, refused:
        SingleModelClient(server, model).ask()
    with serving(status(400, f"{key} is bad")) as server:
        client = SingleModelClient(server, model)
        with pytest.raises(Unanswered, match=r"\[key\] is bad") as caught:
            client.ask()
    assert key not in str(caught.value) + client.calls[0].problem


@pytest.mark.parametrize("key", SECRETS)
def test_an_answer_with_the_key_is_not_used(
    key: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can be neither stored, which would leak the key, nor changed, since it may be code."""
    monkeypatch.setenv(VARIABLE, key)

    def send_back(handler: Handler) -> None:
        say(f"# {dict(handler.headers)}")(handler)

    with serving(send_back, say("fine")) as server:
        client = SingleModelClient(server, model)
        with pytest.raises(Unanswered, match=CallProblem.KEY_IN_ANSWER) as caught:
            client.ask()
        assert len(server.asked) == 1, "an endpoint that leaks the key is not asked again"
        assert client.ask().text == "fine", "and the answer is not cached"
    failed, _ = client.calls
    assert failed.problem.startswith(CallProblem.KEY_IN_ANSWER)
    assert failed.cost_usd is not None and failed.cost_usd > 0
    assert key not in str(caught.value) + failed.problem


def test_an_answer_is_passed_on_as_it_is(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRETS[0])
    text = code_with("none") + "\tsk-canary \r\n\n\n [key] \u2028 end"
    with serving(say(text)) as server:
        assert SingleModelClient(server, model).ask().text == text
