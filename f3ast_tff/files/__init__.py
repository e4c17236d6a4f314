"""Disk, terminal and process: safe reading, atomic writing, progress, signals, exit codes."""
