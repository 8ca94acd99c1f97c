"""How a kernel is made, in the words the composer, the skills and the memory share."""

Choice = bool | int | str
Decisions = dict[str, Choice]
