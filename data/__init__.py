"""Data files only; see LICENCES.md."""
