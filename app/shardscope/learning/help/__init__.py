"""Help beside the file: the page of its format, the words, the shortcuts, and what each part of the window is for."""
