"""How the requests of each dialect are recognised, read and continued: one file per dialect."""

from .base import Message, RequestForm
from .registry import FORMS, form_of, recognised

__all__ = ["FORMS", "Message", "RequestForm", "form_of", "recognised"]
