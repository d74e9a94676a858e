"""Synchronisation: barriers, races, shuffles."""
