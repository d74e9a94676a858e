"""Interfaces for other programs: protocols of agents and servers."""
