"""The table of methods (names, papers, solvers, advice), and the choice of the method of a call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from typing import Any, cast

from spcastat import errors
from spcastat.arguments import (
    FOREIGN_METHODS,
    REMOVED_ARGUMENTS,
    REMOVED_METHODS,
    listed,
    nearest,
    one_of,
    shown,
)
from spcastat.search.constraints import CONSTRAINTS
from spcastat.search.objectives import ADJUSTED, OBJECTIVES
from spcastat.solvers.solver import JointSolver, Solver

#: Options that control how sparse a fit is.
CONTROLS = ("card", "total", "t", "penalty", "threshold", "variance")
#: Options that restrict the supports.
RULE = ("include", "exclude", "disjoint", "together")
#: The default method.
DEFAULT = "joint"
#: Options that control the length of an iteration, which the default method does not have.
ITERATION_OPTIONS = ("n_init", "tol", "max_iter")
#: Function of an option that no method has: returns advice on where it belongs, and a similar name.
Hint = Callable[[str], tuple[str, str]]


@dataclass(frozen=True)
class Method:
    """A name under which a solver is called.

    Attributes
    ----------
    name : str
        The name that users write.
    title, paper : str
        Title and source, for headers and tables.
    home : str
        Module (in `spcastat`) and class of the solver, a frozen dataclass whose fields are the options. It is
        imported on first use.
    fixed : Mapping
        Values of the fields that the name implies.
    without : tuple of str
        Fields that are not options under this name.
    criterion_of : str or None
        The name of the objective that the solver optimises, if the option `objective` can select the best of
        several starts by another objective.
    use : str
        When to use the method, and when not, in a sentence or two.
    """

    name: str
    title: str
    paper: str
    home: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    criterion_of: str | None = None
    use: str = ""

    @property
    def solver(self) -> type[Solver]:
        """The class of the solver."""
        module, _, name = self.home.rpartition(".")
        return cast(type[Solver], getattr(import_module(f"spcastat.{module}"), name))

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The names of the options of the method."""
        names = [f.name for f in fields(self.solver)]  # type: ignore[arg-type]
        names = [name for name in names if name not in self.fixed and name not in self.without]
        names += ["objective"] * (self.criterion_of is not None)
        return tuple(names) + (("start", "n_init") if self.solver.uses_starts else ())

    @cached_property
    def controls(self) -> tuple[str, ...]:
        """The names of the options that control sparsity."""
        return tuple(name for name in CONTROLS if name in self.options)

    def build(self, options: Mapping[str, Any]) -> Solver:
        """Return the solver with these (checked) `options`, and defaults for the others."""
        return self.solver(**self.fixed, **options)


_BCD = "Zhao, Meng, Xu and Gao (2015), Neurocomputing"
_HMP = "He, Monteiro and Park (2010)"
_RSPCA = "Zhao, Meng and Xu (2014), Science China"
_RSVD = "Shen and Huang (2008), JMVA"
_GPOWER = "Journee, Nesterov, Richtarik and Sepulchre (2010), JMLR"

_METHODS = (
    Method(
        "joint",
        "Joint search over all components",
        "of this package",
        "search.joint_method.Joint",
        use=(
            "The default: a joint search over all components, from many starts, for the largest adjusted "
            "variance, PEV or least-squares share with the given numbers of nonzero loadings. With "
            "variance= it searches for the fewest nonzero loadings that reach the share. It is slower than "
            "a single descent."
        ),
    ),
    Method(
        "bcd-l0",
        "Block coordinate descent, l0",
        _BCD,
        "solvers.bcd.BCD",
        {"norm": "l0"},
        ("t",),
        "pev",
        use=(
            "Fits all components together, with exactly the given numbers of nonzero loadings, to "
            "reconstruct the rows (PEV). As published, it makes one descent from the loadings of PCA; more "
            "starts improve the fit."
        ),
    ),
    Method(
        "bcd-l1",
        "Block coordinate descent, l1",
        _BCD,
        "solvers.bcd.BCD",
        {"norm": "l1"},
        criterion_of="pev",
        use=(
            "Like bcd-l0, but a soft threshold selects the variables, so small changes in the data hardly "
            "change the loadings. With a norm bound t the criterion never increases; with card it may."
        ),
    ),
    Method(
        "greedy",
        "Greedy supports (M_c-SPCA)",
        _HMP,
        "solvers.greedy.Greedy",
        use=(
            "Fits one component after another, adding one variable at a time. It is fast, needs no starts, "
            "and gives the same result in every run. The first component is often optimal; later components "
            "depend on it."
        ),
    ),
    Method(
        "controlled",
        "Sparsity-controlled PCA (SC_c-PCA)",
        _HMP,
        "solvers.greedy.Controlled",
        use=(
            "The published method that keeps a share of PCA's variance, for comparison. It is greedy: every "
            "component reaches the share, but not with the fewest possible nonzero loadings."
        ),
    ),
    Method(
        "zou",
        "SPCA by elastic net",
        "Zou, Hastie and Tibshirani (2006)",
        "solvers.regression.Zou",
        use=(
            "Use it to compare with elasticnet::spca in R, or with published fits. Its criterion is that of "
            "a regression and not a variance, so other methods explain more with the same cardinality."
        ),
    ),
    Method(
        "spca-os",
        "Sparse PCA by optimal scoring",
        "Dou, Dai, Xu and Zhang (2011)",
        "solvers.regression.OptimalScoring",
        use=(
            "For scores that are as uncorrelated as sparse loadings allow, because the target scores are "
            "orthonormal."
        ),
    ),
    Method(
        "threshold",
        "PCA, small loadings cut off",
        "Cadima and Jolliffe (1995)",
        "solvers.thresholding.Threshold",
        use=(
            "Small loadings are set to zero, as is often done by hand. Use it for comparison only: it is "
            "misleading if variables are correlated."
        ),
    ),
    Method(
        "rotate",
        "PCA rotated, cut off and refitted",
        "Jolliffe (1995)",
        "solvers.thresholding.Rotate",
        use="The usual practice in factor analysis: scaled loadings are rotated to simple structure, as in "
        "psych, and small loadings are left out. Good if groups of variables hardly overlap.",
    ),
    Method(
        "rsvd-l0",
        "sPCA-rSVD, hard threshold",
        _RSVD,
        "solvers.penalised.RSVD",
        {"norm": "l0"},
        use=(
            "Fits one component after another by low-rank approximation with a hard threshold. It is fast, "
            "also for wide data."
        ),
    ),
    Method(
        "rsvd-l1",
        "sPCA-rSVD, soft threshold",
        _RSVD,
        "solvers.penalised.RSVD",
        {"norm": "l1"},
        use=(
            "Like rsvd-l0, with a soft threshold at the next largest value in each step; this is the method "
            "of mixOmics::spca in R."
        ),
    ),
    Method(
        "rsvd-scad",
        "sPCA-rSVD, SCAD threshold",
        _RSVD,
        "solvers.penalised.RSVD",
        {"norm": "scad"},
        use="Like rsvd-l1, but large loadings are not shrunk.",
    ),
    Method(
        "pmd",
        "Penalised matrix decomposition",
        "Witten et al. (2009)",
        "solvers.penalised.PMD",
        {},
        ("penalty",),
        use="Use it to compare with PMA::SPC in R; the l1 norm of the loadings is bounded.",
    ),
    Method(
        "gpower-l0",
        "Generalised power, l0",
        _GPOWER,
        "solvers.gpower.GPower",
        {"norm": "l0"},
        use=(
            "For very wide data: it fits one component after another, and a step needs only two products "
            "with the data."
        ),
    ),
    Method(
        "gpower-l1",
        "Generalised power, l1",
        _GPOWER,
        "solvers.gpower.GPower",
        {"norm": "l1"},
        use=(
            "Like gpower-l0, with a convex penalty: slightly more stable, and slightly less sparse at equal "
            "variance."
        ),
    ),
    Method(
        "gpower-l0-block",
        "Generalised power, l0, joint",
        _GPOWER,
        "solvers.gpower.GPowerBlock",
        {"norm": "l0"},
        use=(
            "Fits all components together to very wide data; a common penalty distributes the nonzero "
            "loadings among the components."
        ),
    ),
    Method(
        "gpower-l1-block",
        "Generalised power, l1, joint",
        _GPOWER,
        "solvers.gpower.GPowerBlock",
        {"norm": "l1"},
        use="Like gpower-l0-block, with a convex penalty.",
    ),
    Method(
        "empca",
        "EM for sparse PCA",
        "Sigg and Buhmann (2008), ICML",
        "solvers.penalised.EMPCA",
        use=(
            "Use it to compare with nsprcomp in R. It also fits nonnegative loadings, and is fast for wide "
            "data."
        ),
    ),
    Method(
        "pathspca",
        "Greedy path",
        "d'Aspremont et al. (2008), JMLR",
        "solvers.greedy.PathSPCA",
        use="Like greedy, with an approximate criterion that needs only one product in each step.",
    ),
    Method(
        "dspca",
        "DSPCA, semidefinite relaxation",
        "d'Aspremont et al. (2007)",
        "solvers.dspca.DSPCA",
        use=(
            "Use it for its dual bound, or to compare with the semidefinite relaxation. It solves for a p x "
            "p matrix, so p can be at most a few hundred."
        ),
    ),
    Method(
        "alspca",
        "Augmented Lagrangian sparse PCA",
        "Lu and Zhang (2012)",
        "solvers.alspca.ALSPCA",
        use=(
            "For loadings that are nearly orthogonal or scores that are nearly uncorrelated, within bounds "
            "that you set."
        ),
    ),
    Method(
        "nspca",
        "Nonnegative sparse PCA",
        "Zass and Shashua (2007)",
        "solvers.nspca.NSPCA",
        use=(
            "For nonnegative components that share few variables, such as parts of a whole. A large "
            "orthonormality makes the components disjoint."
        ),
    ),
    Method(
        "scotlass",
        "SCoTLASS",
        "Jolliffe, Trendafilov and Uddin (2003)",
        "solvers.dspca.ScotLASS",
        use=(
            "For loadings that are exactly orthogonal. The constraint costs variance, and small numbers of "
            "nonzero loadings may be impossible."
        ),
    ),
    Method(
        "pca",
        "Principal components (dense)",
        "Hotelling (1933)",
        "solvers.thresholding.PCA",
        use="For comparison: dense components with the largest variance.",
    ),
    Method(
        "rspca-l0",
        "Robust sparse PCA, l0",
        _RSPCA,
        "solvers.robust.RSPCA",
        {"norm": "l0"},
        ("t", "p"),
        use=(
            "For rows with gross outliers: it maximises the mean absolute score instead of the variance, "
            "with exactly the given numbers of nonzero loadings."
        ),
    ),
    Method(
        "rspca-l1",
        "Robust sparse PCA, l1",
        _RSPCA,
        "solvers.robust.RSPCA",
        {"norm": "l1"},
        ("p",),
        use="Like rspca-l0, with a soft threshold.",
    ),
    Method(
        "rspca-lhalf",
        "Robust sparse PCA, l1/2",
        _RSPCA,
        "solvers.robust.RSPCA",
        {"norm": "lp", "p": 0.5},
        ("t",),
        use="Like rspca-l0, with a threshold between the hard and the soft one.",
    ),
    Method(
        "rspca-lp",
        "Robust sparse PCA, lp",
        _RSPCA,
        "solvers.robust.RSPCA",
        {"norm": "lp"},
        ("t",),
        use="Like rspca-lhalf, for another exponent p between 0 and 1.",
    ),
    Method(
        "pca-l1",
        "PCA of the l1 variance (dense)",
        "Kwak (2008), IEEE PAMI",
        "solvers.robust.PCAL1",
        use="Dense components for comparison with the robust methods.",
    ),
    Method(
        "spcagrid",
        "Robust sparse PCA by grid search",
        "Croux, Filzmoser and Fritz (2013)",
        "solvers.robust.SPCAGrid",
        use=(
            "For rows of which up to half are outliers: a robust scale replaces the variance. It is slow, "
            "because it searches over angles, one plane after another."
        ),
    ),
)

SOLVERS: dict[str, Method] = {method.name: method for method in _METHODS}


def needs_rows(method: object) -> bool:
    """Whether `method` is the name of a method that needs rows and not only their covariances."""
    return isinstance(method, str) and method in SOLVERS and SOLVERS[method].solver.needs == "rows"


# --- the method of a call --------------------------------------------------------------------------


def choose_method(method: str | None, given: Mapping[str, Any]) -> Method:
    """Return the method with a given name, or the method implied by the control of sparsity.

    Parameters
    ----------
    method : str or None
    given : Mapping
        The options of the call.

    Raises
    ------
    MethodError
        If no method has that name.
    errors.OptionError
        If two options control the sparsity.

    Notes
    -----
    The default method is "joint", with `card`, with `variance` or with neither. It supports neither
    nonnegative loadings nor a bound on the l1 norm: without `method`, `nonneg` with `card` selects "bcd-l0",
    and `t` selects "bcd-l1".
    """
    if isinstance(method, str) and method == "spco":
        raise errors.MethodError(
            "method='spco' was given, but sparse principal coordinates have a separate function: use "
            "spcastat.spco(data, k, zeros=0.5), or penalty= instead of zeros=."
        )
    if isinstance(method, str) and method in FOREIGN_METHODS:
        advice = _equivalent(FOREIGN_METHODS[method], given)
        raise errors.MethodError(f"method={method!r} is a name from another program; give {advice}.")
    if isinstance(method, str) and method in REMOVED_METHODS:
        raise errors.MethodError(f"The method {method!r} was removed; {REMOVED_METHODS[method]}.")
    controls = [name for name in CONTROLS if name in given]
    if isinstance(method, str) and method not in SOLVERS:
        part = _in_parts(method)
        hint = f" Did you mean {part!r}?" if part else nearest(method, SOLVERS)
        raise errors.MethodError(f"method={method!r} is not known.{hint} sp.methods() lists all methods.")
    named_method = None if method is None else SOLVERS[one_of("method", method, SOLVERS, errors.MethodError)]
    if named_method is not None and not set(controls) <= set(named_method.options):
        return named_method  # its plan raises an error for the option that it does not have
    if len(controls) > 1:
        raise errors.OptionError(
            f"{' and '.join(controls)} were both given; each sets the sparsity by itself, so give one."
        )
    if named_method is not None:
        return named_method
    if controls == ["t"]:
        return SOLVERS["bcd-l1"]
    return SOLVERS["bcd-l0" if controls == ["card"] and "nonneg" in given else DEFAULT]


def _in_parts(method: str) -> str | None:
    """Return the method whose name is part of another name, such as "zou" of "spca-zou", if there is one."""
    return next((part for part in method.lower().replace("_", "-").split("-") if part in SOLVERS), None)


def _equivalent(name: str, given: Mapping[str, Any]) -> str:
    """Return advice on how to request a method in a call, some of whose options it may not have."""
    method = SOLVERS[name]
    words = f"method={name!r}, the name here"
    if method.controls and not any(control in given for control in method.controls):
        words += f", with {method.controls[0]}="
    if missing_options := [f"{option}=" for option in given if option not in method.options]:
        words += f", without {' and '.join(missing_options)}"
    if method.solver.needs == "rows":
        words += ", for rows"
    is_single = sum(option in CONTROLS for option in given) < 2
    if is_single and set(given) <= set(choose_method(None, given).options):
        words += ", or leave method out for the default"
    return words


def no_such_option(
    name: str, given: Collection[str], method: Method, default: bool, hint: Hint
) -> errors.UnknownOptionError:
    """Return the error for an option that the method lacks; it names methods that accept the call."""
    owners = [owner.name for owner in SOLVERS.values() if name in owner.options]
    accepting = [owner for owner in owners if set(given) <= set(SOLVERS[owner].options)]
    has: Sequence[str] = method.options
    called = f"method={method.name!r}{', the default,' if default else ''}"
    rules = [option for option in RULE if option in given]
    if default and rules and "nonneg" in given:
        option_names = [option for option in CONTROLS if option in given and option != "card"] + rules
        way = "leave out" if "card" in given and option_names == rules else "give card= in place of"
        rules_text, options_text = (
            " and ".join(f"{option}=" for option in options) for options in (rules, option_names)
        )
        return errors.UnknownOptionError(
            f"nonneg= was given with {rules_text}, but no method accepts both: leave out nonneg=, or {way} "
            f"{options_text}."
        )
    if owners:
        advice = " It chooses its own starts and when to stop; effort= sets how long it searches." * (
            name in ITERATION_OPTIONS and method.name == DEFAULT
        )
        if name in (*RULE, "constraint"):
            without = " and ".join(["method="] * (not default) + ["nonneg="] * ("nonneg" in given))
            advice += f" Only the default method accepts {name}=: give card= and {name}= without {without}."
        if name in CONSTRAINTS and default:
            advice += f" For the default, give constraint={name!r} with card=."
        if name == "nonneg" and default:
            advice += " Give card= and nonneg=" + " without variance=" * ("variance" in given) + "."
        methods = listed(accepting or owners, 30)
        if not accepting:
            methods += ". None has all options of this call: leave one of them out"
        return errors.UnknownOptionError(
            f"{called} has no option {shown(name)}; methods that have it: {methods}.{advice}"
        )
    if instead := REMOVED_ARGUMENTS.get(name):
        return errors.UnknownOptionError(f"{shown(name)} is no longer an option of any method; {instead}.")
    place, similar_name = hint(name)
    if similar_name not in has:
        having = [owner.name for owner in SOLVERS.values() if similar_name in owner.options]
        place += f" {shown(similar_name)} is an option of {listed(having, 4)}." if having else ""
    listed_options = f"Options of method={method.name!r}: {listed(has, 30) or 'none'}."
    return errors.UnknownOptionError(
        f"{shown(name)} is not an option of any method.{place} {listed_options}",
        similar_name,
    )


# --- options without effect in a call ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Combination:
    """The method, solver and options of a call, to check whether they conflict.

    Attributes
    ----------
    method : Method
    solver : Solver
    k : int
        Number of components.
    options : Mapping
        The checked options of the method that were given, and the options that they imply.
    n_init : int
        The number of starts.
    start : object
        The first start.
    order : str or None
    """

    method: Method
    solver: Solver
    k: int
    options: Mapping[str, Any]
    n_init: int
    start: Any
    order: str | None

    @property
    def words(self) -> dict[str, Any]:
        """The values for templates of messages: the options as users write them."""
        return {
            "deflation": repr(getattr(self.solver, "deflation", None)),
            "criterion": repr(self.method.criterion_of),
            **{name: shown(value) for name, value in self.options.items()},
            "method": repr(self.method.name),
            "n_init": self.n_init,
        }


@dataclass(frozen=True)
class Conflict:
    """A combination of options that raises an error.

    Attributes
    ----------
    option : str
        The option that would have no effect.
    applies : callable
        Function that returns whether a combination has this conflict.
    message : str
        A template with the names in `Combination.words`.
    """

    option: str
    applies: Callable[[Combination], bool]
    message: str


def _orthogonal_scores(call: Combination) -> bool:
    return bool(call.options.get("orth")) and call.options.get("deflation", "schur") != "schur"


def _one_start(call: Combination) -> bool:
    criterion = call.method.criterion_of
    chooses = call.options.get("objective", criterion) != criterion
    return criterion is not None and chooses and call.n_init == 1


def _no_share(call: Combination) -> bool:
    return "variance" in call.options and not OBJECTIVES[call.options.get("objective", ADJUSTED.name)].shares


def _equal_starts(call: Combination) -> bool:
    return (
        isinstance(call.solver, JointSolver)
        and call.k > 1
        and isinstance(call.start, str)
        and call.start == "ones"
    )


def _incomparable(call: Combination) -> bool:
    penalised = getattr(call.solver, "penalty", None) is not None
    return call.n_init > 1 and penalised and not call.solver.compares_penalties


CONFLICTS = (
    Conflict(
        "deflation",
        _orthogonal_scores,
        "orth=True and deflation={deflation} were given, but orthogonal scores need deflation='schur'; "
        "leave one of them out.",
    ),
    Conflict(
        "objective",
        _one_start,
        "objective={objective} was given with method={method} and one start, but it only selects among "
        "several starts, each of which maximises {criterion}. Give n_init=, such as n_init=20, or leave "
        "objective out.",
    ),
    Conflict(
        "promise",
        lambda call: "promise" in call.options and "variance" not in call.options,
        "promise={promise} was given with card=, but it applies to variance=. Give variance= instead of "
        "card=, or leave promise out.",
    ),
    Conflict(
        "objective",
        _no_share,
        "objective={objective} was given with variance=, which is a share of the adjusted variance. Leave "
        "objective out, or give card= instead of variance=.",
    ),
    Conflict(
        "order",
        lambda call: call.order == "variance" and "variance" in call.options,
        "order='variance' was given with method={method}, whose components reach the share of variance in "
        "the order in which they are found; leave order out.",
    ),
    Conflict(
        "order",
        lambda call: call.order == "best" and not ("card" in call.options and call.solver.own_order),
        "order='best' was given with method={method}; it needs card= with method='joint' and "
        "objective='adjusted'. Leave order out.",
    ),
    Conflict(
        "start",
        _equal_starts,
        "start='ones' was given with a method that fits all components together, so all components would "
        "have the same start; use 'pca' or 'column', or give loadings.",
    ),
    Conflict(
        "n_init",
        _incomparable,
        "n_init={n_init} was given with penalty=, under which fits from several starts have different "
        "numbers of nonzeros, so their variances cannot be compared; use card=, or leave n_init out.",
    ),
)


def refuse_conflicts(call: Combination) -> None:
    """Raise errors.OptionError for the first of CONFLICTS that applies to a combination of options."""
    for conflict in CONFLICTS:
        if conflict.applies(call):
            raise errors.OptionError(conflict.message.format(**call.words))
