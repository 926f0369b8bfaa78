"""Writing objects into files: which, what that would give, and what became of it. No Qt here."""

from shardscope.extraction.outlook import Outlook, existing, outlook
from shardscope.extraction.wanted import Extraction
from shardscope.extraction.writing import Extracted, Failure, write

__all__ = ["Extracted", "Extraction", "Failure", "Outlook", "existing", "outlook", "write"]
