"""What 61 calls give, to the last bit: written before a change of the house and compared after it."""
