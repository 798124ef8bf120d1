"""The breaks that `seamstream demo` shows, as data: an answer, the faults that befall it, who reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seamstream.testing import Answer, Dialect, Fault, Persona, Text, Tool, tokens

TIDES = Answer(
    (
        Text(
            tokens(
                "Tides rise and fall because the Moon pulls harder on the near side of the Earth than on the"
                " far side. The oceans bulge towards it and away from it, and the Earth turns beneath both"
                " bulges, so most coasts see two high tides a day."
            )
        ),
    )
)
LIGHTHOUSE = Answer(
    (
        Text(
            tokens(
                "A lighthouse lens bends stray light into one flat beam. Fresnel cut the glass into rings, so"
                " that a lens as tall as a person needs little glass, 🗼 and its beam is seen 30 km away."
            )
        ),
    )
)
WEATHER = Answer(
    (
        Text(tokens("I will look up the weather in Bergen first, then the ferry.")),
        Tool("get_weather", ('{"city":', ' "Berg', 'en", "hours"', ": 24}")),
        Tool("get_ferry", ('{"from":', ' "Bergen"}')),
    )
)
HOLIDAY = Answer(
    (
        Text(tokens("Booking the cabin that you chose.")),
        Tool("book_cabin", ('{"cabin":', ' "Fjordview",', ' "nights": 3}')),
        Tool("send_mail", ('{"to":', ' "you",', ' "subject": "Booked"}')),
    )
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What is `due` to the reader: the unbroken answer, what a cut left to salvage, or an honest error."""

    title: str
    dialect: Dialect
    answer: Answer
    script: tuple[Fault, ...]
    persona: Persona = "plain"
    reader: Literal["bytes", "events"] = "bytes"
    due: Literal["whole", "salvaged", "refusal"] = "whole"


SCENES = (
    Scene("connection reset", "openai-chat", TIDES, (Fault.reset(after_events=22),)),
    Scene("stall with pings", "anthropic", LIGHTHOUSE, (Fault.stall_with_pings(0.05, after_events=18),)),
    Scene("overload in the stream", "anthropic", TIDES, (Fault.in_band_error(529, after_events=30),)),
    Scene("silent early end", "openai-chat", LIGHTHOUSE, (Fault.clean_end(after_events=15),)),
    Scene("cut inside tool arguments", "anthropic", WEATHER, (Fault.reset(after_text=b'"Berg'),)),
    Scene(
        "cut after a complete tool call",
        "openai-chat",
        HOLIDAY,
        (Fault.fin(after_text=b'"arguments":" \\"you\\",'),),
        due="salvaged",
    ),
    Scene(
        "two cuts in a row",
        "openai-chat",
        TIDES,
        (Fault.reset(after_events=12), Fault.short_length(after_events=16)),
        reader="events",
    ),
    Scene(
        "continuation that does not fit",
        "openai-chat",
        LIGHTHOUSE,
        (Fault.reset(after_events=16),),
        persona="paraphraser",
        due="refusal",
    ),
)
