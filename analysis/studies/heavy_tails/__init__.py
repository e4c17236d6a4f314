"""Absences with heavy tails: twelve methods under nine measured systems."""
