"""Main window with its menus, docks, tabs and notices."""
