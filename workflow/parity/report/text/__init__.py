"""Sentences, captions, numbers and the paper."""
