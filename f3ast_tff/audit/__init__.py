"""Audits a server for clients that come and go: `audit`."""
