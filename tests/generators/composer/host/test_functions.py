"""Functions that candidates carry with them."""

import pytest

from kernelmill.generators.composer.host.functions import RuntimeFunctions
from kernelmill.syntax import names_in


@pytest.mark.parametrize("target", ["triton", "pallas"])
def test_what_a_needed_function_calls_is_needed(target: str) -> None:
    runtime = RuntimeFunctions(f"kernelmill.generators.composer.targets.{target}")
    for name in runtime.names:
        sources = runtime.needed({name, "nobody"})
        defined = {source.partition("def ")[2].partition("(")[0] for source in sources}
        assert name in defined
        assert names_in("\n".join(sources)) & set(runtime.names) <= defined


def test_a_name_in_a_docstring_is_not_a_call() -> None:
    assert names_in('def f(x):\n    """Of every element."""\n    return g(x)') == {"g", "x"}
