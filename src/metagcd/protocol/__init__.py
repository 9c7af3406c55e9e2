"""Which images when: specification, split, pseudo sequences."""
