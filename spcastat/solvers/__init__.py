"""The methods, one file a family, and the table that names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from typing import Any, cast

from spcastat.solvers.base import ADVICE, ComponentSolver, JointSolver, Solution, Solver

#: Options by which a user says how sparse a fit shall be.
CONTROLS = ("card", "total", "t", "penalty", "threshold", "variance")


#: Options by which the best of several starts is chosen, by which a joint search goes on from there, and by
#: which the search runs on some of many variables.
AIMED = ("objective",)
SEARCHED = ("search", "patience")
SCREENED = ("screen",)


@dataclass(frozen=True)
class Method:
    """A name under which a solver is called.

    Attributes
    ----------
    name : str
        What users write.
    title, paper : str
        For headers and tables.
    home : str
        Module of this package and class of the solver, the frozen dataclass whose fields are the options. It
        is imported when it is first asked for.
    fixed : Mapping
        Fields that the name itself decides.
    without : tuple of str
        Fields that make no sense under this name.
    further : tuple of str
        Options that the engine serves for this method: AIMED, SEARCHED, SCREENED.
    """

    name: str
    title: str
    paper: str
    home: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    further: tuple[str, ...] = ()

    @property
    def solver(self) -> type[Solver]:
        """The class of the solver."""
        module, name = self.home.split(".")
        return cast(type[Solver], getattr(import_module(f"{__name__}.{module}"), name))

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The names of the options that the method has."""
        own = [f.name for f in fields(self.solver)]  # type: ignore[arg-type]
        own = [name for name in own if name not in self.fixed and name not in self.without]
        return (
            tuple(own)
            + self.further
            + (("n_init",) if self.solver.uses_starts and getattr(self.solver, "own_starts", True) else ())
        )

    @cached_property
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
        Method(
            "bcd-l0",
            "Block coordinate descent, l0",
            _BCD,
            "bcd.BCD",
            {"norm": "l0"},
            ("t",),
            AIMED + SEARCHED + SCREENED,
        ),
        Method("bcd-l1", "Block coordinate descent, l1", _BCD, "bcd.BCD", {"norm": "l1"}, (), AIMED),
        Method("greedy", "Greedy supports (M_c-SPCA)", _HMP, "greedy.Greedy"),
        Method(
            "controlled", "Sparsity-controlled PCA (SC_c-PCA)", _HMP, "greedy.Controlled", {}, (), SEARCHED
        ),
        Method("zou", "SPCA by elastic net", "Zou, Hastie and Tibshirani (2006)", "regression.Zou"),
        Method(
            "spca-os",
            "Sparse PCA by optimal scoring",
            "Dou, Dai, Xu and Zhang (2011)",
            "regression.OptimalScoring",
        ),
        Method(
            "threshold", "PCA, small loadings cut off", "Cadima and Jolliffe (1995)", "thresholding.Threshold"
        ),
        Method("rotate", "PCA rotated, small loadings cut off", "Jolliffe (1995)", "thresholding.Rotate"),
        Method("rsvd-l0", "sPCA-rSVD, hard threshold", _RSVD, "rsvd.RSVD", {"norm": "l0"}),
        Method("rsvd-l1", "sPCA-rSVD, soft threshold", _RSVD, "rsvd.RSVD", {"norm": "l1"}),
        Method("rsvd-scad", "sPCA-rSVD, SCAD threshold", _RSVD, "rsvd.RSVD", {"norm": "scad"}),
        Method("pmd", "Penalised matrix decomposition", "Witten et al. (2009)", "pmd.PMD", {}, ("penalty",)),
        Method("gpower-l0", "Generalised power, l0", _GPOWER, "gpower.GPower", {"norm": "l0"}),
        Method("gpower-l1", "Generalised power, l1", _GPOWER, "gpower.GPower", {"norm": "l1"}),
        Method(
            "gpower-l0-block",
            "Generalised power, l0, joint",
            _GPOWER,
            "gpower_block.GPowerBlock",
            {"norm": "l0"},
        ),
        Method(
            "gpower-l1-block",
            "Generalised power, l1, joint",
            _GPOWER,
            "gpower_block.GPowerBlock",
            {"norm": "l1"},
        ),
        Method("empca", "EM for sparse PCA", "Sigg and Buhmann (2008), ICML", "empca.EMPCA"),
        Method("dcpca", "DC-PCA, logarithmic penalty", "Sriperumbudur et al. (2011)", "dcpca.DCPCA"),
        Method(
            "pathspca", "Greedy path with certificate", "d'Aspremont et al. (2008), JMLR", "pathspca.PathSPCA"
        ),
        Method("gspca", "Greedy search both ways", "Moghaddam et al. (2006), NIPS", "gspca.GSPCA"),
        Method("dspca", "DSPCA, semidefinite relaxation", "d'Aspremont et al. (2007)", "dspca.DSPCA"),
        Method("alspca", "Augmented Lagrangian sparse PCA", "Lu and Zhang (2012)", "alspca.ALSPCA"),
        Method("nspca", "Nonnegative sparse PCA", "Zass and Shashua (2007)", "nspca.NSPCA"),
        Method("scotlass", "SCoTLASS", "Jolliffe, Trendafilov and Uddin (2003)", "scotlass.ScotLASS"),
        Method("pca", "Principal components (dense)", "Hotelling (1933)", "pca.PCA"),
        Method("rspca-l0", "Robust sparse PCA, l0", _RSPCA, "rspca.RSPCA", {"norm": "l0"}, ("t", "p")),
        Method("rspca-l1", "Robust sparse PCA, l1", _RSPCA, "rspca.RSPCA", {"norm": "l1"}, ("p",)),
        Method(
            "rspca-lhalf", "Robust sparse PCA, l1/2", _RSPCA, "rspca.RSPCA", {"norm": "lp", "p": 0.5}, ("t",)
        ),
        Method("rspca-lp", "Robust sparse PCA, lp", _RSPCA, "rspca.RSPCA", {"norm": "lp"}, ("t",)),
        Method("pca-l1", "PCA of the l1 variance (dense)", "Kwak (2008), IEEE PAMI", "rspca.PCAL1"),
        Method(
            "spcagrid",
            "Robust sparse PCA by grid search",
            "Croux, Filzmoser and Fritz (2013)",
            "spcagrid.SPCAGrid",
        ),
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
