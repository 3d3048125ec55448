"""Money: prices, what a call will cost, and limits that are checked before it. US dollars as Decimal, end to end."""
