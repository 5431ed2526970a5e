"""How sure a fit is: bootstrap, complementary halves, split samples and permutations, of operators and arrays."""

from spcastat.inference.bootstrap import bootstrap
from spcastat.inference.permutation import test_loadings
from spcastat.inference.split import split
from spcastat.inference.stability import stability

__all__ = ["bootstrap", "split", "stability", "test_loadings"]
