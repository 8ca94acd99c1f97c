"""Sandboxes: their answers, limits, confinement and end."""

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelmill.records.errors import SandboxUnavailable
from kernelmill.sandbox import (
    Policy,
    ResourceLimits,
    Sandbox,
    SandboxCrashed,
    SandboxLimitExceeded,
    SandboxProtocolError,
    SandboxRanWhileStopped,
    SandboxTimeout,
    Tier,
    Zygote,
)

HERE = Path(__file__).parent
SMALL = ResourceLimits(memory_bytes=512 << 20, processes=48)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    os.environ["KERNELMILL_TEST_CANARY"] = "a key nobody may see"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "kernelmill.sandbox.zygote._ENVIRONMENT",
            {"PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        with Zygote(("sandbox_programs",), threads=1) as zygote:
            yield zygote


def spawn(
    zygote: Zygote, program: str, policy: Policy | None = None, **arguments: object
) -> Sandbox:
    return zygote.spawn(f"sandbox_programs:{program}", arguments, policy or Policy(limits=SMALL))


def test_a_sandbox_answers(zygote: Zygote) -> None:
    with spawn(zygote, "echo", word="hello") as sandbox:
        answer = sandbox.request({"number": 1}, 5).body
    assert answer["got"] == {"number": 1}
    assert answer["arguments"] == {"word": "hello"}


def test_many_open_files_are_no_obstacle(zygote: Zygote) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip(f"this machine allows only {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with spawn(zygote, "echo") as sandbox:
            sandbox.stop()
            assert sandbox.timed({"number": 1}, 5).answer["got"] == {"number": 1}
    finally:
        for file in held:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("tier", list(Tier))
def test_every_tier_runs(zygote: Zygote, tier: Tier) -> None:
    with spawn(zygote, "echo", Policy(limits=SMALL, tier=tier)) as sandbox:
        assert sandbox.request({}, 5).body["got"] == {}


def test_a_crash_is_reported_with_its_signal_and_last_line(zygote: Zygote) -> None:
    for program, number in (("segfault", signal.SIGSEGV), ("abort", signal.SIGABRT)):
        with pytest.raises(SandboxCrashed) as caught:
            spawn(zygote, program).request({}, 5)
        assert caught.value.signal_number == number
    with pytest.raises(SandboxCrashed, match="the last words"):
        spawn(zygote, "raise_error").request({}, 5)
    with pytest.raises(SandboxCrashed) as caught:
        spawn(zygote, "leave", code=0).request({}, 5)
    assert caught.value.exit_code == 0


def test_a_silent_sandbox_times_out_and_is_gone(zygote: Zygote) -> None:
    sandbox = spawn(zygote, "sleep")
    with pytest.raises(SandboxTimeout):
        sandbox.request({}, 0.2)
    assert not Path(f"/proc/{sandbox.pid}").exists()


@pytest.mark.parametrize(
    ("program", "may_execute", "limit"),
    [
        ("eat_memory", False, "memory"),
        ("many_threads", False, "processes"),
        ("fork_forever", True, "processes"),
    ],
)
@pytest.mark.parametrize("tier", [Tier.FULL, Tier.PARTIAL])
def test_limits_hold(
    zygote: Zygote, program: str, may_execute: bool, limit: str, tier: Tier
) -> None:
    policy = Policy(limits=SMALL, may_execute=may_execute, tier=tier)
    with pytest.raises((SandboxLimitExceeded, SandboxCrashed)) as caught:
        spawn(zygote, program, policy).request({}, 20)
    if isinstance(caught.value, SandboxLimitExceeded):
        assert caught.value.limit in (limit, "memory")


@pytest.mark.parametrize("tier", list(Tier))
def test_a_sandbox_cannot_raise_its_priority(zygote: Zygote, tier: Tier) -> None:
    with spawn(zygote, "raise_own_priority", Policy(limits=SMALL, tier=tier)) as sandbox:
        policies = sandbox.request({}, 5).body
    assert policies == {"before": os.SCHED_OTHER, "after": os.SCHED_OTHER}


def test_printing_without_end_does_no_harm(zygote: Zygote) -> None:
    with pytest.raises(SandboxCrashed):
        spawn(zygote, "print_forever").request({}, 10)


@pytest.mark.parametrize(
    "rubbish",
    ["ffffff7f", "05000000" + b"nojs?".hex(), "02000000" + b"[]".hex(), "05000000ffffffffff"],
)
def test_rubbish_on_the_channel_is_refused(zygote: Zygote, rubbish: str) -> None:
    with pytest.raises(SandboxProtocolError):
        spawn(zygote, "send_rubbish", bytes=rubbish).request({}, 5)


@pytest.mark.isolation
def test_nothing_outlives_its_sandbox(zygote: Zygote) -> None:
    def strays() -> list[str]:
        return [
            p.name
            for p in Path("/proc").iterdir()
            if p.name.isdigit() and _environment_has_canary_folder(p)
        ]

    sandbox = spawn(zygote, "daemonise", Policy(limits=SMALL, may_execute=True))
    sandbox.request({}, 5)
    before = strays()
    sandbox.close()
    deadline = time.monotonic() + 5
    while len(strays()) >= len(before) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(strays()) < len(before)


def _environment_has_canary_folder(process: Path) -> bool:
    try:
        return str(HERE).encode() in (process / "environ").read_bytes()
    except OSError:
        return False


@pytest.mark.isolation
def test_a_sandbox_cannot_trespass(zygote: Zygote, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("42")
    with spawn(zygote, "trespass", secret=str(secret), parent=os.getpid()) as sandbox:
        tried = sandbox.request({}, 10).body
    environment = tried.pop("environment")
    assert tried.pop("write scratch") == "done"
    assert [name for name, outcome in tried.items() if outcome == "done"] == []
    assert "KERNELMILL_TEST_CANARY" not in environment
    assert secret.read_text() == "42"


def test_a_partial_sandbox_cannot_trespass_either(zygote: Zygote, tmp_path: Path) -> None:
    if zygote.features.tier < Tier.PARTIAL:
        pytest.skip(f"this machine grants {zygote.features.tier}")
    secret = tmp_path / "secret"
    secret.write_text("42")
    policy = Policy(limits=SMALL, tier=Tier.PARTIAL)
    with spawn(zygote, "trespass", policy, secret=str(secret), parent=os.getpid()) as sandbox:
        tried = sandbox.request({}, 10).body
    for what in ("read secret", "write secret", "read parent's environment", "socket", "fork"):
        assert tried[what] != "done", what


HIDDEN = (
    "/etc", "/etc/passwd", "/etc/hostname", "/etc/alternatives", "/home", "/root",
    "/opt", "/var", "/run", "/srv", "/boot", "/tmp", "/proc/1/environ", "/proc/1/cmdline", "/proc",
    "/proc/cmdline", "/proc/version", "/proc/modules", "/proc/sys/kernel/hostname", "/sys",
    "/sys/class", "/sys/fs/cgroup",
)  # fmt: skip
NEEDED = ("/usr/include", "/proc/cpuinfo", "/proc/meminfo", "/proc/self/maps", "/etc/ld.so.cache",
          "/sys/devices/system/cpu/online")  # fmt: skip


@pytest.mark.isolation
@pytest.mark.parametrize("tier", [Tier.PARTIAL, Tier.FULL])
@pytest.mark.parametrize("may_execute", [False, True], ids=("runs", "builds"))
def test_a_sandbox_reads_what_programs_need_and_nothing_else(
    zygote: Zygote, tier: Tier, may_execute: bool
) -> None:
    policy = Policy(limits=SMALL, tier=tier, may_execute=may_execute)
    with spawn(zygote, "read_files", policy, paths=[*HIDDEN, *NEEDED]) as sandbox:
        read = sandbox.request({}, 10).body
    seen = [path for path in HIDDEN if not read[path].startswith("error")]
    assert seen == []
    assert [path for path in NEEDED if os.path.exists(path) and "error" in read[path][:6]] == []


def test_a_stopped_sandbox_does_not_run(zygote: Zygote) -> None:
    with spawn(zygote, "echo") as sandbox:
        sandbox.stop()
        sandbox.send({"number": 1})
        with pytest.raises(SandboxTimeout):
            sandbox.receive(0.1)
    with spawn(zygote, "echo") as sandbox:
        sandbox.stop()
        timed = sandbox.timed({"number": 2}, 5)
    assert timed.answer["got"] == {"number": 2}
    assert timed.nanoseconds > 0


def test_a_sandbox_that_wakes_while_stopped_is_found_out(zygote: Zygote) -> None:
    with spawn(zygote, "compute_in_a_thread") as sandbox:
        sandbox.stop()
        sandbox.timed({}, 5)
        os.kill(sandbox.pid, signal.SIGCONT)
        time.sleep(0.1)
        with pytest.raises(SandboxRanWhileStopped):
            sandbox.timed({}, 5)


def test_scratch_leaves_nothing_behind(zygote: Zygote) -> None:
    for tier in Tier:
        with spawn(zygote, "echo", Policy(limits=SMALL, tier=tier)) as sandbox:
            scratch = Path(sandbox.request({}, 5).body["scratch"])
        if tier < Tier.FULL:
            assert not scratch.exists()
        else:
            assert not list(scratch.glob("candidate*"))


@pytest.mark.isolation
def test_a_sandbox_with_a_device_may_do_what_its_driver_needs_and_no_more(zygote: Zygote) -> None:
    policy = Policy(limits=SMALL, devices=("/dev/ptmx",))
    with spawn(zygote, "with_device", policy, device="/dev/ptmx") as sandbox:
        said = sandbox.request({}, 5).body
    for what in ("device", "listen", "name a thread"):
        assert said[what] == "done", (what, said[what])
    for what in ("connect", "internet", "name another's"):
        assert said[what] != "done", what


@pytest.mark.isolation
@pytest.mark.parametrize("keeps", [False, True])
def test_a_locked_sandbox_starts_nothing_and_cannot_hide_what_it_started(
    zygote: Zygote, keeps: bool
) -> None:
    policy = Policy(limits=SMALL, may_execute=True)
    with spawn(zygote, "lock_itself", policy, keeps=keeps) as sandbox:
        assert sandbox.request({}, 5).body["first"] == "done"
        before = sandbox.fewest_seccomp_filters()
        assert sandbox.request({}, 5).body["second"] != "done"
        assert sandbox.fewest_seccomp_filters() == before + 1
        assert bool(sandbox.other_processes()) == keeps


def test_a_warm_process_that_does_not_start_says_why() -> None:
    with pytest.raises(SandboxUnavailable, match="No module named 'no_such_module'"):
        Zygote(("no_such_module",), threads=1)


def test_a_warm_process_that_takes_too_long_says_how_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "slow_module.py").write_text("import time; time.sleep(60)")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("kernelmill.sandbox.zygote._IMPORT_SECONDS", 1.0)
    with pytest.raises(SandboxUnavailable, match=r"did not start within 1 s: it printed nothing"):
        Zygote(("slow_module",), threads=1)
