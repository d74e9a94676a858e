"""CHT001: if the kernel fails, PyTorch computes the result instead."""

from collections.abc import Iterator

from grader.rules import Context, Evidence, Finding, Source, rule_of
from grader.source.analysis.diagnostics import failures
from grader.source.analysis.fallback import fallbacks


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report each path from a failure of the custom code to a result by PyTorch; after a failed build it was taken."""
    failed = failures(context, "compiler", "ptxas", "link")
    for number, fallback in enumerate(sorted(fallbacks(source), key=lambda one: not one.building)):
        place = source.line_place(fallback.handler.lineno)
        if failed and number == 0:
            said = f"the extension does not build, the handler hides that, and every result comes from PyTorch (line {fallback.instead.lineno})"
            refused = Evidence(
                kind="dispatch",
                code="fallback-after-failed-build",
                text=f"the build failed: {failed[0].text}"[:300],
                place=failed[0].place,
            )
            yield RULE.finding(place, said, severity="error", evidence=(refused,), rejects=True)
            continue
        what = "building the extension" if fallback.building else "the custom kernel"
        yield RULE.finding(
            place,
            f"if {what} fails, this handler goes on, and line {fallback.instead.lineno} computes "
            "the result with PyTorch: a good result then says nothing about the kernel",
        )


RULE = rule_of(__file__, check)
