"""The command line: flags, help, and the commands of `f3ast-tff`."""
