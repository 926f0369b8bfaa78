"""Help beside the file: the page of its format, pages of the panels, and the glossary."""
