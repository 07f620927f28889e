#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Real shells complete the command line with the installed completion files.

Usage: completion.py PERFTAPE FOLDER          FOLDER: packaging/completions
"""

import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import tap  # noqa: E402

# The words before the cursor, the last of which is completed, and all words that must be offered.
CASES = (
    (["perftape", "resol"], {"resolve"}),
    (["perftape", "--store", "folder", "sna"], {"snapshot"}),
    (["perftape", "--store", "wan"], {"wanted.data"}),
    (["perftape", "query", "--form"], {"--format"}),
    (["perftape", "query", "--format", ""], {"flamescope", "folded", "json"}),
    (["perftape", "query", "--format", "fo"], {"folded"}),
    (["perftape", "--utc", "query", "--split", "c"], {"cpu", "comm"}),
    (["perftape", "incidents", "sc"], {"scan"}),
    (["perftape", "completion", ""], {"bash", "zsh", "fish"}),
    (["perftape", "import", "wan"], {"wanted.data"}),
    (["perftape", "query", "-o", "wan"], {"wanted.data"}),
    (["perftape", "resolve", "--debug-dir", "fol"], {"folder/"}),
    (["perftape", "top", "--at", "wan"], set()),
)
# zsh waits for a key; each answer must come within this time
PATIENCE_S = 60


def bash_offers(words, files, environment, folder):
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _perftape; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", files / "perftape.bash", *words],
        env=environment, cwd=folder, capture_output=True, text=True, check=True,
    )
    # bash adds the slash itself, because of the option filenames
    return {word + "/" * (folder / word).is_dir() for word in done.stdout.split()}


def fish_offers(words, files, environment, folder):
    line = " ".join(words)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source '{files}/perftape.fish'; complete -C '{line}'"],
        env=environment, cwd=folder, capture_output=True, text=True, check=True,
    )
    return {offer.split("\t")[0] for offer in done.stdout.splitlines()}


class Zsh:
    """An interactive zsh on a terminal. A widget prints each offer between two <offer>, and at the end <done>."""

    SETUP = (
        "PROMPT= ; autoload -Uz compinit; compinit -u -d ./dump; "
        "compadd() { if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd \"$@\"; return; fi; "
        "typeset -a offered; builtin compadd -A offered \"$@\"; print -r -- \"<offer>${(j:<offer>:)offered}<offer>\"; "
        "builtin compadd \"$@\" }; zle -C probe list-choices _main_complete; "
        "whole() { zle probe; print -r -- '<done>'; zle kill-whole-line }; zle -N whole; bindkey '^X^P' whole\n"
    )

    def __init__(self, files, environment, folder):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], environment | {"FPATH": f"{files}:{environment['ZSH_FPATH']}"})
        os.write(self.fd, (self.SETUP + "print '<'ready'>'\n").encode())
        self.hear("<ready>")

    def hear(self, end):
        text, begin = "", time.monotonic()
        while end not in text:
            if not select.select([self.fd], [], [], 1)[0]:
                if time.monotonic() - begin > PATIENCE_S:
                    raise TimeoutError(f"zsh did not print {end}: {text[-500:]!r}")
                continue
            text += os.read(self.fd, 65536).decode(errors="replace")
        return text

    def offers(self, words):
        os.write(self.fd, (" ".join(words) + "\x18\x10").encode())
        text = self.hear("<done>")
        offers = set()
        for line in re.findall(r"<offer>(.*)<offer>", text):
            offers.update(word for word in line.split("<offer>") if word)
        return {word.removesuffix("=") for word in offers}

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def make_folder(top, perftape):
    folder = top / "folder of files"
    (folder / "folder").mkdir(parents=True)
    (folder / "wanted.data").touch()
    (top / "bin").mkdir()
    (top / "bin" / "perftape").symlink_to(perftape)
    return folder


def ask(shell, offers):
    """A check for each case."""
    for words, expected in CASES:
        seen = {word.rstrip("/") for word in offers(words)}
        wanted = {word.rstrip("/") for word in expected}
        yield f"{shell}: {' '.join(words)}", [] if seen == wanted else [tap.wrong(sorted(wanted), sorted(seen))]


def main():
    perftape, files = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as top:
        top = pathlib.Path(top)
        folder = make_folder(top, perftape)
        fpath = subprocess.run(["zsh", "-fc", "print -r -- ${(j.:.)fpath}"], capture_output=True, text=True, check=True)
        environment = os.environ | {
            "PATH": f"{top}/bin:{os.environ['PATH']}",
            "HOME": str(top),
            "TERM": "xterm",
            "ZSH_FPATH": fpath.stdout.strip(),
        }
        zsh = Zsh(files, environment, folder)
        checks = [
            *ask("bash", lambda words: bash_offers(words, files, environment, folder)),
            *ask("fish", lambda words: fish_offers(words, files, environment, folder)),
            *ask("zsh", zsh.offers),
        ]
        zsh.close()
    return tap.run(checks)


if __name__ == "__main__":
    sys.exit(main())
