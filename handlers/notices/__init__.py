"""What owners hear without having asked."""
