"""The site: MkDocs hooks, and the pages and pictures that they make."""
