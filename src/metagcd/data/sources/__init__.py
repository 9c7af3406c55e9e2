"""Where images come from, one file each."""
