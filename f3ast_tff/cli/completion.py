"""`f3ast-tff completion`: completion of commands, flags and values for a shell.

The words follow from the help of each command and from the declared parameters.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence

from f3ast_tff.files.exit_codes import BAD_INPUT, fail
from f3ast_tff.files.messages import show
from f3ast_tff.settings.flags import UsageError, wants_help

_USAGE = """
Prints what completes commands, flags and values in a shell:

  f3ast-tff completion bash > ~/.local/share/bash-completion/completions/f3ast-tff
  f3ast-tff completion zsh > ~/.zfunc/_f3ast-tff     (a folder of fpath, before compinit)

Call it again after an update. Plug-ins are not completed.
"""
_FLAG = re.compile(r"^ *(--\w+)", re.MULTILINE)
# Commands that take all settings of a run, whose own help does not repeat them.
_WITH_SETTINGS = ("run", "campaign", "try", "advise")
# bash splits words at `=`, so a value is a word of its own.
_BASH = """\
_f3ast_tff() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} flag= words=
    COMPREPLY=()
    if [[ $current == = ]]; then flag=$before current=
    elif [[ $before == = ]]; then flag=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    if [[ -n $flag ]]; then
        case $flag in
{values}
        esac
        local last=${{current##*,}}
        if [[ -n $words ]]; then
            COMPREPLY=($(compgen -P "${{current%"$last"}}" -W "$words" -- "$last"))
        else
            COMPREPLY=($(compgen -f -- "$current"))
        fi
        return
    fi
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W "{commands}" -- "$current"))
    elif [[ $current == -* ]]; then
        case ${{COMP_WORDS[1]}} in
{flags}
        esac
        compopt -o nospace
        COMPREPLY=($(compgen -S = -W "$words" -- "$current"))
    else
        case ${{COMP_WORDS[1]}} in
{names}
        esac
        COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
    fi
}}
complete -F _f3ast_tff f3ast-tff
"""
_ZSH = """\
#compdef f3ast-tff
_f3ast_tff() {{
    local flag=${{words[CURRENT]%%=*}} found=
    if [[ ${{words[CURRENT]}} == --*=* ]]; then
        compset -P '*='
        case $flag in
{values}
        esac
        if [[ -n $found ]]; then compset -P '*,'; compadd -- ${{=found}}; else _files; fi
    elif (( CURRENT == 2 )); then
        compadd -- {commands}
    elif [[ ${{words[CURRENT]}} == -* ]]; then
        case ${{words[2]}} in
{flags}
        esac
        compadd -S = -- ${{=found}}
    else
        case ${{words[2]}} in
{names}
        esac
        compadd -- ${{=found}}
        _files
    fi
}}
_f3ast_tff "$@"
"""
_SHELLS = {"bash": (_BASH, "words"), "zsh": (_ZSH, "found")}


def main(argv: Sequence[str]) -> int:
    """Prints the script of a shell; returns the exit code."""
    words = argv[1:]
    if not words or wants_help(words):
        show(_USAGE.strip())
        return 0
    if len(words) > 1 or words[0] not in _SHELLS:
        message = f"{' '.join(words)!r} is no shell; must be one of {', '.join(_SHELLS)}"
        return fail(UsageError(message), BAD_INPUT)
    show(script(words[0]).rstrip("\n"))
    return 0


def script(shell: str) -> str:
    """Returns the completion of `bash` or `zsh`."""
    # The command line imports this module.
    from f3ast_tff.cli.main import COMMANDS

    text, variable = _SHELLS[shell]
    return text.format(
        commands=" ".join(COMMANDS),
        values=_cases(variable, _values()),
        flags=_cases(variable, {name: _flags(name) for name in COMMANDS}),
        names=_cases(variable, _names()),
    )


def _cases(variable: str, found: Mapping[str, Iterable[str]]) -> str:
    """The arms of a `case`: arms of the same words are one."""
    arms: dict[str, list[str]] = {}
    for key, words in found.items():
        arms.setdefault(" ".join(words), []).append(key)
    return "\n".join(f"{' ' * 8}{'|'.join(keys)}) {variable}='{w}';;" for w, keys in arms.items())


def _values() -> dict[str, Iterable[str]]:
    """Values by flag: of components, of settings with fixed choices."""
    from f3ast_tff.cli.flags import setting_flags
    from f3ast_tff.settings import builtin_registry
    from f3ast_tff.settings.kinds import KINDS

    registry = builtin_registry()
    found: dict[str, Iterable[str]] = {f"--{kind}": registry.names(kind) for kind in KINDS}
    for name, parameter in setting_flags(registry).items():
        if parameter.choices:
            found[f"--{name}"] = parameter.choices
        elif parameter.kind is bool:
            found[f"--{name}"] = ("true", "false")
    return found


def _flags(command: str) -> list[str]:
    """Flags of a command, in the order of its help."""
    from f3ast_tff.cli.help_pages import help_text
    from f3ast_tff.cli.main import main as run_command
    from f3ast_tff.settings import builtin_registry

    text = io.StringIO()
    if command != "completion":
        with contextlib.redirect_stdout(text):
            run_command(["f3ast-tff", command, "--help"])
    if command in _WITH_SETTINGS:
        text.write("\n" + help_text(builtin_registry()))
    return list(dict.fromkeys(["--help", *_FLAG.findall(text.getvalue())]))


def _names() -> dict[str, Iterable[str]]:
    """Words other than flags, by command."""
    from f3ast_tff.campaigns.grid_file import built_in_campaigns
    from f3ast_tff.cli.example import examples
    from f3ast_tff.settings import builtin_registry
    from f3ast_tff.settings.kinds import KINDS

    registry = builtin_registry()
    components = dict.fromkeys(name for kind in KINDS for name in registry.names(kind))
    return {
        "campaign": built_in_campaigns(),
        "example": examples(),
        "cite": components,
        "completion": _SHELLS,
    }
