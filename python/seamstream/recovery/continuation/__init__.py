"""How to ask a provider for the rest of an answer: one file per strategy, and who accepts which."""

from .build import Continuation, build_continuation, fitting_strategies
from .facts import Dialect, RequestFacts, Strategy
from .known import SERVERS
from .profile import Profile
from .profiles import LearntRefusal, ProfileBook
from .request import read_request
from .route import Route

__all__ = [
    "SERVERS",
    "Continuation",
    "Dialect",
    "LearntRefusal",
    "Profile",
    "ProfileBook",
    "RequestFacts",
    "Route",
    "Strategy",
    "build_continuation",
    "fitting_strategies",
    "read_request",
]
