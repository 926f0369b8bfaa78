"""Help next to the open file: the page of its format, pages about the panels, and the glossary."""
