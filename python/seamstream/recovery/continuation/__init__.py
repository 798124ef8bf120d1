"""How to ask a provider for the rest of an answer: one file per strategy, and who accepts which."""

from .build import Continuation, Strategy, build_continuation, fitting_strategies
from .profiles import LearntRefusal, Profile, ProfileBook
from .request import Dialect, RequestFacts, read_request

__all__ = [
    "Continuation",
    "Dialect",
    "LearntRefusal",
    "Profile",
    "ProfileBook",
    "RequestFacts",
    "Strategy",
    "build_continuation",
    "fitting_strategies",
    "read_request",
]
