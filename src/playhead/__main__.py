"""Entry point of the `playhead` command and of `python -m playhead`. Loads the command line, which is an extra.

`playhead run`, which starts programs where they are deployed, needs no extra.
"""

import sys

_MISUSED = 2  # exit code of every command that lacks a library or a setting


def main() -> None:
    """Runs the command line. If its libraries are missing, prints what to install, and exits with 2."""
    if sys.argv[1:2] == ["run"]:
        from playhead.launch.command import run  # noqa: PLC0415

        sys.exit(run(sys.argv[2:]))
    try:
        from playhead.cli import app  # noqa: PLC0415 - `run` does not need it
    except ModuleNotFoundError as error:
        missing = (error.name or "playhead").partition(".")[0]
        if missing == "playhead":
            raise  # a module of our own is missing: no extra contains it
        sys.stderr.write(
            f"playhead: the command line needs {missing}, which is not installed: "
            'pip install "playhead[cli]", or "playhead[collector]" where a collector runs\n'
        )
        sys.exit(_MISUSED)
    app()


if __name__ == "__main__":
    main()
