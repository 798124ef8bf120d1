"""The rules of the house: who imports whom, what is exported, how long things get, what never stands here."""
