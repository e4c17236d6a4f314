"""The leaderboard: the kept methods of each task and regime in order, and the user's methods."""
