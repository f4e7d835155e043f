"""Rule probe: what can run on this machine."""

from parity.core.errors import shown_to_the_user
from parity.software.probe import probe_lines

if __name__ == "__main__":
    with shown_to_the_user():
        print("\n".join(probe_lines()))
