"""How close the default search comes to the best known fits on real correlation matrices."""
