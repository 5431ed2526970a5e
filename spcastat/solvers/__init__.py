"""The methods, one file a family, and the table that names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from spcastat.solvers.alspca import ALSPCA
from spcastat.solvers.base import ADVICE, ComponentSolver, JointSolver, Solution, Solver
from spcastat.solvers.bcd import BCD
from spcastat.solvers.dcpca import DCPCA
from spcastat.solvers.dspca import DSPCA
from spcastat.solvers.empca import EMPCA
from spcastat.solvers.gpower import GPower
from spcastat.solvers.gpower_block import GPowerBlock
from spcastat.solvers.greedy import Controlled, Greedy
from spcastat.solvers.gspca import GSPCA
from spcastat.solvers.nspca import NSPCA
from spcastat.solvers.pathspca import PathSPCA
from spcastat.solvers.pca import PCA
from spcastat.solvers.pmd import PMD
from spcastat.solvers.regression import OptimalScoring, Zou
from spcastat.solvers.rspca import PCAL1, RSPCA
from spcastat.solvers.rsvd import RSVD
from spcastat.solvers.scotlass import ScotLASS
from spcastat.solvers.spcagrid import SPCAGrid
from spcastat.solvers.thresholding import Rotate, Threshold

#: Options by which a user says how sparse a fit shall be.
CONTROLS = ("card", "t", "penalty", "threshold", "variance")


#: Options by which the best of several starts is chosen, and by which a joint search goes on from there.
AIMED = ("objective",)
SEARCHED = ("search", "patience")


@dataclass(frozen=True)
class Method:
    """A name under which a solver is called.

    Attributes
    ----------
    name : str
        What users write.
    title, paper : str
        For headers and tables.
    solver : type
        The frozen dataclass whose fields are the options.
    fixed : Mapping
        Fields that the name itself decides.
    without : tuple of str
        Fields that make no sense under this name.
    further : tuple of str
        Options that the engine serves for this method: AIMED, SEARCHED.
    """

    name: str
    title: str
    paper: str
    solver: type[Solver]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    further: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that the method has."""
        own = [f.name for f in fields(self.solver)]  # type: ignore[arg-type]
        own = [name for name in own if name not in self.fixed and name not in self.without]
        return (
            tuple(own)
            + self.further
            + (("n_init",) if self.solver.uses_starts and getattr(self.solver, "own_starts", True) else ())
        )

    @property
    def controls(self) -> tuple[str, ...]:
        """Those of the options that set the sparsity."""
        return tuple(name for name in CONTROLS if name in self.options)

    def build(self, options: Mapping[str, Any]) -> Solver:
        """Return the solver with `options` (checked before) and defaults for the rest."""
        return self.solver(**self.fixed, **options)


_BCD = "Zhao, Meng, Xu and Gao (2015), Neurocomputing"
_HMP = "He, Monteiro and Park (2010)"
_RSPCA = "Zhao, Meng and Xu (2014), Science China"

_RSVD = "Shen and Huang (2008), JMVA"
_GPOWER = "Journee, Nesterov, Richtarik and Sepulchre (2010), JMLR"

SOLVERS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("bcd-l0", "Block coordinate descent, l0", _BCD, BCD, {"norm": "l0"}, ("t",), AIMED + SEARCHED),
        Method("bcd-l1", "Block coordinate descent, l1", _BCD, BCD, {"norm": "l1"}, (), AIMED),
        Method("greedy", "Greedy supports (M_c-SPCA)", _HMP, Greedy),
        Method("controlled", "Sparsity-controlled PCA (SC_c-PCA)", _HMP, Controlled, {}, (), SEARCHED),
        Method("zou", "SPCA by elastic net", "Zou, Hastie and Tibshirani (2006)", Zou),
        Method("spca-os", "Sparse PCA by optimal scoring", "Dou, Dai, Xu and Zhang (2011)", OptimalScoring),
        Method("threshold", "PCA, small loadings cut off", "Cadima and Jolliffe (1995)", Threshold),
        Method("rotate", "PCA rotated, small loadings cut off", "Jolliffe (1995)", Rotate),
        Method("rsvd-l0", "sPCA-rSVD, hard threshold", _RSVD, RSVD, {"norm": "l0"}),
        Method("rsvd-l1", "sPCA-rSVD, soft threshold", _RSVD, RSVD, {"norm": "l1"}),
        Method("rsvd-scad", "sPCA-rSVD, SCAD threshold", _RSVD, RSVD, {"norm": "scad"}),
        Method("pmd", "Penalised matrix decomposition", "Witten et al. (2009)", PMD, {}, ("penalty",)),
        Method("gpower-l0", "Generalised power, l0", _GPOWER, GPower, {"norm": "l0"}),
        Method("gpower-l1", "Generalised power, l1", _GPOWER, GPower, {"norm": "l1"}),
        Method("gpower-l0-block", "Generalised power, l0, joint", _GPOWER, GPowerBlock, {"norm": "l0"}),
        Method("gpower-l1-block", "Generalised power, l1, joint", _GPOWER, GPowerBlock, {"norm": "l1"}),
        Method("empca", "EM for sparse PCA", "Sigg and Buhmann (2008), ICML", EMPCA),
        Method("dcpca", "DC-PCA, logarithmic penalty", "Sriperumbudur et al. (2011)", DCPCA),
        Method("pathspca", "Greedy path with certificate", "d'Aspremont et al. (2008), JMLR", PathSPCA),
        Method("gspca", "Greedy search both ways", "Moghaddam et al. (2006), NIPS", GSPCA),
        Method("dspca", "DSPCA, semidefinite relaxation", "d'Aspremont et al. (2007)", DSPCA),
        Method("alspca", "Augmented Lagrangian sparse PCA", "Lu and Zhang (2012)", ALSPCA),
        Method("nspca", "Nonnegative sparse PCA", "Zass and Shashua (2007)", NSPCA),
        Method("scotlass", "SCoTLASS", "Jolliffe, Trendafilov and Uddin (2003)", ScotLASS),
        Method("pca", "Principal components (dense)", "Hotelling (1933)", PCA),
        Method("rspca-l0", "Robust sparse PCA, l0", _RSPCA, RSPCA, {"norm": "l0"}, ("t", "p")),
        Method("rspca-l1", "Robust sparse PCA, l1", _RSPCA, RSPCA, {"norm": "l1"}, ("p",)),
        Method("rspca-lhalf", "Robust sparse PCA, l1/2", _RSPCA, RSPCA, {"norm": "lp", "p": 0.5}, ("t",)),
        Method("rspca-lp", "Robust sparse PCA, lp", _RSPCA, RSPCA, {"norm": "lp"}, ("t",)),
        Method("pca-l1", "PCA of the l1 variance (dense)", "Kwak (2008), IEEE PAMI", PCAL1),
        Method("spcagrid", "Robust sparse PCA by grid search", "Croux, Filzmoser and Fritz (2013)", SPCAGrid),
    )
}

__all__ = [
    "ADVICE",
    "CONTROLS",
    "SOLVERS",
    "ComponentSolver",
    "JointSolver",
    "Method",
    "Solution",
    "Solver",
]
