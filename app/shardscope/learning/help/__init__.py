"""Help beside the file: the page of its format, the glossary and the shortcuts."""
