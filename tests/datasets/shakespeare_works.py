"""Complete works in the form of etext 100, one page long."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from f3ast_tff.datasets.source import Download

NOTICE = """<<THIS ELECTRONIC VERSION OF THE COMPLETE WORKS OF WILLIAM
SHAKESPEARE IS COPYRIGHT 1990-1993 BY WORLD LIBRARY, INC., AND IS
PROVIDED BY PROJECT GUTENBERG.>>
"""
HEAD = f"This is the 100th Etext file presented by Project Gutenberg\n\n{NOTICE}"
END = f"\n\n{NOTICE}\nEnd of this Etext of The Complete Works of William Shakespeare\n"
SONNETS = """
1609

THE SONNETS

by William Shakespeare

                     1
  From fairest creatures we desire increase,
  That thereby beauty's rose might never die,

THE END
"""

OTHELLO = f"""
{NOTICE}
1605

THE TRAGEDY OF OTHELLO, MOOR OF VENICE


by William Shakespeare



Dramatis Personae

  IAGO, ensign to Othello
  RODERIGO. A rejected suitor
  Senators, Sailors, Messengers

{NOTICE}

SCENE: Venice and Cyprus

ACT I. SCENE I.
Venice. A street.

Enter Roderigo and Iago.

  RODERIGO. Tush, never tell me! I take it much unkindly
    That thou, Iago, who hast had my purse
{NOTICE}

    As if the strings were thine, shouldst know of this.
  IAGO. 'Sblood, but you will not hear me.    Exit
    If ever I did dream                               [Thunder]

                         Enter OTHELLO.

    Of such a matter, abhor me.
  Iago.            Despise me if I do not.
  ALL. Away, away!
    Away, we say!
  SIR Toby. I am of another play.
  RODERIGO, IAGO. Signior, signior!
  GUARDS and IAGO. Ho!
  FIRST SERVING-MAN. Thieves! [Aside] Thieves!
SCENE II.
    This line follows a heading and belongs to nobody.
  MRS. OVERDONE. What's a-do here?
  1. Sen. My lord.
    RODERIGO. This cue stands in the wrong columns.
  Flourish. Enter the Duke.
  RODERIGO.No blank after the stop.
  IAGO.
    A cue with no words on its line.
THE END
"""

ERRORS = """
1593

THE COMEDY OF ERRORS

by William Shakespeare

DRAMATIS PERSONAE
SOLINUS. Duke of Ephesus

ACT I. SCENE 1
A hall

Enter the DUKE of Ephesus, AEGEON, and others

AEGEON. Proceed, Solinus, to procure my fall,
  And by the doom of death end woes and all.
DUKE. Merchant of Syracuse, plead no more;
  Some time. I am not partial to infringe our laws.
<Exeunt
AEGEON. Yet this my comfort.

ACT II. SCENE 1
ADRIANA. Neither my husband nor the slave return'd.
THE END
"""


def works(*plays: str) -> str:
    """Returns the plays with the text before and after them."""
    return HEAD + SONNETS + "".join(plays) + END


def play(title: str, speeches: Sequence[tuple[str, str]]) -> str:
    """Returns a play of one scene; each speech, a role and its words, is one line."""
    spoken = "".join(f"  {role}. {words}\n" for role, words in speeches)
    return f"\n\n{title}\n\nby William Shakespeare\n\nACT I. SCENE I.\n\n{spoken}THE END\n"


def tiny_shakespeare(data_dir: Path, text: str) -> Download:
    """Writes the works as the distributor's file, and returns the matching description."""
    path = data_dir / "shakespeare" / "t8.shakespeare.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return Download("https://example.org/t8.txt", hashlib.sha256(text.encode()).hexdigest())
