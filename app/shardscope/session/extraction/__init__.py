"""Writing objects into files: which, what that would give, and what became of it. No Qt here."""

from shardscope.session.extraction.preview import Outlook, existing, outlook
from shardscope.session.extraction.request import Extraction
from shardscope.session.extraction.write import Extracted, Failure, write

__all__ = ["Extracted", "Extraction", "Failure", "Outlook", "existing", "outlook", "write"]
