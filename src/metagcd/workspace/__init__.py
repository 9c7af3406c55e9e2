"""Own images: learn labelled classes once, then sort every later batch into known, new and unsure."""
