"""What only one study needs, beside the core: a small house each, with rooms as the core's."""
