"""How many components, how sparse, how sure, and with values missing: measured on planted models."""
