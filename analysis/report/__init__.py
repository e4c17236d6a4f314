"""The report: the papers' tables and figures regenerated from run folders, with verdicts."""
