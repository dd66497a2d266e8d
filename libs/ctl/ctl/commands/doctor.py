"""`doctor`: what the services report about the machines that they run on."""

import click

from contracts.media import SandboxReport
from contracts.record import Nothing, Record
from ctl.session import Session, pass_session


class Finding(Record):
    """The result of one check. `state`: ok, warning (works, but with less protection than possible) or failed."""

    check: str
    state: str
    detail: str


@click.command()
@click.pass_context
@pass_session
def doctor(session: Session, context: click.Context) -> None:
    """Check how well the services are protected on their machines. Exits with 1 when a check fails."""
    findings = [_decoder_sandbox(session.media.get_sandbox(session.caller, Nothing()))]
    session.show_all(findings, ("check", "state", "detail"))
    if any(finding.state == "failed" for finding in findings):
        context.exit(1)


def _decoder_sandbox(report: SandboxReport) -> Finding:
    """Tells how well the processes that decode uploads are confined, by the media service's report
    (services/media/README.md, "The sandbox").
    """
    parts = (
        f"Landlock ABI {report.landlock_abi}" if report.landlock_abi else "no Landlock",
        "seccomp" if report.seccomp else "no seccomp",
        "network namespace" if report.network_namespace else "no network namespace (not required)",
        "required" if report.required else "not required",
    )
    state = "ok" if not report.missing else "failed" if report.required else "warning"
    return Finding(check="sandbox of uploaded files", state=state, detail=", ".join(parts))
