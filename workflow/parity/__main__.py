"""The command line: `parity <command>`, and the same as `python -m parity <command>`."""

from parity.command_line.main import main

if __name__ == "__main__":
    main()
