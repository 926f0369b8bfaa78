"""Extraction of objects into files: request, preview and writing. No Qt here."""

from shardscope.session.extraction.preview import existing, outlook
from shardscope.session.extraction.request import ExtractionRequest, Outlook
from shardscope.session.extraction.write import ExtractionOutcome, Failure, write

__all__ = ["ExtractionOutcome", "ExtractionRequest", "Failure", "Outlook", "existing", "outlook", "write"]
