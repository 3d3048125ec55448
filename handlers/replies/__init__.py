"""What people read: answers, footers, buttons, reports."""
