"""Extraction of objects into files: request, preview and writing. No Qt here."""

from shardscope.session.extraction.preview import existing, preview_extraction
from shardscope.session.extraction.request import ExtractionPreview, ExtractionRequest
from shardscope.session.extraction.write import ExtractionOutcome, Failure, write

__all__ = ["ExtractionOutcome", "ExtractionPreview", "ExtractionRequest", "Failure"]
__all__ += ["existing", "preview_extraction", "write"]
