"""The servers of a run, the link to them, the mount, and what all of it used."""
