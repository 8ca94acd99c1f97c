"""An HTTP endpoint on the loopback interface with scripted behaviours, hostile ones included."""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One request, whose body has been read."""

    protocol_version = "HTTP/1.1"
    server: "Server"
    body: dict[str, Any]

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        behaviour = self.server.take(self)
        try:
            behaviour(self)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client did not wait for the rest
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass

    @property
    def anthropic(self) -> bool:
        return self.path.endswith("/messages")

    @property
    def prompt(self) -> str:
        """All messages of the request, joined."""
        conversation = "\n".join(message["content"] for message in self.body["messages"])
        return f"{self.body.get('system', '')}\n{conversation}"

    def begin(self, kind: str = "text/event-stream", **headers: str) -> None:
        """Send the head of a response that ends with the connection."""
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def send(self, text: str) -> None:
        self.wfile.write(text.encode())
        self.wfile.flush()

    def event(self, value: object) -> None:
        self.send(f"data: {json.dumps(value)}\n\n")

    def token(self, text: str) -> None:
        if self.anthropic:
            self.event(
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}
            )
        else:
            self.event({"choices": [{"delta": {"content": text}}]})

    def conclude(self, reason: str, tokens_in: int, tokens_out: int) -> None:
        if self.anthropic:
            usage = {"input_tokens": tokens_in, "output_tokens": 1}
            self.event({"type": "message_start", "message": {"usage": usage}})
            self.event(
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": reason},
                    "usage": {"output_tokens": tokens_out},
                }
            )
            self.event({"type": "message_stop"})
            return
        self.event({"choices": [{"delta": {}, "finish_reason": reason}]})
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        self.event({"choices": [], "usage": usage})
        self.send("data: [DONE]\n\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Behaviour] = []
        self.otherwise: Behaviour = say("ready")
        self.asked: list[Handler] = []
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def take(self, handler: Handler) -> Behaviour:
        with self._lock:
            self.asked.append(handler)
            return self.script.pop(0) if self.script else self.otherwise


@contextmanager
def serving(*script: Behaviour) -> Iterator[Server]:
    server = Server()
    server.script += script
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def say(text: str, reason: str = "stop", tokens_in: int = 100, tokens_out: int = 10) -> Behaviour:
    def behave(handler: Handler) -> None:
        handler.begin()
        handler.send(": a comment\n\n")
        size = max(40, len(text) // 100)
        for start in range(0, len(text), size):
            handler.token(text[start : start + size])
        handler.conclude(reason, tokens_in, tokens_out)

    return behave


def status(code: int, message: str = "no", kind: str = "error", **headers: str) -> Behaviour:
    """An error of a kind that only its body names, as providers do."""

    def behave(handler: Handler) -> None:
        error = {"message": message, "type": kind, "code": kind, "param": None}
        body = json.dumps({"error": error}).encode()
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return behave


def silent(handler: Handler) -> None:
    """Takes the request and sends nothing for longer than any time-out."""
    time.sleep(5)


def stalled(handler: Handler) -> None:
    handler.begin()
    handler.token("half of")
    time.sleep(5)


def pinging(handler: Handler) -> None:
    """Sends comments and no token, so that no socket times out."""
    handler.begin()
    for _ in range(500):
        handler.send(": ping\n\n")
        time.sleep(0.01)


def trickling(handler: Handler) -> None:
    """Sends a token now and then, for longer than any time-out."""
    handler.begin()
    for _ in range(500):
        handler.token("x")
        time.sleep(0.01)


def broken_off(handler: Handler) -> None:
    """Closes the connection in the middle of a chunk."""
    handler.begin(transfer_encoding="chunked")
    handler.send("40\r\ndata: ")


def half_closed(handler: Handler) -> None:
    """Ends the stream properly before the end of the answer."""
    handler.begin()
    handler.token("half of")


def garbled(handler: Handler) -> None:
    handler.begin()
    handler.send("data: {not json\n\n")


def not_an_object(handler: Handler) -> None:
    handler.begin()
    handler.send("data: [1, 2]\n\n")


def plain_page(handler: Handler) -> None:
    handler.begin("text/html")
    handler.send("<html>welcome</html>")


def failing_midway(handler: Handler) -> None:
    handler.begin()
    handler.token("half of")
    handler.event({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}})


def compressed(handler: Handler) -> None:
    handler.begin(content_encoding="gzip")
    handler.wfile.write(gzip.compress(b"0" * (10 << 20)))


def redirecting(handler: Handler) -> None:
    status(307, location="http://127.0.0.1:9/v1/chat/completions")(handler)


def endless_line(handler: Handler) -> None:
    """Sends 70 MiB without a newline."""
    handler.begin()
    handler.send("data: ")
    for _ in range(70):
        handler.send("x" * (1 << 20))


ten_megabytes = say("x" * 39 + "\n" + "y" * (10 << 20))


def echoing(handler: Handler) -> None:
    """Sends the request's headers back in the answer, the key among them."""
    say(f"```python model.py\n# {dict(handler.headers)}\n```")(handler)


def refusing_with_echo(handler: Handler) -> None:
    status(401, f"bad key: {dict(handler.headers)}")(handler)
