"""Sphinx extensions of the book; _config.yml names them."""
