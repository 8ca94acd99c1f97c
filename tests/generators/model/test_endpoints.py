"""What comes over the wire, against a real HTTP server that means no good."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from generators.model import endpoint
from generators.model.endpoint import Behaviour, Handler, Server, say, serving, status
from kernelmill.errors import GeneratorUnavailable
from kernelmill.generators.calls import Call
from kernelmill.generators.model.desk import Desk, Unanswered
from kernelmill.generators.model.problems import Problem
from kernelmill.generators.model.protocol import Answer, Message, Question, Stop, Usage
from kernelmill.generators.model.settings import (
    Model,
    ModelSettings,
    Patience,
    Price,
    Protocol,
    Role,
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
DEAREST = (5 + 16) * 10e-6 + 1000 * 100e-6
"""What `hello` can cost at the most."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(params=["openai", "anthropic"])
def model(request: pytest.FixtureRequest) -> Model:
    protocol: Protocol = request.param
    return msgspec.structs.replace(MODEL, protocol=protocol)


class Asking:
    """A desk with one model, and what came of each question."""

    def __init__(
        self, server: Server, model: Model = MODEL, patience: Patience = IMPATIENT
    ) -> None:
        address = server.address if model.protocol == "openai" else server.address[: -len("/v1")]
        self.model = msgspec.structs.replace(model, endpoint=address)
        self.pauses: list[float] = []
        self.desk = Desk(ModelSettings((self.model,), patience=patience), self.pauses.append)
        self.calls: list[Call] = []

    def ask(self, text: str = "hello", seed: int = 0, role: Role = Role.GENERATOR) -> Answer:
        messages = (Message("user", text),)
        question = Question(self.model, role, "task", messages, self.model.max_tokens, seed)
        return self.desk.ask(question, self.calls)


def test_an_answer_with_its_bill(model: Model) -> None:
    with serving(say("a longer answer " * 10, tokens_in=1000, tokens_out=200)) as server:
        asking = Asking(server, model)
        answer = asking.ask()
    assert answer == Answer("a longer answer " * 10, Stop.END, Usage(1000, 200))
    (call,) = asking.calls
    assert (call.tokens_in, call.tokens_out, call.problem, call.cached) == (1000, 200, "", False)
    assert call.cost_usd == pytest.approx(0.01 + 0.02)


@pytest.mark.parametrize(
    ("behaviour", "problem", "charged"),
    [
        (status(429, "slow down"), Problem.RATE_LIMITED, False),
        (status(529, "overloaded"), Problem.RATE_LIMITED, False),
        (status(500), Problem.SERVER_ERROR, False),
        (status(503, "x" * 100_000), Problem.SERVER_ERROR, False),
        (status(408), Problem.TIME_OUT, False),
        (endpoint.silent, Problem.TIME_OUT, True),
        (endpoint.stalled, Problem.TIME_OUT, True),
        (endpoint.pinging, Problem.TIME_OUT, True),
        (endpoint.trickling, Problem.TIME_OUT, True),
        (endpoint.broken_off, Problem.BROKEN_OFF, True),
        (endpoint.half_closed, Problem.BROKEN_OFF, True),
        (endpoint.plain_page, Problem.BROKEN_OFF, True),
        (endpoint.garbled, Problem.NOT_UNDERSTOOD, True),
        (endpoint.not_an_object, Problem.NOT_UNDERSTOOD, True),
        (endpoint.failing_midway, Problem.SERVER_ERROR, True),
        (endpoint.compressed, Problem.UNREACHABLE, False),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_it_asks_again_and_books_what_went_wrong(
    behaviour: Behaviour, problem: Problem, charged: bool, model: Model
) -> None:
    with serving(behaviour, say("at last")) as server:
        asking = Asking(server, model)
        assert asking.ask().text == "at last"
    failed, answered = asking.calls
    assert failed.problem.startswith(problem)
    assert answered.problem == ""
    assert failed.cost_usd == (pytest.approx(DEAREST) if charged else 0.0)
    assert failed.tokens_out == (None if charged else 0)
    assert len(asking.pauses) == 1


@pytest.mark.parametrize(
    "behaviour", [status(400, "no such thing"), endpoint.redirecting, status(422)]
)
def test_what_will_never_be_answered_is_asked_once(behaviour: Behaviour, model: Model) -> None:
    with serving(behaviour) as server:
        asking = Asking(server, model)
        with pytest.raises(Unanswered, match="asked 1 times"):
            asking.ask()
        assert len(server.asked) == 1
    assert len(asking.calls) == 1


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (status(401, "bad key"), "refuses to answer without a key: .*bad key"),
        (status(403), "refuses"),
        (status(404, "model m is not here"), "knows no model 'm'"),
        (status(402), "wants to be paid"),
        (status(429, "insufficient_quota"), "wants to be paid"),
    ],
)
def test_what_no_question_would_change_ends_it(
    behaviour: Behaviour, words: str, model: Model
) -> None:
    with serving(behaviour) as server, pytest.raises(GeneratorUnavailable, match=words):
        Asking(server, model).ask()


def test_ten_megabytes_are_not_waited_for(model: Model) -> None:
    with serving(endpoint.ten_megabytes) as server:
        asking = Asking(server, model, msgspec.structs.replace(IMPATIENT, answer_seconds=30.0))
        answer = asking.ask()
    assert answer.stop is Stop.ENDLESS
    assert len(answer.text) == 1 << 20
    assert asking.calls[0].cost_usd == pytest.approx(DEAREST)


def test_a_line_without_an_end_is_not_kept_in_memory() -> None:
    patient = msgspec.structs.replace(IMPATIENT, first_token_seconds=30.0, answer_seconds=30.0)
    with serving(endpoint.endless_line, say("at last")) as server:
        asking = Asking(server, patience=patient)
        assert asking.ask().text == "at last"
    assert asking.calls[0].problem == f"{Problem.BROKEN_OFF}: too much was sent"


@pytest.mark.parametrize(
    ("wait", "least"), [("7", 7.0), ("0.5", 0.5), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)]
)
def test_an_endpoint_says_how_long_to_wait(wait: str, least: float) -> None:
    with serving(status(429, retry_after=wait), say("now")) as server:
        asking = Asking(server)
        asking.ask()
    assert asking.pauses[0] >= least
    assert asking.pauses[0] < least + 0.1


def test_it_does_not_wait_for_ever() -> None:
    with serving(status(429, retry_after="3600")) as server:
        asking = Asking(server)
        with pytest.raises(Unanswered, match="rate limited"):
            asking.ask()
    assert asking.pauses == []


def test_pauses_grow_and_differ() -> None:
    patience = msgspec.structs.replace(IMPATIENT, tries=6, first_pause_seconds=1.0)
    with serving() as server:
        server.otherwise = status(500)
        asking = Asking(server, patience=patience)
        with pytest.raises(Unanswered, match="asked 6 times"):
            asking.ask()
    assert len(asking.calls) == 6
    for number, pause in enumerate(asking.pauses):
        assert 0.5 * 2**number <= pause <= 2**number


def test_nobody_there_is_said_and_after_a_while_believed() -> None:
    patience = msgspec.structs.replace(IMPATIENT, tries=1, failures_in_a_row=3)
    with serving() as server:
        asking = Asking(server, patience=patience)
    for _ in range(2):
        with pytest.raises(Unanswered, match="unreachable"):
            asking.ask()
    with pytest.raises(GeneratorUnavailable, match="3 questions in a row"):
        asking.ask()


def test_failures_count_only_in_a_row() -> None:
    patience = msgspec.structs.replace(IMPATIENT, tries=1, failures_in_a_row=2)
    with serving(status(500), say("a"), status(500), say("b")) as server:
        asking = Asking(server, patience=patience)
        for seed in range(2):
            with pytest.raises(Unanswered):
                asking.ask(seed=2 * seed)
            asking.ask(seed=2 * seed + 1)


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
        asking = Asking(server, msgspec.structs.replace(MODEL, temperature=0.3))
        assert asking.ask(seed=1).text == "fine"
        assert asking.ask(seed=2).text == "fine"
        sent = [handler.body for handler in server.asked]
    assert [name in body for body in sent] == [True, False, False]
    assert ("max_completion_tokens" in sent[-1]) == (name == "max_tokens")
    assert len(asking.calls) == 2


def test_what_somebody_asked_for_is_not_left_out() -> None:
    with serving() as server:
        server.otherwise = refusing_field("reasoning_effort")
        asking = Asking(server, msgspec.structs.replace(MODEL, effort="enormous"))
        with pytest.raises(Unanswered, match="reasoning_effort"):
            asking.ask()


def test_the_length_of_an_answer_is_always_limited() -> None:
    """Money depends on it: an endpoint that takes neither name is not asked."""

    def behave(handler: Handler) -> None:
        field = "max_tokens" if "max_tokens" in handler.body else "max_completion_tokens"
        status(400, f"{field} is too large")(handler)

    with serving() as server:
        server.otherwise = behave
        with pytest.raises(Unanswered, match="max_completion_tokens is too large"):
            Asking(server).ask()
        assert all("tokens" in str(asked.body.keys()) for asked in server.asked)


def sent_by(model: Model) -> dict[str, object]:
    with serving() as server:
        Asking(server, model).ask()
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
    [("stop", Stop.END), ("length", Stop.LENGTH), ("content_filter", Stop.REFUSAL)],
)
def test_why_an_answer_ended(reason: str, stop: Stop) -> None:
    with serving(say("text", reason)) as server:
        assert Asking(server).ask().stop is stop


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("end_turn", Stop.END), ("max_tokens", Stop.LENGTH), ("refusal", Stop.REFUSAL)],
)
def test_why_an_answer_ended_in_the_other_protocol(reason: str, stop: Stop) -> None:
    with serving(say("text", reason)) as server:
        asking = Asking(server, msgspec.structs.replace(MODEL, protocol="anthropic"))
        assert asking.ask().stop is stop


def test_a_bill_that_cannot_be_is_not_believed(model: Model) -> None:
    with serving(say("text", tokens_out=-1_000_000)) as server:
        asking = Asking(server, model)
        asking.ask()
    assert asking.calls[0].cost_usd == pytest.approx(DEAREST)


def test_an_unknown_price_stays_unknown() -> None:
    with serving() as server:
        asking = Asking(server, msgspec.structs.replace(MODEL, price=None))
        asking.ask()
    assert asking.calls[0].cost_usd is None


class TestCache:
    def test_the_same_question_is_paid_for_once(self) -> None:
        with serving(say("first"), say("second")) as server:
            first, second = Asking(server), Asking(server)
            assert first.ask().text == "first"
            assert second.ask().text == "first"
            (call,) = second.calls
        assert (call.cached, call.cost_usd, call.tokens_out) == (True, 0.0, 10)

    def test_whatever_differs_is_another_question(self) -> None:
        with serving() as server:
            asking = Asking(server)
            asking.ask()
            asking.ask(seed=1)
            asking.ask("hello!")
            for change in (
                {"name": "n"},
                {"effort": "low"},
                {"temperature": 1.0},
                {"max_tokens": 9},
            ):
                Asking(server, msgspec.structs.replace(MODEL, **change)).ask()
            assert len(server.asked) == 7

    def test_a_failure_is_not_kept(self) -> None:
        with serving(endpoint.half_closed, endpoint.half_closed, say("now")) as server:
            asking = Asking(server)
            with pytest.raises(Unanswered):
                asking.ask()
            assert asking.ask().text == "now"

    def test_a_disk_that_does_not_play_along_is_no_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        with serving() as server:
            assert Asking(server).ask().text == "ready"


def test_so_many_at_once_and_no_more() -> None:
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
        asking = Asking(server)
        asking.desk = Desk(ModelSettings((asking.model,), at_once=3, patience=IMPATIENT))
        threads = [threading.Thread(target=asking.ask, kwargs={"seed": seed}) for seed in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most == 3
    assert len(asking.calls) == 9


def test_so_many_a_minute() -> None:
    with serving() as server:
        asking = Asking(server, msgspec.structs.replace(MODEL, requests_per_minute=60.0))
        for seed in range(3):
            asking.ask(seed=seed)
    first, second = asking.pauses
    assert 0.8 < first <= 1.0 and 1.6 < second <= 2.0
