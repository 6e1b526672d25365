"""Algorithms, machines and games of later papers, each in one text."""
