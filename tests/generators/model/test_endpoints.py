"""The model client and its endpoint clients against a real, hostile HTTP server."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from generators.model import endpoint
from generators.model.endpoint import Behaviour, Handler, Server, say, serving, status
from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.generators.model.model_client import ModelClient, Unanswered
from kernelmill.generators.model.protocol import (
    ChatMessage,
    ModelAnswer,
    Question,
    StopReason,
    Usage,
)
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.model_settings import (
    Model,
    ModelRole,
    ModelSettings,
    Patience,
    Price,
    Protocol,
)

pytest.importorskip("openai", reason="needs kernelmill[models]")
pytest.importorskip("anthropic", reason="needs kernelmill[models]")
IMPATIENT = Patience(
    connect_seconds=0.2,
    first_token_seconds=0.3,
    between_tokens_seconds=0.3,
    answer_seconds=1.0,
    tries=2,
    first_pause_seconds=0.001,
)
MODEL = Model("m", "openai", "", max_tokens=1000, price=Price(10.0, 100.0))
COST_BOUND = (5 + 16) * 10e-6 + 1000 * 100e-6
"""The upper bound of what `hello` costs."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(params=["openai", "anthropic"])
def model(request: pytest.FixtureRequest) -> Model:
    protocol: Protocol = request.param
    return msgspec.structs.replace(MODEL, protocol=protocol)


class SingleModelClient:
    """A model client with one model, with its pauses and calls recorded."""

    def __init__(
        self, server: Server, model: Model = MODEL, patience: Patience = IMPATIENT
    ) -> None:
        address = server.address if model.protocol == "openai" else server.address[: -len("/v1")]
        self.model = msgspec.structs.replace(model, endpoint=address)
        self.pauses: list[float] = []
        self.model_client = ModelClient(
            ModelSettings((self.model,), patience=patience), self.pauses.append
        )
        self.calls: list[ModelCall] = []

    def ask(
        self, text: str = "hello", seed: int = 0, role: ModelRole = ModelRole.GENERATOR
    ) -> ModelAnswer:
        messages = (ChatMessage("user", text),)
        question = Question(self.model, role, "task", messages, self.model.max_tokens, seed)
        return self.model_client.ask(question, self.calls)


def test_an_answer_with_its_bill(model: Model) -> None:
    with serving(say("a longer answer " * 10, tokens_in=1000, tokens_out=200)) as server:
        client = SingleModelClient(server, model)
        answer = client.ask()
    assert answer == ModelAnswer("a longer answer " * 10, StopReason.END, Usage(1000, 200))
    (call,) = client.calls
    assert (call.tokens_in, call.tokens_out, call.problem, call.cached) == (1000, 200, "", False)
    assert call.cost_usd == pytest.approx(0.01 + 0.02)


@pytest.mark.parametrize(
    ("behaviour", "problem", "charged"),
    [
        (status(429, "slow down"), CallProblem.RATE_LIMITED, False),
        (status(529, "overloaded"), CallProblem.RATE_LIMITED, False),
        (status(500), CallProblem.SERVER_ERROR, False),
        (status(503, "x" * 100_000), CallProblem.SERVER_ERROR, False),
        (status(408), CallProblem.TIME_OUT, False),
        (endpoint.silent, CallProblem.TIME_OUT, True),
        (endpoint.stalled, CallProblem.TIME_OUT, True),
        (endpoint.pinging, CallProblem.TIME_OUT, True),
        (endpoint.trickling, CallProblem.TIME_OUT, True),
        (endpoint.broken_off, CallProblem.BROKEN_OFF, True),
        (endpoint.half_closed, CallProblem.BROKEN_OFF, True),
        (endpoint.plain_page, CallProblem.BROKEN_OFF, True),
        (endpoint.garbled, CallProblem.NOT_UNDERSTOOD, True),
        (endpoint.not_an_object, CallProblem.NOT_UNDERSTOOD, True),
        (endpoint.failing_midway, CallProblem.SERVER_ERROR, True),
        (endpoint.compressed, CallProblem.UNREACHABLE, False),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_it_retries_and_records_what_went_wrong(
    behaviour: Behaviour, problem: CallProblem, charged: bool, model: Model
) -> None:
    with serving(behaviour, say("at last")) as server:
        client = SingleModelClient(server, model)
        assert client.ask().text == "at last"
    failed, answered = client.calls
    assert failed.problem.startswith(problem)
    assert answered.problem == ""
    assert failed.cost_usd == (pytest.approx(COST_BOUND) if charged else 0.0)
    assert failed.tokens_out == (None if charged else 0)
    assert len(client.pauses) == 1


@pytest.mark.parametrize(
    "behaviour", [status(400, "no such thing"), endpoint.redirecting, status(422)]
)
def test_what_will_never_be_answered_is_asked_once(behaviour: Behaviour, model: Model) -> None:
    with serving(behaviour) as server:
        client = SingleModelClient(server, model)
        with pytest.raises(Unanswered, match="asked 1 times"):
            client.ask()
        assert len(server.asked) == 1
    assert len(client.calls) == 1


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (status(401, "bad key"), "refuses to answer without a key: .*bad key"),
        (status(403), "refuses"),
        (status(404, "model m is not here"), "has no model 'm'"),
        (status(402), "answers only after payment"),
        (status(429, "insufficient_quota"), "answers only after payment"),
        (status(429, "You are over it", kind="insufficient_quota"), "answers only after payment"),
        (status(400, "Your credit balance is too low"), "answers only after payment"),
    ],
)
def test_what_no_question_would_change_ends_it(
    behaviour: Behaviour, words: str, model: Model
) -> None:
    with serving(behaviour) as server, pytest.raises(GeneratorUnavailable, match=words):
        SingleModelClient(server, model).ask()


def test_a_limit_that_payment_would_raise_is_waited_for(model: Model) -> None:
    message = "Rate limit reached. Visit https://example.com/billing to raise it."
    with serving(status(429, message, kind="rate_limit_exceeded"), say("at last")) as server:
        assert SingleModelClient(server, model).ask().text == "at last"


def test_ten_megabytes_are_not_waited_for(model: Model) -> None:
    with serving(endpoint.ten_megabytes) as server:
        client = SingleModelClient(
            server, model, msgspec.structs.replace(IMPATIENT, answer_seconds=30.0)
        )
        answer = client.ask()
    assert answer.stop is StopReason.ENDLESS
    assert len(answer.text) == 1 << 20
    assert client.calls[0].cost_usd == pytest.approx(COST_BOUND)


def test_a_line_without_an_end_is_not_kept_in_memory() -> None:
    patient = msgspec.structs.replace(IMPATIENT, first_token_seconds=30.0, answer_seconds=30.0)
    with serving(endpoint.endless_line, say("at last")) as server:
        client = SingleModelClient(server, patience=patient)
        assert client.ask().text == "at last"
    assert (
        client.calls[0].problem == f"{CallProblem.BROKEN_OFF}: the response is longer than 64 MiB"
    )


@pytest.mark.parametrize(
    ("wait", "least"), [("7", 7.0), ("0.5", 0.5), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)]
)
def test_an_endpoint_says_how_long_to_wait(wait: str, least: float) -> None:
    with serving(status(429, retry_after=wait), say("now")) as server:
        client = SingleModelClient(server)
        client.ask()
    assert client.pauses[0] >= least
    assert client.pauses[0] < least + 0.1


def test_it_does_not_wait_for_ever() -> None:
    with serving(status(429, retry_after="3600")) as server:
        client = SingleModelClient(server)
        with pytest.raises(Unanswered, match="rate limited"):
            client.ask()
    assert client.pauses == []


def test_pauses_grow_and_differ() -> None:
    patience = msgspec.structs.replace(IMPATIENT, tries=6, first_pause_seconds=1.0)
    with serving() as server:
        server.otherwise = status(500)
        client = SingleModelClient(server, patience=patience)
        with pytest.raises(Unanswered, match="asked 6 times"):
            client.ask()
    assert len(client.calls) == 6
    for number, pause in enumerate(client.pauses):
        assert 0.5 * 2**number <= pause <= 2**number


def test_an_unreachable_endpoint_ends_it_after_several_questions() -> None:
    patience = msgspec.structs.replace(IMPATIENT, tries=1, failures_in_a_row=3)
    with serving() as server:
        client = SingleModelClient(server, patience=patience)
    for _ in range(2):
        with pytest.raises(Unanswered, match="unreachable"):
            client.ask()
    with pytest.raises(GeneratorUnavailable, match="3 questions in a row"):
        client.ask()


def test_failures_count_only_in_a_row() -> None:
    patience = msgspec.structs.replace(IMPATIENT, tries=1, failures_in_a_row=2)
    with serving(status(500), say("a"), status(500), say("b")) as server:
        client = SingleModelClient(server, patience=patience)
        for seed in range(2):
            with pytest.raises(Unanswered):
                client.ask(seed=2 * seed)
            client.ask(seed=2 * seed + 1)


def refusing_field(name: str) -> Callable[[Handler], None]:
    def behave(handler: Handler) -> None:
        if name in handler.body:
            status(400, f"Unsupported parameter: '{name}' is not supported with this model.")(
                handler
            )
        else:
            say("fine")(handler)

    return behave


@pytest.mark.parametrize("name", ["seed", "stream_options", "max_tokens", "temperature"])
def test_fields_an_endpoint_does_not_take_are_left_out(name: str) -> None:
    with serving() as server:
        server.otherwise = refusing_field(name)
        client = SingleModelClient(server, msgspec.structs.replace(MODEL, temperature=0.3))
        assert client.ask(seed=1).text == "fine"
        assert client.ask(seed=2).text == "fine"
        sent = [handler.body for handler in server.asked]
    assert [name in body for body in sent] == [True, False, False]
    assert ("max_completion_tokens" in sent[-1]) == (name == "max_tokens")
    assert len(client.calls) == 2


def test_a_field_that_the_user_set_is_not_left_out() -> None:
    with serving() as server:
        server.otherwise = refusing_field("reasoning_effort")
        client = SingleModelClient(server, msgspec.structs.replace(MODEL, effort="enormous"))
        with pytest.raises(Unanswered, match="reasoning_effort"):
            client.ask()


def test_the_length_of_an_answer_is_always_limited() -> None:
    """The cost bound depends on it: an endpoint that accepts neither field gets no request without."""

    def behave(handler: Handler) -> None:
        field = "max_tokens" if "max_tokens" in handler.body else "max_completion_tokens"
        status(400, f"{field} is too large")(handler)

    with serving() as server:
        server.otherwise = behave
        with pytest.raises(Unanswered, match="max_completion_tokens is too large"):
            SingleModelClient(server).ask()
        assert all("tokens" in str(asked.body.keys()) for asked in server.asked)


def sent_by(model: Model) -> dict[str, object]:
    with serving() as server:
        SingleModelClient(server, model).ask()
        return server.asked[0].body


def test_reasoning_models_get_no_temperature() -> None:
    plain = msgspec.structs.replace(MODEL, temperature=0.5)
    assert sent_by(plain)["temperature"] == 0.5
    thinking = sent_by(msgspec.structs.replace(plain, effort="high"))
    assert thinking["reasoning_effort"] == "high"
    assert "temperature" not in thinking
    assert "reasoning_effort" not in sent_by(plain)


def test_reasoning_in_the_other_protocol() -> None:
    plain = msgspec.structs.replace(MODEL, protocol="anthropic", temperature=0.5)
    assert sent_by(plain)["temperature"] == 0.5
    thinking = sent_by(msgspec.structs.replace(plain, effort="max"))
    assert thinking["output_config"] == {"effort": "max"}
    assert thinking["thinking"] == {"type": "adaptive"}
    assert "temperature" not in thinking
    budget = sent_by(msgspec.structs.replace(plain, thinking_tokens=4000))
    assert budget["thinking"] == {"type": "enabled", "budget_tokens": 999}


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", StopReason.END),
        ("length", StopReason.LENGTH),
        ("content_filter", StopReason.REFUSAL),
    ],
)
def test_why_an_answer_ended(reason: str, stop: StopReason) -> None:
    with serving(say("text", reason)) as server:
        assert SingleModelClient(server).ask().stop is stop


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("refusal", StopReason.REFUSAL),
    ],
)
def test_why_an_answer_ended_in_the_other_protocol(reason: str, stop: StopReason) -> None:
    with serving(say("text", reason)) as server:
        client = SingleModelClient(server, msgspec.structs.replace(MODEL, protocol="anthropic"))
        assert client.ask().stop is stop


def test_an_impossible_usage_is_charged_at_the_bound(model: Model) -> None:
    with serving(say("text", tokens_out=-1_000_000)) as server:
        client = SingleModelClient(server, model)
        client.ask()
    assert client.calls[0].cost_usd == pytest.approx(COST_BOUND)


def test_an_unknown_price_stays_unknown() -> None:
    with serving() as server:
        client = SingleModelClient(server, msgspec.structs.replace(MODEL, price=None))
        client.ask()
    assert client.calls[0].cost_usd is None


class TestCache:
    def test_the_same_question_is_paid_for_once(self) -> None:
        with serving(say("first"), say("second")) as server:
            first, second = SingleModelClient(server), SingleModelClient(server)
            assert first.ask().text == "first"
            assert second.ask().text == "first"
            (call,) = second.calls
        assert (call.cached, call.cost_usd, call.tokens_out) == (True, 0.0, 10)

    def test_whatever_differs_is_another_question(self) -> None:
        with serving() as server:
            client = SingleModelClient(server)
            client.ask()
            client.ask(seed=1)
            client.ask("hello!")
            for change in (
                {"name": "n"},
                {"effort": "low"},
                {"temperature": 1.0},
                {"max_tokens": 9},
            ):
                SingleModelClient(server, msgspec.structs.replace(MODEL, **change)).ask()
            assert len(server.asked) == 7

    def test_a_failure_is_not_kept(self) -> None:
        with serving(endpoint.half_closed, endpoint.half_closed, say("now")) as server:
            client = SingleModelClient(server)
            with pytest.raises(Unanswered):
                client.ask()
            assert client.ask().text == "now"

    def test_a_cache_that_cannot_be_written_is_no_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        with serving() as server:
            assert SingleModelClient(server).ask().text == "ready"


def test_at_most_so_many_requests_at_once() -> None:
    import threading

    together, most = 0, 0
    lock, three = threading.Lock(), threading.Event()

    def behave(handler: Handler) -> None:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
            if together == 3:
                three.set()
        three.wait(10)
        time.sleep(0.05)
        with lock:
            together -= 1
        say("done")(handler)

    with serving() as server:
        server.otherwise = behave
        client = SingleModelClient(server)
        client.model_client = ModelClient(
            ModelSettings((client.model,), at_once=3, patience=IMPATIENT)
        )
        threads = [threading.Thread(target=client.ask, kwargs={"seed": seed}) for seed in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most == 3
    assert len(client.calls) == 9


def test_requests_per_minute_are_kept() -> None:
    with serving() as server:
        client = SingleModelClient(server, msgspec.structs.replace(MODEL, requests_per_minute=60.0))
        for seed in range(3):
            client.ask(seed=seed)
    first, second = client.pauses
    assert 0.8 < first <= 1.0 and 1.6 < second <= 2.0
