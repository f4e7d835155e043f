"""What every package stands on: errors, files, settings, commands, digests, code identity."""
