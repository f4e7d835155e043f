"""Checks of published numbers against each other, one module per paper or group of papers."""
