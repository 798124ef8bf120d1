"""Invented answers that the corpus streams carry. Only shapes matter: scripts, blanks, repeats, length."""

PLAIN = (
    "A tide pool is a small world with hard rules. Twice a day the sea leaves it, and whatever lives there "
    "has to hold its breath, shut its door or keep very still until the water is back."
)

EMOJI_CJK = (
    "退潮の時刻は 6:42 です 🌊。岩場では足もとに注意して、👩‍🔬の白い旗より先へは行かないでください。\n"
    "海星有五条腕⭐，断了还会再长。Ebbe heißt hier »Niedrigwasser« – naïve Fragen sind willkommen 🦀🦀."
)

ESCAPES = (
    'She wrote "C:\\tides\\new" on a card,\tfolded it \\ once, and said: "\\n is not a line end / here".\n'
    "Bell\u0007, back\b, feed\f, return\r\nand a line separator\u2028between, plus \u00a0hard\u00a0blanks, "
    "a pair \U0001f41a and a lone quote ' at the end\u2029."
)

CODE = (
    "Here is the whole program:\n\n"
    "```python\n"
    "def heights(rows):\n"
    "    for row in rows:\n"
    "\n"
    "        if row.kind == 'high':\n"
    "            yield row.metres\n"
    "\n"
    "\n"
    "print(max(heights(table)))\n"
    "```\n\n\n"
    "1. It reads one row at a time.\n"
    "2. It never sorts.   \n\n"
    "   * nested, with two trailing blanks  \n\n"
)

REPEATS = (
    "the buoy rings and the buoy rings and the buoy rings, then the light turns. "
    "the buoy rings and the buoy rings and the buoy rings, then the fog comes. "
    "the buoy rings and the buoy rings and the buoy rings, then the light turns. "
    "na na na na na na na na na na na na na na na na na na na na na na na na, and the tide is in."
)

SHORT = "High water is at 06:42."

REASONING = (
    "The user wants one time. The table lists 06:42 and 19:05; only the first is before noon. "
    "So the answer is a single short line."
)

REFUSAL = (
    "I'm sorry, but I can't help with moving the channel markers. "
    "I can explain how to report one that has drifted."
)

LONG = (
    "The harbour of Vell lies in the crook of a drowned river, and for most of its history nobody could say "
    "where it ended. Charts drawn forty years apart disagree about the position of the bar by half a mile, "
    "and both were right in their own year.\n\n"
    "What changed is not the sand but the counting. In the winter of the long frost a schoolteacher named "
    "Ansa Berrow began to write down, each morning at the same hour, how many steps it took to walk from the "
    "church door to the water. She did it for thirty-one years. The notebooks are dull reading: a date, a "
    "number, now and then a remark about ice. But laid end to end they show the shore breathing, eleven "
    "steps out and nine steps back, over and over, with a slow drift to the north that no surveyor had "
    "noticed because no surveyor had stayed.\n\n"
    "When the engineers came to build the mole they asked for borings and were shown the notebooks instead. "
    "They laughed, then they read them, and then they moved the mole by two hundred steps. It still stands. "
    "The older one, built from borings alone on the other side of the bay, was gone within six winters, and "
    "at low water you can see its stones lying in a neat row, pointing at nothing.\n\n"
    "People in Vell tell this story as if it were about patience. It is more exactly about the length of a "
    "step: Ansa's successor was a taller man, and for two years the sea appeared to have come closer, until "
    "somebody thought to measure him. After that the town cut a rod of larch, one Berrow long, and hung it "
    "by the church door, where it hangs today: worn smooth in the middle, dark at both ends, and still "
    "used every morning by whoever has the key.\n"
)
