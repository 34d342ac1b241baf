"""A stand-in for Cursor's CLI, built from what is written of it: its screens, dialogs, files, hooks and MCP client.

It runs as `cursor-agent` with `bin/` on PATH, needs Python's standard library only, and asks a model on loopback. Its
version ends in `-emulator`, so that nobody takes what it proves for more than that.
"""
