"""What makes tests quicker, and changes nothing of what they test."""
