"""What a quorum costs eight clinics, and whom it leaves out."""
