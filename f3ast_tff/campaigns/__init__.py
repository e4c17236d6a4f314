"""Campaigns: a grid of runs, declared as data, executed side by side, killed and gone on with."""
