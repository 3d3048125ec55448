"""Messages from the platforms, stored before they are acknowledged and handled in order for each chat."""
